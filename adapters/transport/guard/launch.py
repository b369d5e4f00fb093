"""The launch order, and turning a new child into the harness."""

# It runs without the rest of the package around it, so there is no absolute name to import from.
# ruff: noqa: TID252

from __future__ import annotations

import ctypes
import os
import signal

from .table import LINUX

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if (
        libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
        != 0
    ):
        raise OSError(ctypes.get_errno(), "prctl")


class Order:
    """What to start: fields of bytes, so that names and arguments of any encoding pass unchanged."""

    __slots__ = ("argv", "cwd", "environment", "executable")

    def __init__(self, fields: list[bytes]) -> None:
        self.cwd, self.executable = fields[0], fields[1]
        count = int(fields[2])
        self.argv = fields[3 : 3 + count]
        self.environment: dict[bytes, bytes] = {}
        for entry in fields[3 + count :]:
            name, _, value = entry.partition(b"=")
            self.environment[name] = value


def read_exactly(fd: int, size: int) -> bytes:
    pieces: list[bytes] = []
    while size:
        piece = os.read(fd, min(size, 1 << 16))
        if not piece:
            raise EOFError
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def read_order(fd: int) -> Order:
    """Read the launch order: a count, then so many fields, each with its length in front (4 bytes, big-endian)."""
    count = int.from_bytes(read_exactly(fd, 4), "big")
    return Order([read_exactly(fd, int.from_bytes(read_exactly(fd, 4), "big")) for _ in range(count)])


def become_subreaper() -> None:
    """From now on every orphan below this process becomes its child (Linux)."""
    if LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)


def become_harness(order: Order, failures: int, guard: int) -> None:
    """In the new child: turn into the harness, or report why not. Never returns."""
    stage = b"exec"
    try:
        os.setsid()
        if LINUX:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != guard:
                os._exit(127)
        for number in range(1, signal.NSIG):
            try:
                signal.signal(number, signal.SIG_DFL)
            except (OSError, ValueError):
                continue  # SIGKILL, SIGSTOP, and those that the C library keeps for itself
        stage = b"chdir"
        os.chdir(order.cwd)
        stage = b"exec"
        os.execve(order.executable, order.argv, order.environment)
    except OSError as error:
        os.write(failures, b"%s %d" % (stage, error.errno or 0))
    finally:
        os._exit(127)
