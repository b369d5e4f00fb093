"""Waiting for processes to end that are not our own children. One that nobody reaps has ended too."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Collection
from contextlib import suppress

import anyio
import psutil

#: whether a descriptor can report the end of a process: Linux 5.3, and a Python built against its headers
HAS_HANDLES = hasattr(os, "pidfd_open")


async def wait_gone(processes: Collection[int], seconds: float) -> None:
    """Wait until none of the processes is alive, at most so long.

    Args:
        processes: their ids.
        seconds: how long to wait at the utmost; no error when some are alive then.
    """
    with anyio.move_on_after(seconds):
        if sys.platform != "linux" or not HAS_HANDLES:
            await anyio.to_thread.run_sync(wait_until_ended, processes, seconds, abandon_on_cancel=True)
            return
        for pid in processes:
            await _end_of(pid)


async def _end_of(pid: int) -> None:
    if sys.platform != "linux":
        return
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        await anyio.wait_readable(handle)
    finally:
        os.close(handle)


def wait_until_ended(processes: Collection[int], seconds: float) -> None:
    """`wait_gone` for code without an event loop. Where there are no handles, psutil looks again and again."""
    if sys.platform == "linux" and HAS_HANDLES:
        _wait_by_handles(processes, seconds)
        return
    found: list[psutil.Process] = []
    for pid in processes:
        with suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(pid))
    psutil.wait_procs(found, timeout=seconds)


def _wait_by_handles(processes: Collection[int], seconds: float) -> None:
    if sys.platform != "linux":
        return
    handles: list[int] = []
    try:
        for pid in processes:
            with suppress(ProcessLookupError):
                handles.append(os.pidfd_open(pid))
        waiting = select.poll()
        for handle in handles:
            waiting.register(handle, select.POLLIN)
        deadline = time.monotonic() + seconds
        left = len(handles)
        while left and (remaining := deadline - time.monotonic()) > 0:
            for handle, _ in waiting.poll(remaining * 1000):
                waiting.unregister(handle)
                left -= 1
    finally:
        for handle in handles:
            os.close(handle)
