"""Calls to a harness that wait for an answer: paired by id, each with a deadline, all failed when it dies."""

from __future__ import annotations

from typing import Generic, TypeVar

import anyio

from checkrein.adapters.errors import CallExpired

T = TypeVar("T")


class _Call(Generic[T]):
    __slots__ = ("answer", "done", "error")

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.answer: T | None = None
        self.error: Exception | None = None


class PendingCalls(Generic[T]):
    """The calls of one connection that have no answer yet.

    Args:
        harness: name for error messages.
    """

    def __init__(self, harness: str) -> None:
        self._harness = harness
        self._calls: dict[str, _Call[T]] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def expect(self, call_id: str) -> None:
        """Note that `call_id` is about to be sent; do this before sending, so that no answer can come too early."""
        if call_id in self._calls:
            raise ValueError(f"call id {call_id!r} is in use")
        self._calls[call_id] = _Call()

    def settle(self, call_id: str, answer: T) -> bool:
        """Give the answer to a waiting call; False when nobody waits for that id."""
        call = self._calls.get(call_id)
        if call is None:
            return False
        call.answer = answer
        call.done.set()
        return True

    def fail_all(self, error: Exception) -> None:
        """Every waiting call raises `error` now."""
        for call in self._calls.values():
            call.error = error
            call.done.set()

    async def wait(self, call_id: str, *, what: str, seconds: float) -> T:
        """The answer to a call that was noted with `expect`.

        Raises:
            CallExpired: no answer within `seconds`.
        """
        call = self._calls[call_id]
        try:
            with anyio.move_on_after(seconds):
                await call.done.wait()
        finally:
            del self._calls[call_id]
        if call.error is not None:
            raise call.error
        if not call.done.is_set():
            raise CallExpired(
                f"{self._harness} did not answer {what} within {seconds:g} s",
                advice="the harness may be stuck; interrupt the turn, the ladder ends its process",
            )
        answer = call.answer
        assert answer is not None  # settled without error: the answer was set in the same step
        return answer
