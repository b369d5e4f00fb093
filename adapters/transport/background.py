"""Tasks that a process needs for itself, on asyncio and on trio, without a task group of the caller's."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable

import anyio

_log = logging.getLogger("checkrein.transport")


class BackgroundTask:
    """One task that runs beside the caller's until it returns or is stopped.

    A task group would have to be opened and closed by the same task of the caller, so that a process could only be
    used inside `async with`. The standard error and the guard's reports must be read all the time, whoever holds the
    process. A task that fails is logged: it must not take the host program down.
    """

    __slots__ = ("_done", "_handle", "_name", "_scope", "_work")

    def __init__(self, work: Callable[[], Awaitable[None]], *, name: str) -> None:
        self._work = work
        self._name = name
        self._scope = anyio.CancelScope()
        self._done = anyio.Event()
        # asyncio keeps only weak references to its tasks.
        self._handle = _spawn(self._run, name)

    async def _run(self) -> None:
        try:
            with self._scope:
                await self._work()
        except Exception:
            _log.exception("background task %s failed", self._name)
        finally:
            self._done.set()

    async def stop(self) -> None:
        """Cancel the task and wait until it has ended."""
        self._scope.cancel()
        await self._done.wait()


def _spawn(run: Callable[[], Awaitable[None]], name: str) -> object:
    if "trio" in sys.modules:
        import trio

        if trio.lowlevel.in_trio_run():
            return trio.lowlevel.spawn_system_task(run, name=name)

    async def body() -> None:
        await run()

    return asyncio.create_task(body(), name=name)
