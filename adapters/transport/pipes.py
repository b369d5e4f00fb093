"""The driver's ends of the pipes: non-blocking, waited for by readiness, without threads and without a length limit."""

from __future__ import annotations

import os

import anyio

#: how much one read takes at most, and how much a pipe is asked to hold, in bytes
READ_BYTES = 256 * 1024


class PipeEnd:
    """One end of a pipe that this object owns and closes once."""

    __slots__ = ("_fd", "closed")

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self.closed = False

    def wake(self) -> None:
        """Let whoever waits for this end look again."""
        if not self.closed:
            anyio.notify_closing(self._fd)

    def close(self) -> None:
        """Close the descriptor; whoever waits for it wakes up and sees `closed`."""
        if not self.closed:
            self.closed = True
            anyio.notify_closing(self._fd)
            os.close(self._fd)


class ReadEnd(PipeEnd):
    """The end that is read."""

    __slots__ = ()

    def read_now(self) -> bytes | None:
        """Return what is there (at most `READ_BYTES`), `b""` at the end of the stream, None when it would block."""
        if self.closed:
            return b""
        try:
            return os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return None

    async def wait(self) -> None:
        """Wait until there may be something to read, or somebody called `wake` or `close`."""
        if not self.closed:
            try:
                await anyio.wait_readable(self._fd)
            except anyio.ClosedResourceError:
                return


class WriteEnd(PipeEnd):
    """The end that is written."""

    __slots__ = ()

    def write_now(self, data: memoryview) -> int:
        """Write what fits and return how much that was.

        Raises:
            OSError: the other end is closed (BrokenPipeError), or this one is.
        """
        if self.closed:
            raise BrokenPipeError
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0

    async def wait(self) -> None:
        """Wait until there may be room, or somebody called `wake` or `close`."""
        if not self.closed:
            try:
                await anyio.wait_writable(self._fd)
            except anyio.ClosedResourceError:
                return


def widen(fd: int) -> None:
    """Ask the kernel for a pipe of `READ_BYTES`, so that a busy harness costs fewer wake-ups; a wish, no need."""
    try:
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, READ_BYTES)
    except (AttributeError, OSError):
        # macOS has no such call; Linux refuses when the user's pipes hold too much already.
        return
