"""docs/adding-a-harness.md is followed to the letter: each file is written, each command run, each output compared.

It happens in an empty folder outside the repository, with an environment of its own that sees what is installed here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-harness.md"

#: A file is announced by its path on a line of its own, right before its block.
_BLOCK = re.compile(
    r"(?:^`(?P<path>[^`\n]+)`:\n\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)

#: The one block that needs a network; the test does the same without.
SETUP = "python3 -m venv .venv\n. .venv/bin/activate\npip install checkrein\n"

#: How long one command of the page may take, in seconds: the longest runs four scenarios.
COMMAND_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of the page: a file if it has a path, else commands (`sh`) or what these print (`text`)."""

    kind: str
    text: str
    path: str | None


def blocks_of(page: str) -> list[Block]:
    return [Block(kind=m["kind"], text=m["text"], path=m["path"]) for m in _BLOCK.finditer(page)]


def make_environment(folder: Path) -> None:
    """What the page's first block does, offline: `python`, `pip` and `checkrein` of an environment of its own."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    here = sysconfig.get_path("purelib")
    Path(site, "what-is-installed-here.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    offline = "['--no-index', '--no-deps', '--no-build-isolation'] if sys.argv[1:2] == ['install'] else []"
    for name, lines in {
        "checkrein": ["from checkrein.conformance.__main__ import main", "main()"],
        "pip": [
            "import sys",
            "from pip._internal.cli.main import main",
            f"sys.exit(main(sys.argv[1:] + ({offline})))",
        ],
    }.items():
        script = folder / "bin" / name
        script.write_text("\n".join([f"#!{python}", *lines, ""]))
        script.chmod(0o755)


def as_pattern(line: str) -> re.Pattern[str]:
    """A line of expected output: `…` stands for anything, runs of blanks are alike."""
    pieces = (r"[ ]+".join(map(re.escape, piece.split(" "))) for piece in re.sub(" +", " ", line).split("…"))
    return re.compile(".*".join(pieces))


def missing_lines(expected: str, printed: str) -> Iterator[str]:
    """The expected lines that are not printed, in order."""
    lines = iter(line.rstrip() for line in printed.splitlines())
    for line in expected.splitlines():
        pattern = as_pattern(line)
        if not any(pattern.fullmatch(each) for each in lines):
            yield line
            return


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_environment(tmp_path / ".venv")
    return tmp_path


def run(commands: str, project: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    path = f"{project / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["/bin/sh", "-e", "-c", commands],
        cwd=project,
        env=environment | {"PATH": path, "NO_COLOR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )


def test_the_page_can_be_followed(project: Path) -> None:
    setup, *blocks = blocks_of(PAGE.read_text(encoding="utf-8"))
    assert setup == Block(kind="sh", text=SETUP, path=None)
    for number, block in enumerate(blocks):
        match block:
            case Block(path=str(path)):
                (project / path).parent.mkdir(parents=True, exist_ok=True)
                (project / path).write_text(block.text, encoding="utf-8")
            case Block(kind="sh"):
                after = blocks[number + 1]
                expected = after.text if after.kind == "text" else ""
                done = run(block.text, project)
                # A smoke that finds something missing says so with its status.
                assert done.returncode == (1 if " missing " in expected else 0), done.stdout
                assert list(missing_lines(expected, done.stdout)) == [], done.stdout
            case Block(kind="text"):
                assert blocks[number - 1].kind == "sh", "an output belongs to the commands before it"
            case _:
                raise AssertionError(f"a block that is no file, no commands and no output: {block.text[:80]}")


def test_every_file_of_the_adapter_is_on_the_page() -> None:
    written = {block.path for block in blocks_of(PAGE.read_text(encoding="utf-8")) if block.path}

    folder = "checkrein-tiny/checkrein_tiny"
    assert written == {
        "tiny_agent.py",
        *(f"{folder}/{name}" for name in ("manifest.toml", "launch.py", "kit.py", "connection.py")),
    }


def test_an_output_that_differs_is_noticed() -> None:
    printed = "one  ok   3 words\ntwo  missing  `open`\nwhere: /tmp/x/connection.py\n"

    assert list(missing_lines("one ok …\nwhere: …connection.py\n", printed)) == []
    assert list(missing_lines("one ok 4 words\n", printed)) == ["one ok 4 words"]
    assert list(missing_lines("where: …\none ok …\n", printed)) == ["one ok …"], "the order counts"
