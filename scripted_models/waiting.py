"""Waiting, from any async backend, for state that another thread changes."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

T = TypeVar("T")


class Watch:
    """A lock with a "something changed" bell; used as a context manager it is the lock.

    Waiters block in a worker thread and not in the event loop, so the same code serves asyncio and trio
    while the model server lives on a loop of its own.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition(threading.RLock())

    def __enter__(self) -> None:
        self._condition.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._condition.release()

    def changed(self) -> None:
        """Wake every waiter so that it looks again; call after a change, with or without the lock held."""
        with self._condition:
            self._condition.notify_all()

    async def until(self, ready: Callable[[], T | None], timeout: float) -> T | None:
        """Wait until `ready` returns something other than None, and return that.

        `ready` runs under the lock, also in a worker thread. Returns None when `timeout` seconds are over.
        A cancelled wait leaves no thread behind.
        """
        await anyio.lowlevel.checkpoint()
        with self._condition:
            found = ready()
        if found is not None or timeout <= 0:
            return found
        deadline = time.monotonic() + timeout
        given_up = False

        def block() -> T | None:
            with self._condition:
                while not given_up:
                    value = ready()
                    left = deadline - time.monotonic()
                    if value is not None or left <= 0:
                        return value
                    self._condition.wait(left)
            return None

        try:
            # A limiter of its own: the default one (40 threads) is shared with the program under test.
            return await anyio.to_thread.run_sync(
                block, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
            )
        finally:
            with self._condition:
                given_up = True
                self._condition.notify_all()
