"""`checkrein report`, `compare`, `gate`, `plan`, `merge` and `run --baseline`, as a person calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pytest

from checkrein.conformance.arena_processes import processes_with_home
from checkrein.conformance.clauses import Contract
from checkrein.conformance.cli import main
from checkrein.conformance.results import Check
from checkrein.conformance.results_files import read_results, write_results
from checkrein.conformance.verdicts import Verdict
from tests.conformance.conftest import PROGRAM
from tests.conformance.reports.example_results import CODEX, check, every_verdict, results_of

FOLDER = Path(__file__).parent / "fake_scenarios"
BY_VERSION = FOLDER / "by_version.py"
CHECKREIN = [sys.executable, "-m", "checkrein.conformance"]
ONLY = [word for name in ("mid-tool", "order", "idle", "slow-tool") for word in ("--only", f"steer.{name}")]

#: How long one run of the fake scenarios may take, in seconds; it takes about 4 on a quiet machine.
RUN_SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def checkrein(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Call the command line in this process, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["checkrein", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        said = capsys.readouterr()
        return Done(
            status=code if isinstance(code, int) else int(code is not None), out=said.out, err=said.err
        )

    return call


@pytest.fixture
def on_fake(fake_path: str, tmp_path: Path) -> Command:
    """Call the command line in a process of its own, where the fake harness is found."""

    def call(*arguments: str | Path) -> Done:
        done = subprocess.run(
            [*CHECKREIN, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "CHECKREIN_CACHE": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        return Done(status=done.returncode, out=done.stdout, err=done.stderr)

    return call


@pytest.fixture
def results(contract: Contract, tmp_path: Path) -> Path:
    path = tmp_path / "results.jsonl"
    write_results(every_verdict(contract), path)
    return path


# report


def test_each_format_is_written_to_its_file(checkrein: Command, results: Path, tmp_path: Path) -> None:
    for format in ("terminal", "markdown", "junit", "html"):
        done = checkrein("report", results, "--format", format, "--out", tmp_path / "new" / format)
        assert (done.status, done.out) == (0, f"written: {tmp_path / 'new' / format}\n")
    written = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    assert "1 pass" not in written["terminal"]
    assert "steer.idle.rejected on claude-code@2.1.332: fail" in written["terminal"]
    assert "\x1b" not in written["terminal"].replace("\x1b[31m", "")
    assert written["markdown"].startswith("### Checkrein: ❌ 3 red")
    assert ET.fromstring(written["junit"].encode()).get("errors") == "2"
    assert written["html"].startswith("<!doctype html>")


def test_without_a_file_the_report_goes_to_standard_output(checkrein: Command, results: Path) -> None:
    assert checkrein("report", results, "-f", "markdown").out.startswith("### Checkrein: ❌ 3 red")
    assert "steer.idle.rejected" in checkrein("report", results).out


def test_badges_go_into_a_folder(checkrein: Command, results: Path, tmp_path: Path) -> None:
    assert checkrein("report", results, "-f", "badge", "-o", "badges").status == 0
    badge = json.loads((tmp_path / "badges" / "claude-code-steer.json").read_text())
    assert (badge["message"], badge["color"]) == ("1 broken", "red")
    refused = checkrein("report", results, "-f", "badge")
    assert (refused.status, refused.err.splitlines()[0]) == (2, "error: badges are several files")


def cut(text: str) -> str:
    return text[: len(text) // 2]


def without_footer(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[:-1])


def twice(text: str) -> str:
    return text + text


@pytest.mark.parametrize("damage", [cut, without_footer, twice])
@pytest.mark.parametrize("command", ["report", "compare", "merge"])
def test_a_file_that_is_cut_off_or_mixed_up_is_refused_with_the_line(
    checkrein: Command, results: Path, tmp_path: Path, command: str, damage: Callable[[str], str]
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text(damage(results.read_text()))
    more = {"report": [], "compare": [results], "merge": [results, "--out", tmp_path / "merged.jsonl"]}[
        command
    ]
    done = checkrein(command, broken, *more)
    assert done.status == 2
    assert done.out == ""
    error, where = done.err.splitlines()[:2]
    assert error.startswith("error: ")
    assert where.startswith(f"where: {broken}, line ")
    assert not (tmp_path / "merged.jsonl").exists()


def test_a_place_that_cannot_be_written_is_told_in_a_line(checkrein: Command, results: Path) -> None:
    done = checkrein("report", results, "-f", "html", "-o", results / "report.html")
    assert done.status == 2
    assert done.err.startswith("error: the report cannot be written: ")


# compare, merge, plan


def run_of(contract: Contract, path: Path, *checks: Check) -> Path:
    write_results(results_of(contract, *checks, harnesses=(CODEX,)), path)
    return path


def test_compare_ends_with_1_only_for_a_regression(
    checkrein: Command, contract: Contract, tmp_path: Path
) -> None:
    good = run_of(contract, tmp_path / "good.jsonl", check("steer.order.kept", CODEX, Verdict.PASS))
    bad = run_of(contract, tmp_path / "bad.jsonl", check("steer.order.kept", CODEX, Verdict.FAIL))

    worse = checkrein("compare", good, bad)
    assert worse.status == 1
    assert worse.out.startswith("codex@0.171.0: 1 regression\n")
    assert "  steer.order.kept: pass → fail\n" in worse.out

    better = checkrein("compare", bad, good, "--format", "markdown", "--out", "better.md")
    assert better.status == 0
    assert "**Fixed (1)**" in (tmp_path / "better.md").read_text()

    assert checkrein("compare", bad, bad).status == 0
    assert checkrein("compare", good, tmp_path / "nothing.jsonl").status == 2


def test_merge_writes_one_file_and_ends_as_a_run_of_all_would(
    checkrein: Command, contract: Contract, tmp_path: Path
) -> None:
    good = run_of(contract, tmp_path / "good.jsonl", check("steer.order.kept", CODEX, Verdict.PASS))
    bad = run_of(contract, tmp_path / "bad.jsonl", check("steer.idle.rejected", CODEX, Verdict.FAIL))
    done = checkrein("merge", good, bad, "--out", "all.jsonl")
    assert done.status == 1
    assert [one.clause for one in read_results(tmp_path / "all.jsonl").checks] == [
        "steer.idle.rejected",
        "steer.order.kept",
    ]


def test_plan_prints_the_matrix_of_a_ci(checkrein: Command) -> None:
    done = checkrein("plan", "codex@0.162.1", "claude-code", "--groups", "2")
    assert done.status == 0
    assert len(done.out.splitlines()) == 1
    jobs = json.loads(done.out)["include"]
    assert [job["harness"] for job in jobs] == ["codex"] * 2 + ["claude-code"] * 2
    assert jobs[0]["version"] == "0.162.1"
    assert all(isinstance(value, str) and value for job in jobs for value in job.values())
    assert checkrein("plan", "codexx").status == 2


# gate


def gated(on_fake: Command, old: str, new: str, *more: str) -> Done:
    return on_fake(
        *("gate", "fake", "--from", f"{old}={PROGRAM}", "--to", f"{new}={PROGRAM}"),
        *("--scenarios", BY_VERSION, "-n", "1", *ONLY, *more),
    )


def test_the_gate_closes_for_a_worse_version_and_tells_what_is_only_different(
    on_fake: Command, tmp_path: Path
) -> None:
    done = gated(on_fake, "1.0", "2.0", "--results", "both.jsonl")
    assert done.status == 1, done.err
    lines = done.out.splitlines()
    assert lines[0] == "### Checkrein: fake 1.0 → 2.0: ❌ 1 regression"
    told = [line for line in lines if line.startswith("- ")]
    assert [line.partition(" · ")[0] for line in told] == [
        "- `steer.mid-tool.delivered`: pass → fail",
        "- `steer.order.kept`: fail → pass",
        "- `steer.idle.rejected`: adapter → harness",
        "- `steer.slow-tool.latency` INFO: pass",
    ]
    assert [one.label for one in read_results(tmp_path / "both.jsonl").header.harnesses] == [
        "fake@1.0",
        "fake@2.0",
    ]


def test_the_gate_opens_for_a_version_that_is_as_good(on_fake: Command) -> None:
    done = gated(on_fake, "0.9", "1.0")
    assert done.status == 0, done.err
    assert done.out.startswith("### Checkrein: fake 0.9 → 1.0: ✅ no regression\n")


def test_a_gate_between_a_version_and_itself_is_refused(checkrein: Command) -> None:
    done = checkrein("gate", "codex", "--from", "0.171.0", "--to", "0.171.0")
    assert (done.status, done.err.splitlines()[0]) == (2, "error: both versions are the same")


def test_ctrl_c_ends_the_gate_and_leaves_nothing(fake_path: str, tmp_path: Path) -> None:
    temporary, run_dir = tmp_path / "tmp", tmp_path / "kept"
    temporary.mkdir()
    terminal: pexpect.spawn[str] = pexpect.spawn(
        CHECKREIN[0],
        [
            *(*CHECKREIN[1:], "gate", "fake", "--from", f"1.0={PROGRAM}", "--to", f"2.0={PROGRAM}"),
            *(
                "--scenarios",
                str(FOLDER / "endless.py"),
                "--run-dir",
                str(run_dir),
                "-n",
                "2",
                "--out",
                "gate.md",
            ),
        ],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(temporary)},
        timeout=60,
        encoding="utf-8",
    )
    try:
        terminal.expect("endless on fake@")
        deadline = time.monotonic() + 30
        # Nobody tells us of processes in another tree, so look.
        while len(processes_with_home(run_dir)) < 2:
            assert time.monotonic() < deadline, "the harness and its tool never ran"
        terminal.sendintr()
        terminal.expect(pexpect.EOF)
        terminal.wait()
    finally:
        terminal.close(force=True)
    assert terminal.exitstatus == 130
    assert processes_with_home(run_dir) == ()
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "gate.md").exists()
    assert not list(run_dir.glob("*/results.jsonl"))


# The baseline of one's own


def test_a_new_failure_is_written_down_and_excused_only_when_a_person_has_said_why(
    on_fake: Command, tmp_path: Path
) -> None:
    def run(*more: str) -> Done:
        return on_fake(
            *("run", f"fake@2.0={PROGRAM}", "--scenarios", BY_VERSION, "-n", "1", *ONLY),
            *("--results", "results.jsonl", "--baseline", "known", *more),
        )

    known = tmp_path / "known" / "fake.yaml"
    known.parent.mkdir()

    first = run("--update-baseline")
    assert first.status == 1
    assert "fake.yaml: steer.mid-tool.delivered: say why it fails (the reason is TODO)" in first.out

    unexplained = run()
    assert unexplained.status == 2
    assert (
        unexplained.err.splitlines()[0]
        == "error: 'steer.mid-tool.delivered' has no reason yet: say why it fails"
    )

    known.write_text(known.read_text().replace("TODO: ", "it drops them; ") + stale_entry())
    explained = run()
    verdicts = {
        one.clause: (one.verdict, one.observed) for one in read_results(tmp_path / "results.jsonl").checks
    }
    assert verdicts["steer.mid-tool.delivered"] == (Verdict.EXPECTED_FAIL, "0 (known: it drops them; 0)")
    assert explained.status == 1
    verdict, observed = verdicts["steer.order.kept"]
    assert verdict is Verdict.FAIL
    assert observed.endswith(
        "(the baseline says that it fails (it did), but it holds: remove the stale entry)"
    )


def stale_entry() -> str:
    return '  - clause: steer.order.kept\n    versions: ["2.0"]\n    reason: it did\n'
