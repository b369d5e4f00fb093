"""`checkrein new-adapter`: the skeleton is a clean package, and `checkrein smoke` leads through it place by place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = "checkrein-my-agent"
PACKAGE = f"{FOLDER}/checkrein_my_agent"

Checkrein = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def checkrein(tmp_path: Path) -> Checkrein:
    """Run a command in an empty directory, where the skeleton counts as installed as soon as it is there."""
    metadata = tmp_path / "site" / "checkrein_my_agent-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: checkrein-my-agent\nVersion: 0.1.0\n")
    # As in the skeleton's pyproject.toml; it is installed for real where the documentation is followed.
    (metadata / "entry_points.txt").write_text(
        "[checkrein.adapters]\nmy-agent = checkrein_my_agent:ADAPTER\n"
    )

    def run(*arguments: str, path: bool = True) -> subprocess.CompletedProcess[str]:
        own = [str(tmp_path / "site"), str(tmp_path / FOLDER)] if path else []
        return subprocess.run(
            [sys.executable, "-m", "checkrein.conformance", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(own), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def written(checkrein: Checkrein, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = checkrein("new-adapter", "my-agent", *arguments, path=False)
    assert done.returncode == 0, done.stderr
    return done


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_package_is_written(checkrein: Checkrein, tmp_path: Path) -> None:
    done = written(checkrein)

    assert files_below(tmp_path / FOLDER) == {
        "README.md",
        "pyproject.toml",
        "tests/test_checkrein_my_agent.py",
        *(
            f"checkrein_my_agent/{name}"
            for name in ("__init__.py", "py.typed", "manifest.toml", "launch.py", "connection.py", "kit.py")
        ),
    }
    assert done.stdout.splitlines() == [
        f"written: {FOLDER}",
        f"next: pip install --editable {FOLDER}",
        "then: checkrein smoke my-agent=PATH",
    ]
    assert "class MyAgentConnection(Connection):" in (tmp_path / PACKAGE / "connection.py").read_text()
    assert 'my-agent = "checkrein_my_agent:ADAPTER"' in (tmp_path / FOLDER / "pyproject.toml").read_text()


def test_an_install_table_is_written_where_npm_has_the_harness(checkrein: Checkrein, tmp_path: Path) -> None:
    done = written(checkrein, "--npm", "@acme/agent", "--out", "packages")

    table = tmp_path / "packages" / PACKAGE / "install.toml"
    assert 'package = "@acme/agent"' in table.read_text()
    assert done.stdout.splitlines()[-1] == "then: checkrein smoke my-agent"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["Acme"], "'Acme' is no name for a harness"),
        (["my_agent"], "is no name for a harness"),
        (["../up"], "is no name for a harness"),
        (["a" * 41], "at most 40"),
        (["codex"], "there is an adapter for 'codex' already"),
        (["other", "--out", "/proc/nowhere"], "name another folder with --out"),
        (["taken"], "there is something of that name already"),
    ],
)
def test_what_cannot_be_written_is_one_clear_error(
    arguments: list[str], words: str, checkrein: Checkrein, tmp_path: Path
) -> None:
    (tmp_path / "checkrein-taken").write_text("somebody else's")

    done = checkrein("new-adapter", *arguments)

    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert files_below(tmp_path) == {
        "checkrein-taken",
        *(f"site/checkrein_my_agent-0.1.0.dist-info/{name}" for name in ("METADATA", "entry_points.txt")),
    }


def test_the_skeleton_is_clean(checkrein: Checkrein, tmp_path: Path) -> None:
    written(checkrein, "--npm", "@acme/agent")
    package = tmp_path / FOLDER
    configuration = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "include": [str(package)],
        "extraPaths": [str(package), str(REPOSITORY / ".typing")],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(configuration))
    for command in (
        ["ruff", "check", "."],
        ["ruff", "check", "--select", "B,C4,E4,E7,E9,F,I,N,PTH,RET,RUF,SIM,UP,W", "."],
        ["ruff", "format", "--check", "."],
        ["pyright", "--project", str(tmp_path / "pyrightconfig.json"), "--pythonpath", sys.executable],
    ):
        program = Path(sys.executable).with_name(command[0])
        done = subprocess.run(
            [program, *command[1:]], cwd=package, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_skeletons_own_tests_pass(checkrein: Checkrein, tmp_path: Path) -> None:
    written(checkrein)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=tmp_path / FOLDER,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), str(tmp_path / FOLDER)])},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


#: What is missing next, where, and what is written there to come on.
WAY = [
    ("manifest", "`vendor` is empty", "manifest.toml", ('vendor = ""', 'vendor = "Acme"')),
    (
        "launch",
        "`_model` is not filled in yet",
        "launch.py",
        (
            '    raise NotFilledIn(\n        "_model",',
            '    return {}\n    raise NotFilledIn(\n        "_model",',
        ),
    ),
    (
        "launch",
        "`_arguments` is not filled in yet",
        "launch.py",
        (
            '    raise NotFilledIn(\n        "_arguments",',
            '    return ()\n    raise NotFilledIn(\n        "_arguments",',
        ),
    ),
    (
        "kit",
        "`shell` is not filled in yet",
        "kit.py",
        (
            "        raise NotFilledIn(",
            '        return NativeCall(name="sh", input={"command": command})\n        raise NotFilledIn(',
        ),
    ),
    (
        "policies",
        "`open` is not filled in yet",
        "connection.py",
        (
            '        raise NotFilledIn(\n            "open",',
            '        await self.call({"do": "hello"}, "hello")\n        raise NotFilledIn(\n            "open",',
        ),
    ),
    ("policies", "`_translate` is not filled in yet", "connection.py", None),
]


def test_smoke_leads_through_the_skeleton(checkrein: Checkrein, tmp_path: Path) -> None:
    written(checkrein)
    program = tmp_path / "my_agent"
    # It answers each line with the line.
    program.write_text("#!/bin/sh\nexec cat\n")
    program.chmod(0o755)
    for step, words, file, change in WAY:
        done = checkrein("smoke", f"my-agent={program}")
        assert done.returncode == 1
        assert f"{step:<12} missing  {words}" in done.stdout
        assert f"where: {tmp_path / PACKAGE / file}" in done.stdout
        assert "to do: " in done.stdout
        assert "Traceback" not in done.stdout + done.stderr
        if change is not None:
            path = tmp_path / PACKAGE / file
            text = path.read_text()
            assert text.count(change[0]) == 1
            path.write_text(text.replace(*change))


def test_smoke_asks_for_the_program_before_anything_runs(checkrein: Checkrein, tmp_path: Path) -> None:
    written(checkrein)
    manifest = tmp_path / PACKAGE / "manifest.toml"
    manifest.write_text(manifest.read_text().replace('vendor = ""', 'vendor = "Acme"'))

    done = checkrein("smoke", "my-agent")

    assert "program      missing  there is no program to run" in done.stdout
    assert "to do: name it, my-agent=PATH" in done.stdout
