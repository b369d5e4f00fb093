"""Baits: local endpoints that record whoever comes, so that a redirected harness is seen and nothing leaves."""

from __future__ import annotations

import re
import socket
import threading
from dataclasses import dataclass

#: How long a caller may take to send its head, in seconds.
_HEAD_SECONDS = 2.0

#: The most that is kept of one caller, in bytes: a head, and the beginning of a body.
_KEPT = 65536

#: Keys of both vendors, and the stand-ins that a session gets for them.
_KEY = re.compile(rb"\bsk-[\w-]{8,}")

_ANSWER = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """One caller.

    Args:
        data: what it sent first; empty for one that only connected.
    """

    data: bytes

    @property
    def first_line(self) -> str:
        """The request line."""
        return self.data.partition(b"\r\n")[0].decode("latin-1")

    @property
    def has_key(self) -> bool:
        """Whether there is something that looks like a key."""
        return _KEY.search(self.data) is not None

    def holds(self, text: str) -> bool:
        """Whether what was sent holds a text, such as a key."""
        return text.encode() in self.data


class Bait:
    """One endpoint on the loopback, that records its callers and sends each away with a 404."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        #: where it listens
        self.port = int(self._socket.getsockname()[1])
        self._caught: list[Caught] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens, as a URL without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def caught(self) -> tuple[Caught, ...]:
        """Who came so far."""
        return tuple(self._caught)

    def close(self) -> None:
        """Listen no more; returns when the last caller is recorded."""
        # Closing alone does not wake an accept() that waits.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                caller, _ = self._socket.accept()
            except OSError:
                return
            with caller:
                self._take(caller)

    def _take(self, caller: socket.socket) -> None:
        data = b""
        caller.settimeout(_HEAD_SECONDS)
        try:
            while b"\r\n\r\n" not in data and len(data) < _KEPT:
                if not (piece := caller.recv(4096)):
                    break
                data += piece
            self._caught.append(Caught(data=data))
            caller.sendall(_ANSWER)
        except OSError:
            self._caught.append(Caught(data=data))
