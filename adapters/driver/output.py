"""An output that somebody may have stopped reading: it is written in a thread, so that ctrl-c still counts."""

from __future__ import annotations

import os
import queue
import threading
from contextlib import suppress
from typing import TextIO

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

#: How much may wait to be written before whoever brings more has to wait, in bytes.
WAITING_BYTES = 64 * 1024


class Output:
    """Writes text to a file; a pipe that is full blocks nobody but the thread that writes.

    A file without a descriptor (a text in memory) is written at once.

    Args:
        out: where to write.

    Attributes:
        gone: set when the output takes no more (a closed pipe, a terminal that hung up); nothing is written then.
    """

    def __init__(self, out: TextIO) -> None:
        self.gone = anyio.Event()
        self._out = out
        self._encoding = out.encoding or "utf-8"
        self._queue: queue.SimpleQueue[bytes | None] | None = None
        self._waiting_bytes = 0
        self._hurried = False
        self._news = anyio.Event()
        with suppress(OSError):  # what io raises where there is no descriptor is an OSError
            self._begin(out.fileno())

    def _begin(self, fd: int) -> None:
        self._out.flush()
        self._queue = queue.SimpleQueue()
        token = current_token()
        waiting = self._queue

        def write() -> None:
            while (data := waiting.get()) is not None:
                failed = False
                try:
                    left = memoryview(data)
                    while left:
                        left = left[os.write(fd, left) :]
                except OSError:
                    failed = True
                try:
                    from_thread.run_sync(self._written, len(data), failed, token=token)
                except RuntimeError:
                    return  # the event loop has ended
                if failed:
                    return
            with suppress(RuntimeError):
                from_thread.run_sync(self._written, 0, False, token=token)

        # A daemon: a write that nobody reads must not keep the program from ending.
        threading.Thread(target=write, name="checkrein output", daemon=True).start()

    def _written(self, count: int, failed: bool) -> None:
        self._waiting_bytes -= count
        if failed:
            self.gone.set()
        news, self._news = self._news, anyio.Event()
        news.set()

    def write(self, text: str) -> None:
        """Write a text, now or as soon as it is read; characters that the encoding lacks are escaped."""
        if self.gone.is_set():
            return
        data = text.encode(self._encoding, "backslashreplace")
        if self._queue is not None:
            self._waiting_bytes += len(data)
            self._queue.put(data)
            return
        try:
            self._out.write(data.decode(self._encoding))
            self._out.flush()
        except OSError:
            self.gone.set()

    async def room(self) -> None:
        """Wait while much is still to be written."""
        while not self._hurried and self._waiting_bytes > WAITING_BYTES and not self.gone.is_set():
            await self._news.wait()

    def hurry(self) -> None:
        """Nobody waits for room from now on, whatever is still to be written."""
        self._hurried = True
        self._news.set()

    async def written(self) -> None:
        """Wait until all is written, or the output is gone."""
        while self._waiting_bytes > 0 and not self.gone.is_set():
            await self._news.wait()
