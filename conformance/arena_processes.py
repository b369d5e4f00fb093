"""The processes of one scenario, found by the HOME that they were given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil

from checkrein.adapters.transport import ProcessInfo

#: How long killed processes may take to be gone, in seconds.
GONE_SECONDS = 5.0


def processes_with_home(root: Path, *, spare: Path | None = None) -> tuple[ProcessInfo, ...]:
    """Every live process whose HOME is that folder or lies in it: the harness, and all that it started.

    It scans the process table: some milliseconds, blocking. The transport's guard gets no HOME and is not among them.

    Args:
        spare: an executable, or a folder of executables, whose own processes are left out.
    """
    found: list[ProcessInfo] = []
    for process in _with_home(root):
        seen = _describe(process)
        if seen is not None and not (spare is not None and _runs(process, spare)):
            found.append(seen)
    return tuple(found)


def kill_with_home(root: Path) -> tuple[ProcessInfo, ...]:
    """Kill every live process whose HOME lies in that folder, wait until they are gone, and return them."""
    killed: list[ProcessInfo] = []
    waiting: list[psutil.Process] = []
    for process in _with_home(root):
        seen = _describe(process)
        try:
            process.kill()
        except psutil.Error:
            continue
        waiting.append(process)
        if seen is not None:
            killed.append(seen)
    psutil.wait_procs(waiting, timeout=GONE_SECONDS)
    return tuple(killed)


def _with_home(root: Path) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            home = process.environ().get("HOME", "")
            if home and Path(home).is_relative_to(root) and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except (psutil.Error, OSError):
            continue


def _describe(process: psutil.Process) -> ProcessInfo | None:
    try:
        with process.oneshot():
            return ProcessInfo(
                pid=process.pid,
                parent_pid=process.ppid(),
                name=process.name(),
                cmdline=tuple(process.cmdline()),
                create_time=process.create_time(),
                session_id=0,
            )
    except (psutil.Error, OSError):
        return None


def _runs(process: psutil.Process, spare: Path) -> bool:
    try:
        words = [process.exe(), *process.cmdline()[:3]]
    except (psutil.Error, OSError):
        return False
    return any(Path(word).is_relative_to(spare) for word in words if word)
