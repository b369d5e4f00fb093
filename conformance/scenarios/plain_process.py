"""Interrupting a plain process, to have figures beside those of a harness."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from pathlib import Path

import anyio

from checkrein.adapters.transport import HarnessProcess
from checkrein.conformance.scenarios import trapping_sigint
from checkrein.conformance.scenarios.interrupt_times import InterruptTimes

PROGRAM = Path(trapping_sigint.__file__).resolve()

#: How long the whole of it may take, in seconds.
SECONDS = 20.0


async def interrupt_a_plain_process() -> InterruptTimes:
    """Start a process that traps SIGINT, interrupt it, and take the time of what it does then.

    Raises:
        TimeoutError: it did not end in time.
    """
    with anyio.fail_after(SECONDS), socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        process = await HarnessProcess.start([sys.executable, "-I", "-S", str(PROGRAM), port], cwd="/")
        try:
            await anyio.wait_readable(listener)
            with listener.accept()[0] as stream:
                return await _interrupt(process, stream)
        finally:
            await process.aclose()


async def _interrupt(process: HarnessProcess, stream: socket.socket) -> InterruptTimes:
    said: dict[bytes, float] = {}
    ready = anyio.Event()
    called = hung_up = gone = 0.0

    async def read() -> None:
        async for lines in process.batches():
            said.update(dict.fromkeys(lines, time.monotonic()))
            if b"ready" in said:
                ready.set()

    async def watch_stream() -> None:
        nonlocal hung_up
        await anyio.wait_readable(stream)
        hung_up = time.monotonic()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(watch_stream)
        await ready.wait()
        called = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        await process.wait_exit()
        gone = time.monotonic()
    return InterruptTimes(
        acknowledged=_ms(said[b"acknowledged"], called),
        hung_up=_ms(hung_up, called),
        ended=_ms(said[b"ended"], called),
        quiet=_ms(gone, called),
    )


def _ms(moment: float, since: float) -> float:
    return (moment - since) * 1000
