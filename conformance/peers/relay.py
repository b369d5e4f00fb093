"""The relay: the real CLI as a child, its streams passed on line by line through one misbehaviour."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

from checkrein.conformance.peers.order import Order
from checkrein.conformance.peers.writing import write_whole

READ_BYTES = 64 * 1024
STDIN, STDOUT, STDERR = 0, 1, 2

#: How long what the real CLI has said may take to be passed on after its end, in seconds: a process that it has left
#: behind may hold its pipes.
SPEAKING_SECONDS = 5.0


#: The exit status of a peer that fails at its work.
EXIT_OWN_FAULT = 70


class Lines:
    """Bytes into lines."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that these bytes complete, without their line feeds."""
        *ended, rest = data.split(b"\n")
        for piece in ended:
            yield b"".join((*self._pending, piece))
            self._pending.clear()
        self._pending.append(rest)


class Misbehaviour:
    """One way to misbehave; this one passes everything on. Lines come without their line feed.

    Args:
        order: what is asked for.
        relay: to write with.
    """

    def __init__(self, order: Order, relay: Relay) -> None:
        self.order = order
        self.relay = relay
        self._from_driver = Lines()
        self._from_harness = Lines()

    def heard(self, data: bytes) -> None:
        """What one read of the driver's output gave; nothing more is read until this returns."""
        for line in self._from_driver.feed(data):
            self.from_driver(line)

    def said(self, data: bytes) -> None:
        """What one read of the harness's output gave."""
        for line in self._from_harness.feed(data):
            self.from_harness(line)

    def from_driver(self, line: bytes) -> None:
        """A line of the driver."""
        self.relay.to_harness(line)

    def from_harness(self, line: bytes) -> None:
        """A line of the harness."""
        self.relay.to_driver(line)

    def input_ended(self) -> None:
        """The driver closed our input."""
        self.relay.close_input()

    def told_to_end(self) -> None:
        """SIGTERM came."""
        self.relay.pass_signal(signal.SIGTERM)

    def note(self, misdeed: str) -> None:
        """Keep in the record that it has misbehaved."""
        if self.order.record:
            with Path(self.order.record).open("a", encoding="utf-8") as record:
                record.write(f"{misdeed}\n")


class Relay:
    """The streams between driver and real CLI.

    Args:
        argv: the real command line.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        # Its standard error too is a pipe of its own: node makes what it inherits non-blocking, for us as well.
        self._real = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        assert self._real.stdin is not None
        assert self._real.stdout is not None
        assert self._real.stderr is not None
        self._real_input = self._real.stdin
        self._real_output = self._real.stdout.fileno()
        self._real_errors = self._real.stderr.fileno()
        self._giving_up = False
        self._to_driver = threading.RLock()
        self._to_harness = threading.RLock()

    def run(self, misbehaviour: Misbehaviour) -> int:
        """Pass on until the real CLI has ended and all it said is passed on; its exit status, or our own signal."""

        def told_to_end(_: int, __: FrameType | None) -> None:
            misbehaviour.told_to_end()

        signal.signal(signal.SIGTERM, told_to_end)
        threading.excepthook = _give_up
        threading.Thread(target=self._listen, args=(misbehaviour,), daemon=True).start()
        speaking = [
            threading.Thread(target=self._speak, args=(misbehaviour,), daemon=True),
            threading.Thread(target=self._complain, daemon=True),
        ]
        for thread in speaking:
            thread.start()
        status = self._real.wait()
        if self._giving_up:
            threading.Event().wait()  # until `end` ends the process
        for thread in speaking:
            thread.join(SPEAKING_SECONDS)
        if status < 0:
            with contextlib.suppress(OSError):  # SIGKILL cannot be given its default action: it has no other
                signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        return status

    def _listen(self, misbehaviour: Misbehaviour) -> None:
        while data := os.read(STDIN, READ_BYTES):
            misbehaviour.heard(data)
        misbehaviour.input_ended()

    def _speak(self, misbehaviour: Misbehaviour) -> None:
        while data := os.read(self._real_output, READ_BYTES):
            misbehaviour.said(data)

    def _complain(self) -> None:
        while data := os.read(self._real_errors, READ_BYTES):
            write_whole(STDERR, data)

    def to_driver(self, *lines: bytes) -> None:
        """Send whole lines, with nothing in between."""
        self.raw_to_driver(b"".join(line + b"\n" for line in lines))

    def raw_to_driver(self, *pieces: bytes, apart: Callable[[], None] | None = None) -> None:
        """Send bytes as they are, one write per piece.

        Args:
            apart: called between two pieces.
        """
        with self._to_driver, contextlib.suppress(BrokenPipeError):
            for n, piece in enumerate(pieces):
                if n and apart is not None:
                    apart()
                write_whole(STDOUT, piece)

    def to_harness(self, line: bytes) -> None:
        """Pass a line on to the real CLI, unless it has ended."""
        with self._to_harness, contextlib.suppress(OSError, ValueError):
            write_whole(self._real_input.fileno(), line + b"\n")

    def close_input(self) -> None:
        """Close the real CLI's input."""
        with self._to_harness, contextlib.suppress(OSError):
            self._real_input.close()

    def pass_signal(self, number: int) -> None:
        """Send a signal to the real CLI."""
        self._real.send_signal(number)

    def end(self, status: int, last_words: str) -> None:
        """Kill the real CLI and end with that exit status, without a farewell on the wire."""
        self._giving_up = True
        self._real.kill()
        write_whole(STDERR, f"{last_words}\n".encode())
        os._exit(status)


def _give_up(failed: threading.ExceptHookArgs) -> None:
    """A fault of the peer itself must not look like a silent harness."""
    with contextlib.suppress(OSError):
        write_whole(STDERR, f"the peer failed: {failed.exc_value!r}\n".encode())
    os._exit(EXIT_OWN_FAULT)
