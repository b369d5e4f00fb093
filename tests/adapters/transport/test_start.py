"""Starting: what the harness gets, and what the driver is told when there is nothing to start."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import psutil
import pytest

from checkrein.adapters.transport import (
    MARKER_VARIABLE,
    ExecutableNotFound,
    HarnessProcess,
    NotExecutable,
    ProcessStartError,
    WorkingDirectoryMissing,
    processes_of,
)
from checkrein.adapters.transport.executable import start_error
from tests.adapters.transport.peer_processes import StartPeer, all_lines, first_line, peer_argv

pytestmark = pytest.mark.anyio


def descriptors() -> dict[int, str]:
    found: dict[int, str] = {}
    for fd in map(int, os.listdir("/dev/fd")):  # noqa: PTH208 - names, not paths
        try:
            found[fd] = f"{os.fstat(fd).st_dev}:{os.fstat(fd).st_ino}"
        except OSError:
            continue
    return found


@pytest.fixture
def disturbed_signals() -> Iterator[None]:
    """A host program that ignores and blocks signals, as some do."""
    handler = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    signal.signal(signal.SIGHUP, handler)


async def test_the_harness_starts_clean(
    start_peer: StartPeer, tmp_path: Path, disturbed_signals: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    process = await start_peer("signals.py")
    seen = json.loads(await first_line(process))
    assert seen["ignored"] == []
    assert seen["blocked"] == []
    assert seen["pid"] == seen["session"] == process.pid
    assert seen["cwd"] == str(tmp_path)
    assert seen["descriptors"] == [0, 1, 2]
    assert seen["environment"][MARKER_VARIABLE] == process.marker
    assert "CLAUDECODE" not in seen["environment"]
    assert seen["environment"]["PATH"] == os.environ["PATH"]


async def test_arguments_and_variables_of_any_bytes_arrive_unchanged(tmp_path: Path) -> None:
    odd = os.fsdecode(b"\xff\xfe = \n \xe2\x82\xac")
    code = "import os, sys; print(ascii((sys.argv[1], os.environ['ODD'])))"
    argv = [sys.executable, "-S", "-c", code, odd]
    process = await HarnessProcess.start(argv, cwd=tmp_path, env={"ODD": odd, "LC_ALL": "C.UTF-8"})
    try:
        assert await all_lines(process) == [ascii((odd, odd)).encode()]
    finally:
        await process.aclose()


async def test_the_guard_holds_no_variable_of_the_harness(start_peer: StartPeer) -> None:
    process = await start_peer("echo.py", env={"SOME_API_KEY": "secret"})
    guard = psutil.Process(process.pid).parent()
    assert guard is not None
    assert guard.environ().get(MARKER_VARIABLE) == process.marker
    assert "SOME_API_KEY" not in guard.environ()
    assert "SOME_API_KEY" in psutil.Process(process.pid).environ()


async def test_a_program_that_is_nowhere_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExecutableNotFound) as bare:
        await HarnessProcess.start(["no-such-harness"], cwd=tmp_path, env={"PATH": "/nowhere"})
    assert bare.value.where == "no-such-harness, PATH=/nowhere"
    with pytest.raises(ExecutableNotFound) as path:
        await HarnessProcess.start(["bin/no-such-harness"], cwd=tmp_path)
    assert path.value.where == str(tmp_path / "bin/no-such-harness")
    assert path.value.advice


async def test_a_program_that_cannot_run_is_told_apart(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o644)
    with pytest.raises(NotExecutable, match="not an executable file"):
        await HarnessProcess.start(["./program"], cwd=tmp_path)
    program.chmod(0o755)
    with pytest.raises(NotExecutable, match="interpreter or loader"):
        await HarnessProcess.start(["./program"], cwd=tmp_path)
    program.write_bytes(b"\x01\x02\x03")
    with pytest.raises(NotExecutable, match="format"):
        await HarnessProcess.start(["./program"], cwd=tmp_path)


async def test_a_nul_in_an_argument_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(ProcessStartError, match="NUL"):
        await HarnessProcess.start([sys.executable, "a\0b"], cwd=tmp_path)


async def test_too_long_arguments_are_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(ProcessStartError, match="too long"):
        await HarnessProcess.start([sys.executable, "x" * (4 << 20)], cwd=tmp_path)


async def test_a_missing_working_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkingDirectoryMissing, match="does not exist"):
        await HarnessProcess.start([sys.executable], cwd=tmp_path / "gone")
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(WorkingDirectoryMissing, match="is a file"):
        await HarnessProcess.start([sys.executable], cwd=file)


def test_a_directory_that_vanishes_before_the_start_is_still_named() -> None:
    error = start_error(stage="chdir", number=errno.ENOENT, executable="/bin/sh", cwd="/gone")
    assert isinstance(error, WorkingDirectoryMissing)
    assert error.where == "/gone"


async def test_a_failed_start_leaves_nothing(tmp_path: Path, start_peer: StartPeer) -> None:
    await (await start_peer("echo.py")).aclose()  # opens what the event loop opens once
    before, children = descriptors(), psutil.Process().children(recursive=True)
    program = tmp_path / "program"
    program.write_bytes(b"\x01")
    program.chmod(0o755)
    with pytest.raises(NotExecutable):
        await HarnessProcess.start(["./program"], cwd=tmp_path)
    assert descriptors() == before
    assert psutil.Process().children(recursive=True) == children


async def test_a_guard_that_cannot_start_is_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = peer_argv("echo.py")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(ProcessStartError, match="guard"):
        await HarnessProcess.start(argv, cwd=tmp_path)


async def test_a_guard_that_dies_at_once_is_a_typed_error_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = peer_argv("echo.py")
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no ctypes here >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(ProcessStartError) as raised:
        await HarnessProcess.start(argv, cwd=tmp_path)
    assert "no ctypes here" in raised.value.where


async def test_after_close_no_descriptor_and_no_process_is_left(start_peer: StartPeer) -> None:
    await (await start_peer("echo.py")).aclose()  # opens what the event loop opens once
    before = descriptors()
    process = await start_peer("family.py")
    await first_line(process)
    assert len(processes_of(process.marker)) == 4
    await process.aclose()
    await process.aclose()
    assert descriptors() == before
    assert processes_of(process.marker) == []


@pytest.mark.parametrize("seconds", [0, 0.001, 0.003, 0.01, 0.02, 0.03, 0.05])
async def test_a_start_that_is_cancelled_leaves_nothing(
    seconds: float, tmp_path: Path, start_peer: StartPeer
) -> None:
    await (await start_peer("echo.py")).aclose()  # opens what the event loop opens once
    before, children = descriptors(), psutil.Process().children(recursive=True)
    process: HarnessProcess | None = None
    with anyio.move_on_after(seconds):
        process = await HarnessProcess.start(peer_argv("family.py"), cwd=tmp_path)
    if process is not None:
        await process.aclose()
    assert descriptors() == before
    assert psutil.Process().children(recursive=True) == children


async def test_a_cancelled_close_is_still_complete(start_peer: StartPeer) -> None:
    process = await start_peer("family.py")
    await first_line(process)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await process.aclose()
    assert processes_of(process.marker) == []
