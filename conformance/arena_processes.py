"""The processes of one scenario, found by the HOME that they were given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from checkrein.adapters.transport import ProcessInfo, describe_process

#: How long killed processes may take to be gone, in seconds.
GONE_SECONDS = 5.0


#: Programs that run whatever they are given: that one of them is the harness says nothing of its next process.
_INTERPRETERS = re.compile(r"(|ba|da|z|fi)sh|env|git|busybox|(python|node|bun|ruby|perl)[0-9.]*")


class HarnessProcesses:
    """Tells a harness's own processes from those of its tools.

    Its own are those that a session started, those that run its executable, those that live before the first prompt (a
    launcher, and the program that it starts), and those that run the same program as one of these.

    Args:
        executable: what was started.
    """

    def __init__(self, executable: Path) -> None:
        self._executable = executable
        self._programs = {str(executable)}
        self._known: set[tuple[int, float]] = set()

    def note(self, root: Path) -> None:
        """Take all processes with that HOME for the harness's own; call it before the first prompt."""
        for process in _with_home(root):
            try:
                self._known.add((process.pid, process.create_time()))
                program = process.exe()
            except (psutil.Error, OSError):
                continue
            if program and not _INTERPRETERS.fullmatch(Path(program).name):
                self._programs.add(program)

    def started(self, pid: int) -> None:
        """A session has started that process; its program may not tell (pi 1.6.0 runs on node, and renames itself)."""
        with suppress(psutil.Error):
            self._known.add((pid, psutil.Process(pid).create_time()))

    def owns(self, process: psutil.Process) -> bool:
        """Whether that process is one of the harness itself."""
        try:
            if (process.pid, process.create_time()) in self._known:
                return True
            return process.exe() in self._programs or str(self._executable) in process.cmdline()[:3]
        except (psutil.Error, OSError):
            return False


def processes_with_home(root: Path, *, without: HarnessProcesses | None = None) -> tuple[ProcessInfo, ...]:
    """Every live process whose HOME is that folder or lies in it: the harness, and all that it started.

    It scans the process table: some milliseconds, blocking. The transport's guard gets no HOME and is not among them.

    Args:
        without: whose own processes are left out.
    """
    found: list[ProcessInfo] = []
    for process in _with_home(root):
        seen = describe_process(process)
        if seen is not None and not (without is not None and without.owns(process)):
            found.append(seen)
    return tuple(found)


def kill_with_home(root: Path) -> tuple[ProcessInfo, ...]:
    """Kill every live process whose HOME lies in that folder, wait until they are gone, and return them."""
    killed: list[ProcessInfo] = []
    waiting: list[psutil.Process] = []
    for process in _with_home(root):
        seen = describe_process(process)
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
