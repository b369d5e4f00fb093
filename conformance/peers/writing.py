"""Writing to a pipe so that the other side gets the pieces in reads of their own."""

from __future__ import annotations

import array
import fcntl
import os
import termios
import time

#: How long the other side may take to read a piece before the next is written all the same, in seconds.
READ_SECONDS = 5.0
#: How often the pipe is looked at, in seconds.
LOOK_SECONDS = 0.0005


def write_whole(fd: int, data: bytes) -> None:
    """Write all of it; waits as long as nobody reads."""
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


def wait_read(fd: int) -> None:
    """Wait until the other side has read all that was written to a pipe, so that what follows is a read of its own.

    It polls: no system call waits for an empty pipe. Linux tells at either end how much is in it; elsewhere the answer
    at the writing end is 0, and the pieces may come together.
    """
    deadline = time.monotonic() + READ_SECONDS
    unread = array.array("i", [0])
    while time.monotonic() < deadline:
        fcntl.ioctl(fd, termios.FIONREAD, unread)
        if unread[0] == 0:
            return
        time.sleep(LOOK_SECONDS)
