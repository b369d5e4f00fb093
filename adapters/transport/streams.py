"""The three standard streams of a harness: lines out, lines in, and a standard error that is always drained."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import anyio
from anyio.lowlevel import checkpoint

from checkrein.adapters.transport.errors import BrokenTransport, SendTimedOut
from checkrein.adapters.transport.framing import LineFramer
from checkrein.adapters.transport.pipes import ReadEnd, WriteEnd
from checkrein.adapters.transport.tap import Direction, Tap

#: how much of the standard error is kept, in bytes
STDERR_KEPT_BYTES = 64 * 1024
#: how much output is kept for a consumer that does not read while the process is being ended, in bytes
BACKLOG_BYTES = 16 * 1024 * 1024


class OutputLines:
    """The standard output as batches of lines. Nothing is read while nobody asks: the pipe is the back-pressure."""

    def __init__(self, end: ReadEnd, tap: Tap | None) -> None:
        self._end = end
        self._tap = tap
        self._framer = LineFramer()
        self._backlog: deque[list[bytes]] = deque()
        self._backlog_bytes = 0
        self._reading = anyio.Lock(fast_acquire=True)
        self._writer_gone = False
        self._ended = False

    @property
    def torn(self) -> bool:
        """Whether the output ended inside a line; that line was the last one delivered."""
        return self._framer.torn

    def writer_gone(self) -> None:
        """The process has ended: what the pipe holds now is the rest, even if a stray keeps it open."""
        self._writer_gone = True
        self._end.wake()

    async def next_batch(self) -> list[bytes] | None:
        """Wait for the lines of the next read that completes one; None at the end.

        A cancelled wait loses nothing: there is no pause between reading bytes and returning their lines.
        """
        await checkpoint()
        async with self._reading:
            while not self._backlog:
                if self._ended:
                    return None
                if (batch := await self._read()) is not None:
                    return batch
            batch = self._backlog.popleft()
            self._backlog_bytes -= sum(map(len, batch))
            return batch

    async def drain(self) -> None:
        """Keep reading for a consumer that does not, so that the process can write its last words and end."""
        while not self._ended and self._backlog_bytes < BACKLOG_BYTES:
            await checkpoint()
            async with self._reading:
                if not self._ended and (batch := await self._read()) is not None:
                    self._backlog.append(batch)
                    self._backlog_bytes += sum(map(len, batch))

    async def _read(self) -> list[bytes] | None:
        writer_gone = self._writer_gone
        data = self._end.read_now()
        if data is None and not writer_gone:
            await self._end.wait()
            return None
        if data:
            batch = self._framer.feed(data)
        else:
            self._ended = True
            last = self._framer.finish()
            batch = [] if last is None else [last]
        if self._tap is not None:
            for line in batch:
                self._tap(Direction.FROM_HARNESS, line)
        return batch or None


class InputLines:
    """The standard input: one line at a time, whole or not at all."""

    def __init__(self, end: WriteEnd, tap: Tap | None) -> None:
        self._end = end
        self._tap = tap
        self._writing = anyio.Lock(fast_acquire=True)
        self._broken = ""

    async def send(self, line: bytes, deadline_seconds: float | None) -> None:
        """Write one line with its end; see `HarnessProcess.send`."""
        line = line.removesuffix(b"\n")
        if b"\n" in line:
            raise ValueError("one line at a time: there is a line feed inside the data")
        started = False
        await checkpoint()
        with anyio.move_on_after(deadline_seconds) as scope:
            async with self._writing:
                self._check()
                left = memoryview(line + b"\n")
                try:
                    if self._tap is not None:
                        self._tap(Direction.TO_HARNESS, line)
                    while left:
                        count = self._end.write_now(left)
                        started = started or count > 0
                        left = left[count:]
                        if left:
                            await self._end.wait()
                    return
                except OSError as error:
                    self._broken = self._broken or f"the harness no longer reads its standard input ({error})"
                finally:
                    if left and started:
                        self._broken = self._broken or "an earlier line was cut in the middle"
        if scope.cancelled_caught and not started:
            raise SendTimedOut(
                f"the harness did not read its standard input within {deadline_seconds:g} s",
                advice="it is busy or stopped; try again, or end it",
            )
        self._check()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._end.closed

    def close(self) -> None:
        """Close the standard input; a send that waits is broken off."""
        self._broken = self._broken or "the standard input was closed"
        self._end.close()

    def _check(self) -> None:
        if self._broken:
            raise BrokenTransport(
                "the line was not sent", where=self._broken, advice="open the session again with its id"
            )


class ErrorTail:
    """The standard error: always drained, the last part kept, the rest counted."""

    def __init__(self, end: ReadEnd, tap: Tap | None, *, log_failure: Callable[[str], None]) -> None:
        self._end = end
        self._tap = tap
        self._framer = LineFramer(max_line_bytes=STDERR_KEPT_BYTES)
        self._kept = bytearray()
        self._log_failure = log_failure
        self._writer_gone = False
        self.total_bytes = 0
        #: set when all that the process itself wrote has been read
        self.drained = anyio.Event()

    def tail(self, max_bytes: int) -> str:
        """Return the last bytes as text; what is not UTF-8 is replaced."""
        return bytes(self._kept[-max_bytes:]).decode("utf-8", "replace") if max_bytes > 0 else ""

    def writer_gone(self) -> None:
        """The process has ended; strays that hold the pipe are still drained, lest they block."""
        self._writer_gone = True
        self._end.wake()

    async def drain(self) -> None:
        """Read until the end of the stream."""
        try:
            while True:
                writer_gone = self._writer_gone
                data = self._end.read_now()
                if data is None:
                    if writer_gone:
                        self.drained.set()
                    await self._end.wait()
                elif data:
                    self._keep(data)
                    await checkpoint()
                else:
                    last = self._framer.finish()
                    self._show([] if last is None else [last])
                    return
        finally:
            self.drained.set()

    def _keep(self, data: bytes) -> None:
        self.total_bytes += len(data)
        self._kept += data
        if len(self._kept) > 2 * STDERR_KEPT_BYTES:
            del self._kept[:-STDERR_KEPT_BYTES]
        if self._tap is not None:
            self._show(self._framer.feed(data))

    def _show(self, lines: list[bytes]) -> None:
        tap = self._tap
        if tap is None:
            return
        try:
            for line in lines:
                tap(Direction.STDERR, line)
        except Exception as error:  # the tap is the caller's code, and the drain must go on
            self._log_failure(f"the tap failed on standard error and is not called for it again: {error!r}")
            self._tap = None
