"""Processes as data, and how to find those of one session."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import psutil

from checkrein.adapters.transport.gone import wait_until_ended

#: This variable, with a value of its own per `HarnessProcess`, is in the environment of everything that it starts.
MARKER_VARIABLE = "CHECKREIN_PROCESS"


class ProcessInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One live process.

    Args:
        pid: its id.
        parent_pid: the id of its parent when it was seen.
        name: the short name that the kernel keeps.
        cmdline: its arguments, cut after 4 KiB.
        create_time: when it started, seconds since the epoch, comparable with psutil's; with the pid it is unique.
        session_id: the POSIX session that it is in (the process group, where the system does not tell).
    """

    pid: int
    parent_pid: int
    name: str
    cmdline: tuple[str, ...]
    create_time: float
    session_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitStatus:
    """How a process ended: with an exit status, by a signal, or unseen.

    Args:
        code: its exit status.
        signal: the number of the signal that killed it.
        unseen: True when nobody could see how it ended, because the guard was killed first.
    """

    code: int | None = None
    signal: int | None = None
    unseen: bool = False

    def __str__(self) -> str:
        if self.unseen:
            return "ended unseen: its guard was killed"
        return f"exit status {self.code}" if self.signal is None else f"signal {self.signal}"


def _marked(marker: str) -> Iterable[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARKER_VARIABLE) == marker and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except (psutil.Error, OSError):
            continue


def describe_process(process: psutil.Process) -> ProcessInfo | None:
    """What is known of a live process; None when it is gone or not ours to see."""
    try:
        with process.oneshot():
            return ProcessInfo(
                pid=process.pid,
                parent_pid=process.ppid(),
                name=process.name(),
                cmdline=tuple(process.cmdline()),
                create_time=process.create_time(),
                session_id=_session_of(process.pid),
            )
    except (psutil.Error, OSError):
        return None


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def processes_of(marker: str) -> list[ProcessInfo]:
    """Return every live process that carries `marker` in its environment, the guard included.

    It scans the process table: some milliseconds, blocking. A process that replaced its environment is not found.
    """
    return [seen for process in _marked(marker) if (seen := describe_process(process)) is not None]


def kill_marked(marker: str, *, keep: frozenset[int], timeout_seconds: float) -> list[ProcessInfo]:
    """SIGKILL every live process that carries `marker`, wait until they are gone, and return them.

    The way when the guard is gone, or cannot see strays because the system has no subreapers.

    Args:
        keep: ids of processes to spare.
        timeout_seconds: how long to wait for all of them to be gone; blocking.
    """
    found = [process for process in _marked(marker) if process.pid not in keep]
    described = [seen for process in found if (seen := describe_process(process)) is not None]
    for process in found:
        try:
            process.kill()
        except psutil.Error:
            continue
    wait_until_ended([process.pid for process in found], timeout_seconds)
    return described
