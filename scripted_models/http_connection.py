"""One HTTP/1.1 connection: keep-alive, chunked bodies both ways, and an exact notice when the client hangs up."""

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import cast

import httptools


@dataclass(slots=True, kw_only=True)
class HttpRequest:
    """One request as received; header names are in lower case."""

    method: str = ""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytearray = field(default_factory=bytearray)
    keep_alive: bool = True
    http_1_0: bool = False


Handler = Callable[[HttpRequest, "HttpResponse"], Awaitable[None]]


class HttpResponse:
    """Writes the answer to one request."""

    def __init__(self, connection: "HttpConnection", request: HttpRequest) -> None:
        self.connection = connection
        self._request = request
        self._chunked = False
        self.started = False
        self.closing = not request.keep_alive

    @property
    def client_gone(self) -> bool:
        """Whether the client has closed the connection."""
        return self.connection.gone

    async def plain(
        self, status: int, body: bytes, *, headers: Mapping[str, str] | None = None, sent: int | None = None
    ) -> None:
        """Send a whole answer; with `sent`, only that many bytes of the body although all are announced."""
        given = {"content-type": "application/json", **(headers or {}), "content-length": str(len(body))}
        self.started = True
        shown = b"" if self._request.method == "HEAD" else body if sent is None else body[:sent]
        await self.connection.write(self._head(status, given) + shown)

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of a streamed answer."""
        self.started = True
        self._chunked = not self._request.http_1_0
        if not self._chunked:
            self.closing = True
        given = {**headers, "transfer-encoding": "chunked"} if self._chunked else dict(headers)
        await self.connection.write(self._head(status, given))

    async def send(self, data: bytes) -> None:
        """Send a piece of a streamed answer."""
        if data:
            await self.connection.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    async def end(self) -> None:
        """End a streamed answer in good order."""
        if self._chunked:
            await self.connection.write(b"0\r\n\r\n")

    def reset(self) -> None:
        """Break the connection with a TCP reset."""
        self.connection.reset()

    def _head(self, status: int, headers: Mapping[str, str]) -> bytes:
        try:
            phrase = HTTPStatus(status).phrase
        except ValueError:
            phrase = "Scripted"
        lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
        if self.closing:
            lines.append("connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class HttpConnection(asyncio.Protocol):
    """Parses requests and answers them one after the other with `handle`; cancels it if the client hangs up."""

    def __init__(self, handle: Handler, connections: set["HttpConnection"]) -> None:
        self._handle = handle
        self._connections = connections
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._request = HttpRequest()
        self._waiting: deque[HttpRequest] = deque()
        self._serving: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        self._connections.discard(self)
        self._writable.set()
        if self._serving is not None:
            self._serving.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Codex with its built-in provider first tries a WebSocket; it is answered like any unknown path.
            pass
        except httptools.HttpParserError:
            if self._transport is not None:
                self._transport.write(
                    b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
                )
                self._transport.close()

    def on_message_begin(self) -> None:
        self._request = HttpRequest()

    def on_url(self, url: bytes) -> None:
        self._request.path += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._request.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        request = self._request
        request.method = self._parser.get_method().decode("latin-1")
        request.keep_alive = self._parser.should_keep_alive() and not self._parser.should_upgrade()
        request.http_1_0 = self._parser.get_http_version() == "1.0"
        if request.headers.get("expect", "").lower() == "100-continue" and self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._request.body += body

    def on_message_complete(self) -> None:
        self._waiting.append(self._request)
        if self._serving is None:
            self._serving = asyncio.get_running_loop().create_task(self._serve())

    async def write(self, data: bytes) -> None:
        """Hand bytes to the transport, and wait while its buffer is full."""
        if self._transport is not None and not self.gone:
            self._transport.write(data)
        await self._writable.wait()

    def reset(self) -> None:
        """Break the connection so that the client sees a reset."""
        if self._transport is None:
            return
        sock: socket.socket | None = self._transport.get_extra_info("socket")
        if sock is not None:
            # Zero linger makes the kernel send RST instead of FIN.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def drop(self) -> None:
        """Close the connection from our side."""
        if self._serving is not None:
            self._serving.cancel()
        if self._transport is not None:
            self._transport.abort()

    async def _serve(self) -> None:
        try:
            while self._waiting:
                request = self._waiting.popleft()
                response = HttpResponse(self, request)
                await self._handle(request, response)
                if response.closing:
                    if self._transport is not None:
                        self._transport.close()
                    return
        finally:
            self._serving = None
