"""The client: JSON-RPC 2.0, one message a line, on standard input and output."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from checkrein.conformance.reference.cancellation import Cancellation

RequestId = int | str

#: Codes of JSON-RPC, and of ACP for a session that does not exist.
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
)
RESOURCE_NOT_FOUND = -32002


class Incoming(msgspec.Struct, frozen=True, kw_only=True):
    """A line from the client: a request (id and method), a notification (method) or an answer (id)."""

    id: RequestId | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw = msgspec.Raw(b"null")


class Refusal(Exception):
    """Raised when a request of the client is answered with an error.

    Args:
        code: of JSON-RPC.
        message: what is wrong, in words.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Asked:
    """A request of ours that the client has not answered yet."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._result = msgspec.Raw(b"null")

    def settle(self, result: msgspec.Raw) -> None:
        """The client has answered; an error counts as no answer."""
        self._result = result
        self._over.set()

    def wait(self, cancellation: Cancellation) -> msgspec.Raw:
        """The answer.

        Raises:
            Cancelled: the turn was cancelled before.
        """
        with cancellation.stopping(self._over.set):
            self._over.wait()
        return self._result


class Client:
    """Whoever drives the agent."""

    def __init__(self, lines: BinaryIO = sys.stdin.buffer, output: BinaryIO = sys.stdout.buffer) -> None:
        self._lines = lines
        self._output = output
        self._writing = threading.Lock()
        self._last_id = 0
        self._asked: dict[RequestId, Asked] = {}

    def requests(self) -> Iterator[Incoming]:
        """What the client wants, until it closes our input; its answers are passed on to who asked."""
        for line in self._lines:
            if not line.strip():
                continue
            try:
                message = msgspec.json.decode(line, type=Incoming)
            except (msgspec.DecodeError, UnicodeDecodeError) as fault:
                self._send({"id": None, "error": {"code": PARSE_ERROR, "message": str(fault)}})
                continue
            if message.method is not None:
                yield message
            elif message.id is not None and (asked := self._asked.pop(message.id, None)) is not None:
                asked.settle(message.result)

    def notify(self, method: str, params: dict[str, object]) -> None:
        """Tell the client something."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: dict[str, object]) -> Asked:
        """Ask the client something."""
        asked = Asked()
        with self._writing:
            self._last_id += 1
            request_id = self._last_id
            self._asked[request_id] = asked
        self._send({"id": request_id, "method": method, "params": params})
        return asked

    def answer(self, request_id: RequestId, result: dict[str, object]) -> None:
        """Answer a request of the client."""
        self._send({"id": request_id, "result": result})

    def refuse(self, request_id: RequestId, refusal: Refusal) -> None:
        """Answer a request of the client with an error."""
        self._send({"id": request_id, "error": {"code": refusal.code, "message": refusal.message}})

    def _send(self, message: dict[str, object]) -> None:
        line = msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"
        with self._writing:
            self._output.write(line)
            self._output.flush()
