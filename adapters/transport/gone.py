"""Waiting for processes to end that are not our own children."""

from __future__ import annotations

import os
from collections.abc import Collection

import anyio
import psutil


async def wait_gone(processes: Collection[int], seconds: float) -> None:
    """Wait until none of the processes is alive, at most so long.

    Linux tells the end of any process through a pidfd; elsewhere psutil looks again and again in a worker thread.

    Args:
        processes: their ids.
        seconds: how long to wait at the utmost; no error when some are alive then.
    """
    with anyio.move_on_after(seconds):
        if not hasattr(os, "pidfd_open"):
            await anyio.to_thread.run_sync(_look_until_gone, processes, seconds, abandon_on_cancel=True)
            return
        for pid in processes:
            await _end_of(pid)


async def _end_of(pid: int) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        await anyio.wait_readable(handle)
    finally:
        os.close(handle)


def _look_until_gone(processes: Collection[int], seconds: float) -> None:
    found: list[psutil.Process] = []
    for pid in processes:
        try:
            found.append(psutil.Process(pid))
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(found, timeout=seconds)
