"""The events of one turn, from the reader to one consumer: a bounded deque with back-pressure."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

import anyio

from checkrein.adapters.errors import EventsTaken

T = TypeVar("T")

#: Events that may wait for a consumer before reading from the harness pauses.
BUFFERED_EVENTS = 4096


class EventStream(Generic[T]):
    """Events in order, kept from the first on until somebody reads them.

    While a consumer is reading, `room` tells the producer to wait when `bound` events are unread. Without a consumer
    nothing waits (a turn must not stall because nobody looks): the oldest beyond the bound are dropped and counted.
    `lift` ends the waiting for good, for a turn that is being interrupted.

    Args:
        bound: unread events at which the producer waits, or the oldest are dropped.
    """

    def __init__(self, bound: int = BUFFERED_EVENTS) -> None:
        self.dropped = 0
        self._bound = bound
        self._events: deque[T] = deque()
        self._taken = False
        self._closed = False
        self._lifted = False
        self._arrived = anyio.Event()
        self._drained = anyio.Event()

    def put(self, event: T) -> None:
        """Add an event; never waits."""
        self._events.append(event)
        if not self._taken and len(self._events) > self._bound:
            self._events.popleft()
            self.dropped += 1
        self._arrived.set()

    def close(self) -> None:
        """No event follows; the consumer ends after those that are there."""
        self._closed = True
        self.lift()
        self._arrived.set()

    def lift(self) -> None:
        """The producer waits no more."""
        self._lifted = True
        self._drained.set()

    def room(self) -> anyio.Event | None:
        """None while the producer may go on; else what it waits for before it asks again."""
        if not self._taken or self._lifted or len(self._events) < self._bound:
            return None
        self._drained = anyio.Event()
        return self._drained

    async def read(self) -> AsyncIterator[T]:
        """The events, from the first that is still there to the last.

        Raises:
            EventsTaken: somebody reads this stream already.
        """
        if self._taken:
            raise EventsTaken(
                "the events of this turn are read already", advice="fan out from the one reader"
            )
        self._taken = True
        try:
            while True:
                while self._events:
                    event = self._events.popleft()
                    if len(self._events) < self._bound:
                        self._drained.set()
                    yield event
                if self._closed:
                    return
                self._arrived = anyio.Event()
                await self._arrived.wait()
        finally:
            self._taken = False
            self.lift()
