"""`checkrein drive` with the real Codex over a scripted model: in a terminal, without one, stopped at each stage."""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pexpect
import psutil
import pytest

from checkrein.adapters.codex.model_profile import PROFILE
from checkrein.adapters.provision import InstalledHarness
from checkrein.scripted_models import ModelServer, ModelSession, Script, say, sees, shell

#: for one step of the command, in seconds; each takes well below two on a quiet machine
STEP = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The command line, and where it leaves its traces."""

    binary: Path
    folder: Path
    model: ModelSession

    def arguments(self, *, binary: Path | None = None, more: tuple[str, ...] = ()) -> list[str]:
        return [
            "-m", "checkrein.conformance", "drive", f"codex={binary or self.binary}", "make it",
            "--cwd", str(self.workspace), "--home", str(self.folder / "home"),
            "--model-base-url", self.model.base_url, *more,
        ]  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        own = {"CHECKREIN_MODEL_API_KEY": "sk-scripted", "CHECKREIN_STATE": str(self.folder / "state")}
        return os.environ | own

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def in_terminal(self, *, binary: Path | None = None) -> pexpect.spawn[str]:
        arguments = self.arguments(binary=binary)
        environment: Any = self.environment  # the stubs want the type of os.environ
        return pexpect.spawn(sys.executable, arguments, env=environment, encoding="utf-8", timeout=STEP)

    def record(self) -> dict[str, Any]:
        (path,) = (self.folder / "state" / "records").glob("*.json")
        return json.loads(path.read_bytes())


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def command(
    real_codex: InstalledHarness, server: ModelServer, tmp_path: Path
) -> Iterator[Callable[[Script], Command]]:
    """Play a script to the command; at the end of the test the run is held to it."""
    (tmp_path / "workspace").mkdir()
    played: list[ModelSession] = []

    def of(script: Script) -> Command:
        played.append(server.open_session(script, PROFILE))
        played[-1].__enter__()
        return Command(binary=real_codex.binary, folder=tmp_path, model=played[-1])

    yield of
    for model in played:
        model.__exit__(None, None, None)


def asks_once() -> Script:
    script = Script()
    script.main([shell("touch made", id="c1")])
    return script


def wait_for_end(terminal: pexpect.spawn[str]) -> int | None:
    terminal.expect(pexpect.EOF)
    terminal.wait()
    return terminal.exitstatus


def test_a_person_allows_at_the_keyboard_and_the_turn_is_completed(
    command: Callable[[Script], Command],
) -> None:
    script = asks_once()
    script.main([say("all done")])
    drive = command(script)
    terminal = drive.in_terminal()
    terminal.expect("allow\\?")
    assert not (drive.workspace / "made").exists()
    terminal.sendline("y")
    terminal.expect("completed: ")
    assert wait_for_end(terminal) == 0
    assert (drive.workspace / "made").exists()
    assert drive.record()["approvals"][0]["resolved_by"] == "person"


def test_ctrl_c_while_a_question_stands_interrupts_with_130_and_a_record(
    command: Callable[[Script], Command],
) -> None:
    drive = command(asks_once())
    terminal = drive.in_terminal()
    terminal.expect("allow\\?")
    terminal.sendintr()
    terminal.expect("SIGINT: interrupting")
    assert wait_for_end(terminal) == 130
    record = drive.record()
    assert (record["status"], record["stopped_by"]) == ("interrupted", "harness")
    assert record["approvals"][0]["resolved_by"] == "interrupt"


def test_ctrl_c_twice_kills_a_harness_that_does_not_answer(command: Callable[[Script], Command]) -> None:
    drive = command(asks_once())
    terminal = drive.in_terminal()
    terminal.expect("allow\\?")
    for pid in _processes_of(drive.binary, below=terminal.pid):
        os.kill(pid, signal.SIGSTOP)
    terminal.sendintr()
    terminal.expect("SIGINT: interrupting")
    terminal.sendintr()
    terminal.expect("SIGINT: killing")
    assert wait_for_end(terminal) == 130
    assert drive.record()["status"] == "interrupted"


def test_ctrl_c_while_the_harness_opens_leaves_with_130(command: Callable[[Script], Command]) -> None:
    drive = command(Script())
    mute = drive.folder / "mute"
    news = drive.folder / "news"
    os.mkfifo(news)
    mute.write_text(f"#!/bin/sh\necho started >{news}\nexec cat >/dev/null\n")
    mute.chmod(mute.stat().st_mode | stat.S_IXUSR)
    listening = os.open(news, os.O_RDONLY | os.O_NONBLOCK)
    terminal = drive.in_terminal(binary=mute)
    assert select.select([listening], [], [], STEP)[0], "the harness was not started"
    os.close(listening)
    terminal.sendintr()
    terminal.expect("SIGINT: leaving")
    assert wait_for_end(terminal) == 130


def test_without_a_terminal_a_question_is_denied_and_the_model_is_told(
    command: Callable[[Script], Command],
) -> None:
    script = asks_once()
    script.main([say("then not")], sees=sees(steer="no person is at a terminal"))
    drive = command(script)
    ended = subprocess.run(
        [sys.executable, *drive.arguments()],
        env=drive.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=STEP,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "completed: " in ended.stdout
    assert not (drive.workspace / "made").exists()


def test_a_standard_input_that_is_closed_is_no_terminal(command: Callable[[Script], Command]) -> None:
    script = asks_once()
    script.main([say("then not")])
    drive = command(script)
    line = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", sys.executable, *drive.arguments()]
    ended = subprocess.run(line, env=drive.environment, capture_output=True, text=True, timeout=STEP)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_output_that_nobody_reads_interrupts_the_turn(command: Callable[[Script], Command]) -> None:
    script = Script()
    # Not a held one: the interrupt may come before it has started.
    script.main([shell("tail -f /dev/null", id="c1")])
    drive = command(script)
    read, write = os.pipe()
    arguments = drive.arguments(more=("--policy", "auto"))
    with subprocess.Popen(
        [sys.executable, *arguments],
        env=drive.environment,
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        os.close(write)
        os.read(read, 1)  # it has begun
        os.close(read)
        _, said = running.communicate(timeout=STEP)
    assert (running.returncode, said) == (130, "")
    assert drive.record()["status"] == "interrupted"


def test_ctrl_c_counts_although_nobody_reads_the_output(command: Callable[[Script], Command]) -> None:
    script = Script()
    build = script.held_tool("build")
    # More than the pipe holds.
    script.main([say("much to say, and nobody to read it. " * 10_000), shell(build, id="c1")])
    drive = command(script)
    read, write = os.pipe()
    with subprocess.Popen(
        [sys.executable, *drive.arguments(more=("--policy", "auto"))],
        env=drive.environment,
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        os.close(write)
        anyio.run(partial(build.started, timeout=STEP))
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=STEP)
        os.close(read)
    assert (running.returncode, said) == (130, "")
    assert drive.record()["status"] == "interrupted"


def test_the_outcome_is_told_although_its_record_cannot_be_written(
    command: Callable[[Script], Command],
) -> None:
    script = Script()
    script.main([say("all done")])
    drive = command(script)
    (drive.folder / "state").write_text("a file, where a directory should be")
    ended = subprocess.run(
        [sys.executable, *drive.arguments()],
        env=drive.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=STEP,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "completed: " in ended.stdout
    assert "the record of the turn cannot be written" in ended.stdout


def test_a_foreseeable_fault_has_no_traceback(command: Callable[[Script], Command]) -> None:
    drive = command(Script())
    unknown = ("--resume", "01900000-0000-7000-8000-000000000000")
    ended = subprocess.run(
        [sys.executable, *drive.arguments(more=unknown)],
        env=drive.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=STEP,
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "Codex has no conversation" in ended.stderr


def _processes_of(binary: Path, *, below: int | None) -> list[int]:
    assert below is not None
    return [
        process.pid
        for process in psutil.Process(below).children(recursive=True)
        if process.cmdline() and Path(process.cmdline()[0]).name == binary.name
    ]
