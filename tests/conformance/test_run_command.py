"""`checkrein run` as a person runs it: on the fake harness, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from pathlib import Path

import pexpect
import pytest

from checkrein.conformance.__main__ import main
from checkrein.conformance.arena_processes import processes_with_home
from checkrein.conformance.kit_run import usual_workers
from checkrein.conformance.results_files import read_results
from checkrein.conformance.target import parse_target
from checkrein.conformance.verdicts import Verdict
from tests.conformance.conftest import PROGRAM

FOLDER = Path(__file__).parent
SCENARIOS = FOLDER / "fake_scenarios" / "keeping.py"
CRASHING = FOLDER / "fake_scenarios" / "crashing.py"
ENDLESS = FOLDER / "fake_scenarios" / "endless.py"
CHECKREIN = [sys.executable, "-m", "checkrein.conformance", "run"]
FAKE = f"fake@1.0={PROGRAM}"

#: How long one whole run of the fake scenarios may take, in seconds; it takes about 4 on a quiet machine.
RUN_SECONDS = 120

RunCommand = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def checkrein_run(fake_path: str, tmp_path: Path) -> RunCommand:
    """Run the command in an empty directory; results go to `results.jsonl` there."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*CHECKREIN, *arguments],
            cwd=tmp_path,
            env={**os.environ, "CHECKREIN_CACHE": str(tmp_path / "cache"), **variables},
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )

    return run


def on_fake(*arguments: str) -> list[str]:
    return [FAKE, "--scenarios", str(SCENARIOS), "--results", "results.jsonl", *arguments]


def wait_for_processes(run_dir: Path) -> None:
    """Wait until the harness and its tool run; nobody tells us of processes in another tree, so look."""
    deadline = time.monotonic() + 30
    while len(processes_with_home(run_dir)) < 2:
        assert time.monotonic() < deadline, "the harness and its tool never ran"


ALL = ["--only", "steer.mid-tool", "--only", "interrupt.tool-running", "--only", "session.fork"]


def test_a_harness_that_keeps_its_clauses_gives_a_matrix_and_status_0(
    checkrein_run: RunCommand, tmp_path: Path
) -> None:
    done = checkrein_run(*on_fake(*ALL, "-n", "2"))
    assert done.returncode == 0, done.stdout + done.stderr
    results = read_results(tmp_path / "results.jsonl")
    assert [(check.clause, check.verdict) for check in results.checks] == [
        ("session.fork.original-untouched", Verdict.NOT_APPLICABLE),
        ("steer.mid-tool.delivered", Verdict.PASS),
        ("interrupt.tool-running.outcome", Verdict.PASS),
        ("interrupt.tool-running.quiet", Verdict.PASS),
    ]
    assert results.header.harnesses[0].label == "fake@1.0"
    assert len(results.header.harnesses[0].binary_sha256) == 64
    assert results.header.command[:2] == ("checkrein", "run")
    assert results.footer.startup_seconds > 0
    for words in ("fake@1.0", "pass (adapter)", "not applicable", "3 pass, 1 not applicable", "offline:"):
        assert words in done.stdout


def test_a_failing_clause_gives_status_1_and_a_screen(checkrein_run: RunCommand, tmp_path: Path) -> None:
    done = checkrein_run(*on_fake(*ALL), FAKE_HARNESS_FLAW="dies")
    assert done.returncode == 1
    results = read_results(tmp_path / "results.jsonl")
    assert {check.clause for check in results.red} == {
        "steer.mid-tool.delivered",
        "interrupt.tool-running.outcome",
        "interrupt.tool-running.quiet",
    }
    for words in (
        "A steer sent while a tool runs",
        "observed: ",
        "last lines on the wire:",
        '"event":"opened"',
        "last model requests:",
        f"kept in: {tmp_path}/.checkrein/runs/",
        "--only steer.mid-tool.delivered",
    ):
        assert words in done.stdout


def test_only_limits_both_what_runs_and_what_is_reported(checkrein_run: RunCommand, tmp_path: Path) -> None:
    done = checkrein_run(
        *on_fake(
            "--only", "interrupt.tool-running.*", "--only", "interrupt.idle.*", "--only", "steer.mid-tool.*"
        )
    )
    results = read_results(tmp_path / "results.jsonl")
    judged = {check.clause for check in results.checks if check.verdict is Verdict.PASS}
    assert judged == {
        "steer.mid-tool.delivered",
        "interrupt.tool-running.outcome",
        "interrupt.tool-running.quiet",
    }
    missing = {check.clause for check in results.checks if check.verdict is Verdict.KIT_ERROR}
    assert missing == {"interrupt.idle.rejected"}, "no scenario judges it"
    assert done.returncode == 1
    assert {run.name for run in results.scenarios} == {
        "test_steer_while_a_tool_runs",
        "test_interrupt_while_a_tool_runs",
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "steer.idl", FAKE], "steer.idle.rejected"),
        (["nobody"], "there is no harness 'nobody'"),
        (["fake@"], "is not a harness"),
        ([f"fake={FOLDER}/missing"], "there is no such file"),
        ([FAKE, FAKE], "named twice"),
        (["--sideways"], "No such option"),
        ([FAKE, "--results", "."], "the results could not be written: Is a directory"),
        ([FAKE, "--results", "/proc/nowhere/results.jsonl"], "name another file with --results"),
        ([FAKE, "--run-dir", "/proc/nowhere"], "name another folder with --run-dir"),
        ([FAKE, "--only", "stear"], "did you mean steer?"),
    ],
)
def test_wrong_usage_gives_status_2_and_says_what_is_wrong(
    checkrein_run: RunCommand, arguments: list[str], words: str, tmp_path: Path
) -> None:
    done = checkrein_run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / ".checkrein").exists(), "nothing has run"


