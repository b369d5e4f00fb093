"""Turns that the harness opens by itself: each is interrupted at once, and reported."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from checkrein.adapters.link import Link
from checkrein.adapters.native import TurnOpened


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTurn:
    """A turn that the harness opened by itself. It was interrupted.

    Args:
        cause: why, in the harness's words.
    """

    native_id: str
    cause: str


class ForeignTurns:
    """The foreign turns of one session, of which one may run.

    Args:
        tasks: where the interrupts run.
        seconds: how long the harness may take to end one; then its process is ended.

    Attributes:
        seen: all of them, the first one first.
        running: whether one runs.
    """

    def __init__(self, *, tasks: TaskGroup, seconds: float) -> None:
        self.seen: tuple[ForeignTurn, ...] = ()
        self.running = False
        self._tasks = tasks
        self._seconds = seconds
        self._over = anyio.Event()

    def opened(self, event: TurnOpened, link: Link | None) -> None:
        """The harness has opened one."""
        foreign = ForeignTurn(native_id=event.native_id, cause=event.cause or "no cause given")
        self.seen += (foreign,)
        self.running = True
        self._over = anyio.Event()
        if link is not None:
            self._tasks.start_soon(self._stop, link, self._over)

    def closed(self) -> None:
        """It has ended, or its process is gone, or a prompt of ours has taken its place."""
        self.running = False
        self._over.set()

    async def ended(self) -> None:
        """Wait until none runs; the interrupt, or the end of the process, sees to that."""
        if self.running:
            await self._over.wait()

    async def _stop(self, link: Link, over: anyio.Event) -> None:
        with anyio.move_on_after(self._seconds):
            with suppress(Exception):  # whatever an adapter raises: what counts is that the turn ends
                await link.connection.interrupt()
            await over.wait()
        if not over.is_set():
            link.condemn("the harness did not end a turn that it opened by itself")
