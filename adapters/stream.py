"""The events of one turn, from the reader to one consumer: a bounded deque with back-pressure."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Generator, Sized
from contextlib import contextmanager
from typing import Generic, TypeVar

import anyio

from checkrein.adapters.errors import EventsTaken

T = TypeVar("T")

#: Events that may wait for a consumer before reading from the harness pauses.
BUFFERED_EVENTS = 4096


class EventStream(Generic[T]):
    """Events in order, kept from the first on until somebody reads them.

    While a reader exists, `room` tells the producer to wait when `bound` events are unread. Without a reader
    nothing waits (a turn must not stall because nobody looks): the oldest beyond the bound are dropped and counted.
    `lift` ends the waiting for good, for a turn that is being interrupted; `unbounded` does so for as long as somebody
    waits for what the producer has yet to bring, since that somebody may be the one who should read.

    Args:
        bound: unread events at which the producer waits, or the oldest are dropped.
    """

    def __init__(self, bound: int = BUFFERED_EVENTS) -> None:
        self.dropped = 0
        self._bound = bound
        self._events: deque[T] = deque()
        self._reader: weakref.ref[EventReader[T]] | None = None
        self._closed = False
        self._lifted = False
        self._waiters = 0
        self._is_read = False
        #: a reader waits for the next event; the producer waits for room
        self._awaited = self._held = False
        self._arrived = anyio.Event()
        self._drained = anyio.Event()

    def put(self, event: T) -> None:
        """Add an event; never waits. After `close` nothing is added."""
        if self._closed:
            return
        self._events.append(event)
        if not self._is_read and len(self._events) > self._bound:
            self._events.popleft()
            self.dropped += 1
        if self._awaited:
            self._awaited = False
            self._arrived.set()

    def close(self) -> None:
        """No event follows; the reader ends after those that are there."""
        self._closed = True
        self.lift()
        self._arrived.set()

    def lift(self) -> None:
        """The producer waits no more."""
        self._lifted = True
        self._drained.set()

    @contextmanager
    def unbounded(self) -> Generator[None]:
        """While this is open, the producer does not wait."""
        self._waiters += 1
        self._drained.set()
        try:
            yield
        finally:
            self._waiters -= 1

    def room(self) -> anyio.Event | None:
        """None while the producer may go on; else what it waits for before it asks again."""
        if not self._is_read or self._lifted or self._waiters or len(self._events) < self._bound:
            return None
        if self._drained.is_set():
            self._drained = anyio.Event()
        self._held = True
        return self._drained

    def read(self) -> EventReader[T]:
        """Read the events, from the first that is still there to the last. A reader that is dropped (the loop
        over it was left) makes room for another, which goes on where it stopped.

        Raises:
            EventsTaken: another reader is at work.
        """
        if self._is_read:
            raise EventsTaken("the events are read already", advice="fan out from the one reader")
        reader = EventReader(self, self._events)
        self._is_read = True
        self._reader = weakref.ref(reader, self._reader_dropped)
        return reader

    async def arrival(self) -> None:
        """Wait until there is an event.

        Raises:
            StopAsyncIteration: the stream is closed and everything was read.
        """
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            if self._arrived.is_set():
                self._arrived = anyio.Event()
            self._awaited = True
            await self._arrived.wait()

    def take(self) -> T:
        """The next event, which is there."""
        event = self._events.popleft()
        if self._held and len(self._events) < self._bound:
            self._held = False
            self._drained.set()
        return event

    def _reader_dropped(self, _: weakref.ref[EventReader[T]]) -> None:
        self._is_read = False
        self._held = False
        self._drained.set()


class EventReader(Generic[T]):
    """An asynchronous iterator over a stream. Made by `EventStream.read`.

    Args:
        stream: where the events come from.
        unread: its events, to see without a call whether there is one.
    """

    def __init__(self, stream: EventStream[T], unread: Sized) -> None:
        self._stream = stream
        self._unread = unread

    def __aiter__(self) -> EventReader[T]:
        return self

    async def __anext__(self) -> T:
        if not self._unread:
            await self._stream.arrival()
        return self._stream.take()
