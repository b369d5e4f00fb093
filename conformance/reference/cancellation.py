"""Cancelling a turn: whatever it waits for is stopped, and the turn learns of it at its next step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


class Cancelled(Exception):
    """Raised in the thread of a turn that was cancelled."""


class Cancellation:
    """Of one turn. `cancel` is called by the thread that reads, everything else by the turn's own."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._stops: list[Callable[[], None]] = []

    def cancel(self) -> None:
        """Stop what the turn waits for, and all that it begins later."""
        with self._lock:
            self._cancelled.set()
            for stop in self._stops:
                stop()

    def check(self) -> None:
        """Go on only when the turn was not cancelled.

        Raises:
            Cancelled: it was.
        """
        if self._cancelled.is_set():
            raise Cancelled

    def wait(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            Cancelled: the turn was cancelled meanwhile.
        """
        if self._cancelled.wait(seconds):
            raise Cancelled

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Generator[None]:
        """Within the block, a cancellation calls `stop`, which ends what the block waits for.

        Raises:
            Cancelled: the turn was cancelled; whatever went wrong in the block by that is not raised.
        """
        with self._lock:
            self.check()
            self._stops.append(stop)
        try:
            yield
        except Exception:
            self.check()
            raise
        finally:
            with self._lock:
                self._stops.remove(stop)
        self.check()