def test_ctrl_c_while_the_command_line_is_loaded_is_an_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_part = "checkrein.conformance.cli"

    class Pressed(MetaPathFinder):
        def find_spec(self, fullname: str, path: object, target: object = None) -> None:
            if fullname == slow_part:
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, slow_part, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Pressed(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


def test_a_machine_without_git_gives_status_3(checkrein_run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    done = checkrein_run(*on_fake(), PATH=str(tmp_path / "bin"))
    assert done.returncode == 3
    assert "git is not installed" in done.stderr


def test_a_harness_that_cannot_be_installed_gives_status_3(checkrein_run: RunCommand) -> None:
    # A registry that refuses connections stands for a machine without a network.
    done = checkrein_run(
        "codex@0.171.0", NPM_CONFIG_REGISTRY="http://127.0.0.1:9/", NPM_CONFIG_FETCH_RETRIES="0"
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_scenarios_that_cannot_be_loaded_are_reported_with_the_log(
    checkrein_run: RunCommand, tmp_path: Path
) -> None:
    broken = tmp_path / "test_broken.py"
    broken.write_text("import nothing_of_that_name\n")
    done = checkrein_run(FAKE, "--scenarios", str(broken))
    assert done.returncode == 1
    assert "nothing_of_that_name" in done.stderr
    assert "pytest.log" in done.stderr


def test_a_scenario_whose_process_dies_is_not_missing_from_the_results(
    checkrein_run: RunCommand, tmp_path: Path
) -> None:
    clauses = ["--only", "steer.mid-tool.delivered", "--only", "steer.order.kept"]
    done = checkrein_run(
        FAKE, "--scenarios", str(CRASHING), "--results", "results.jsonl", "-n", "2", *clauses
    )
    results = read_results(tmp_path / "results.jsonl")
    assert [(check.clause, check.verdict) for check in results.checks] == [
        ("steer.mid-tool.delivered", Verdict.KIT_ERROR),
        ("steer.order.kept", Verdict.PASS),
    ]
    assert "its process died" in results.checks[0].observed
    assert done.returncode == 1


def test_plugins_named_by_the_environment_are_loaded_in_the_run(
    checkrein_run: RunCommand, tmp_path: Path, fake_path: str
) -> None:
    (tmp_path / "site" / "fake_sabotage.py").write_text(
        "from tests.conformance.fake_harness.adapter import FakeConnection\n"
        "async def steer(self, steer_id, text):\n    pass\n"
        "FakeConnection.steer = steer\n"
    )
    done = checkrein_run(*on_fake(*ALL), PYTEST_PLUGINS="fake_sabotage")
    results = read_results(tmp_path / "results.jsonl")
    assert [check.clause for check in results.red] == ["steer.mid-tool.delivered"]
    assert done.returncode == 1


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for TMPDIR whose name is short enough for sockets in it, which `tmp_path` is not everywhere."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        yield Path(folder)


def test_sigterm_ends_the_run_and_leaves_nothing(fake_path: str, tmp_path: Path, temporary: Path) -> None:
    run_dir = tmp_path / "kept"
    run = subprocess.Popen(
        [*CHECKREIN, FAKE, "--scenarios", str(ENDLESS), "--run-dir", str(run_dir), "-n", "1"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for_processes(run_dir)
        run.terminate()
        assert run.wait(5) == 128 + signal.SIGTERM
    finally:
        run.kill()
        run.wait()
    assert processes_with_home(run_dir) == ()
    assert list(temporary.iterdir()) == []


def test_ctrl_c_ends_the_run_within_five_seconds_and_leaves_nothing(
    fake_path: str, tmp_path: Path, temporary: Path
) -> None:
    run_dir = tmp_path / "kept"
    terminal: pexpect.spawn[str] = pexpect.spawn(
        CHECKREIN[0],
        [*CHECKREIN[1:], FAKE, "--scenarios", str(ENDLESS), "--run-dir", str(run_dir), "-n", "2"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(temporary)},
        timeout=60,
        encoding="utf-8",
    )
    try:
        terminal.expect("endless on fake@1.0")
        wait_for_processes(run_dir)
        pressed = time.monotonic()
        terminal.sendintr()
        terminal.expect(pexpect.EOF)
        terminal.wait()
        assert time.monotonic() - pressed < 5
    finally:
        terminal.close(force=True)
    assert terminal.exitstatus == 130
    assert processes_with_home(run_dir) == ()
    assert list(temporary.iterdir()) == []
    assert not list(run_dir.glob("*/results.jsonl"))


@pytest.mark.parametrize(
    ("harnesses", "cores", "workers"),
    [
        (["reference"], 2, 7),
        (["reference@1.0.0"], 64, 12),
        (["codex"], 2, 3),
        (["reference", "codex"], 2, 3),
        ([f"reference@1.0.0={sys.executable}"], 2, 3),
        (["claude-code"], 64, 6),
    ],
)
def test_more_scenarios_run_side_by_side_where_every_harness_is_bundled(
    harnesses: list[str], cores: int, workers: int
) -> None:
    assert usual_workers([parse_target(text) for text in harnesses], cores=cores) == workers


def test_the_contract_is_shown_as_a_list_and_in_full() -> None:
    def shown(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "checkrein.conformance", "contract", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    whole, one, none = shown(), shown("steer.idle.rejected"), shown("steer.sideways")
    assert whole.stdout.count("MUST") > 50
    for words in ("steer.idle.rejected MUST", "why: ", "-32600", "that can do: steer", "since 2026.11"):
        assert words in one.stdout
    assert "interrupt" not in one.stdout
    assert none.returncode == 2
    assert "steer.idle.rejected" in none.stderr or "did you mean" in none.stderr
