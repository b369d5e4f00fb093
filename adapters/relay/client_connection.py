"""One connection from a harness: HTTP/1.1 requests in, answers out, and an exact notice when the harness hangs up.

Bodies are streamed both ways. What is read ahead is bounded, so that a slow model slows the harness down and fills
nothing here.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field

import anyio
import httptools
from anyio.abc import SocketAttribute, SocketStream

#: How much of a request is read before somebody takes it, in bytes.
READ_AHEAD = 262_144

#: How long the head of a request may be, in bytes; the harnesses' heads have about 1,500.
HEAD_BYTES = 65_536

Headers = list[tuple[bytes, bytes]]


class HeadTooLong(Exception):
    """Raised when the head of a request is longer than `HEAD_BYTES`."""


@dataclass(slots=True, kw_only=True, eq=False)
class ClientRequest:
    """One request as received.

    Args:
        method: such as `POST`.
        target: path and query, byte for byte.
        headers: names in lower case, in the order of the wire.
        keep_alive: the connection may be used again.
        chunked_answers: the client understands them (HTTP/1.1).
        complete: the body was received to its end.
    """

    method: bytes = b""
    target: bytes = b""
    headers: Headers = field(default_factory=list[tuple[bytes, bytes]])
    keep_alive: bool = True
    chunked_answers: bool = True
    complete: bool = False

    def values(self, name: bytes) -> list[bytes]:
        """The values of one header."""
        return [value for each, value in self.headers if each == name]


class ClientConnection:
    """Parses what arrives; one answer at a time goes back.

    Args:
        stream: to the harness.
    """

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self._parser = httptools.HttpRequestParser(self)
        self._incoming = ClientRequest()
        self._head_bytes = 0
        self._requests: deque[ClientRequest] = deque()
        self._pieces: deque[tuple[ClientRequest, bytes]] = deque()
        self._waiting_bytes = 0
        self._news = anyio.Event()
        self._room = anyio.Event()
        self._broken = b""

    async def serve(self, answer: Callable[[ClientRequest, ClientAnswer], Awaitable[None]]) -> None:
        """Answer requests one after the other until either side hangs up; a hang-up cancels `answer` at once."""
        async with self._stream, anyio.create_task_group() as tasks:

            async def read() -> None:
                await self._read()
                if not self._broken:
                    tasks.cancel_scope.cancel()

            tasks.start_soon(read)
            try:
                while (request := await self._next_request()) is not None:
                    reply = ClientAnswer(self._stream, request)
                    await answer(request, reply)
                    if reply.closing or not request.complete:
                        break
                    self._forget_body(request)
                else:
                    await self._stream.send(self._broken)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass  # the harness is gone; nobody waits for this answer
            tasks.cancel_scope.cancel()

    async def body(self, request: ClientRequest) -> AsyncIterator[bytes]:
        """The body of the request that is being answered, piece by piece as it arrives.

        Raises:
            BrokenResourceError: what came instead of the rest is no HTTP.
        """
        while True:
            while self._pieces and self._pieces[0][0] is request:
                yield self._take_piece()
            if request.complete:
                return
            if self._broken:
                raise anyio.BrokenResourceError
            await self._wait_for_news()

    def _take_piece(self) -> bytes:
        piece = self._pieces.popleft()[1]
        self._waiting_bytes -= len(piece)
        self._room.set()
        return piece

    def _forget_body(self, request: ClientRequest) -> None:
        while self._pieces and self._pieces[0][0] is request:
            self._take_piece()

    async def _next_request(self) -> ClientRequest | None:
        while not self._requests:
            if self._broken:
                return None
            await self._wait_for_news()
        return self._requests.popleft()

    async def _wait_for_news(self) -> None:
        self._news = anyio.Event()
        await self._news.wait()

    async def _read(self) -> None:
        """Read until the harness hangs up, or says what is no HTTP."""
        while True:
            while self._waiting_bytes > READ_AHEAD:
                self._room = anyio.Event()
                await self._room.wait()
            try:
                data = await self._stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade:
                pass  # it is answered like any other request, and the connection is closed
            except (httptools.HttpParserError, HeadTooLong):
                self._broken = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            self._news.set()
            if self._broken:
                return

    # What the parser calls

    def on_message_begin(self) -> None:
        """A request begins."""
        self._incoming = ClientRequest()
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        """A piece of its target."""
        self._count(len(url))
        self._incoming.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of its headers."""
        self._count(len(name) + len(value))
        self._incoming.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Its head is there: it can be answered."""
        request = self._incoming
        request.method = self._parser.get_method()
        request.keep_alive = self._parser.should_keep_alive() and not self._parser.should_upgrade()
        request.chunked_answers = self._parser.get_http_version() != "1.0"
        self._requests.append(request)

    def on_body(self, body: bytes) -> None:
        """A piece of its body."""
        self._pieces.append((self._incoming, body))
        self._waiting_bytes += len(body)

    def on_message_complete(self) -> None:
        """Its body is there."""
        self._incoming.complete = True

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES:
            raise HeadTooLong


class ClientAnswer:
    """Writes the answer to one request.

    Attributes:
        begun: its head was sent.
        closing: the connection cannot be used again.
    """

    def __init__(self, stream: SocketStream, request: ClientRequest) -> None:
        self.begun = False
        self.closing = not request.keep_alive
        self._stream = stream
        self._request = request
        self._chunked = False

    async def go_on(self) -> None:
        """Let a client that waits for it send the body (`Expect: 100-continue`)."""
        await self._stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def whole(self, status: bytes, headers: Headers, body: bytes) -> None:
        """Send an answer of one piece."""
        await self.begin(status, [*headers, (b"content-length", b"%d" % len(body))], has_body=True)
        await self.send(body)

    async def begin(self, status: bytes, headers: Iterable[tuple[bytes, bytes]], *, has_body: bool) -> None:
        """Send the head.

        Args:
            status: number and phrase.
            headers: without those of the connection itself.
            has_body: pieces follow; without a `content-length` they are framed here.
        """
        self.begun = True
        lines = [b"%b: %b" % header for header in headers]
        if has_body and not any(name.lower() == b"content-length" for name, _ in headers):
            if self._request.chunked_answers:
                self._chunked = True
                lines.append(b"transfer-encoding: chunked")
            else:
                self.closing = True
        if self.closing:
            lines.append(b"connection: close")
        await self._stream.send(b"\r\n".join((b"HTTP/1.1 " + status, *lines)) + b"\r\n\r\n")

    async def send(self, piece: bytes) -> None:
        """Send a piece of the body."""
        if piece:
            await self._stream.send(b"%x\r\n%b\r\n" % (len(piece), piece) if self._chunked else piece)

    async def end(self) -> None:
        """End the body in good order."""
        if self._chunked:
            await self._stream.send(b"0\r\n\r\n")

    def cut(self, *, reset: bool) -> None:
        """End the connection in the middle, as the model's host did.

        Args:
            reset: so that the client sees a reset, not an end.
        """
        self.closing = True
        if reset:
            raw: socket.socket = self._stream.extra(SocketAttribute.raw_socket)
            # Zero linger makes the kernel send RST instead of FIN when the socket is closed.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
