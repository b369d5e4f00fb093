"""Waiting until something that a harness says makes a condition true."""

from __future__ import annotations

from collections.abc import Callable

import anyio


class News:
    """Whether something new was decoded. A connection calls `came` after each batch of lines."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def came(self) -> None:
        """Wake everybody who waits; what they wait for is looked at anew."""
        news, self._event = self._event, anyio.Event()
        news.set()

    async def wait(self) -> None:
        """Wait for the next news."""
        await self._event.wait()

    async def until(self, condition: Callable[[], bool], *, seconds: float) -> bool:
        """Wait until news make `condition` true; False when `seconds` pass before."""
        with anyio.move_on_after(seconds):
            while not condition():
                await self.wait()
        return condition()
