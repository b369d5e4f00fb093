"""A relay, a harness in front of it that speaks raw HTTP, and a model's host behind it; on asyncio and on trio."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream, TaskGroup

from checkrein.adapters.interface import ModelEndpoint
from checkrein.adapters.relay import SessionRelay

KEY = "sk-real-key-of-the-user-0123456789"

#: For everything here together, in seconds.
PATIENCE = 20.0


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class RawClient:
    """A harness that writes bytes and reads bytes."""

    def __init__(self, stream: SocketStream, token: str) -> None:
        self.token = token
        self.received = b""
        self._stream = stream

    async def send(self, data: bytes) -> None:
        await self._stream.send(data)

    async def ask(self, path: str = "/v1/messages", *, body: bytes = b"{}", headers: str = "") -> None:
        """Send a request with the session's token."""
        head = f"POST {path} HTTP/1.1\r\nhost: relay\r\nx-api-key: {self.token}\r\n{headers}"
        await self.send(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)

    async def read_until(self, end: bytes) -> bytes:
        """What has arrived up to and with `end`."""
        while end not in self.received:
            self.received += await self._stream.receive()
        found, _, self.received = self.received.partition(end)
        return found + end

    async def read_all(self) -> bytes:
        """Everything until the relay hangs up."""
        try:
            while True:
                self.received += await self._stream.receive()
        except anyio.EndOfStream:
            return self.received

    async def hang_up(self) -> None:
        await self._stream.aclose()


@dataclass(slots=True, kw_only=True)
class Host:
    """A model's host on loopback that does what the test says."""

    port: int
    tasks: TaskGroup
    connections: int = 0
    hung_up: anyio.Event = field(default_factory=anyio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


Conversation = Callable[[SocketStream, Host], Awaitable[None]]
OpenHost = Callable[[Conversation], AbstractAsyncContextManager[Host]]


@asynccontextmanager
async def open_host(conversation: Conversation) -> AsyncGenerator[Host]:
    """Serve each connection with `conversation`."""
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        host = Host(port=listener.extra(SocketAttribute.local_port), tasks=tasks)

        async def serve(stream: SocketStream) -> None:
            host.connections += 1
            async with stream:
                try:
                    await conversation(stream, host)
                except (anyio.BrokenResourceError, anyio.EndOfStream):
                    host.hung_up.set()

        tasks.start_soon(listener.serve, serve)
        yield host
        tasks.cancel_scope.cancel()


async def read_head(stream: SocketStream) -> bytes:
    """A request up to the end of its head, and what came with it."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += await stream.receive()
    return received


async def read_request(stream: SocketStream) -> None:
    """A whole request of `RawClient.ask`: what is left unread would turn the host's end into a reset."""
    received = await read_head(stream)
    while not received.endswith(b"{}"):
        received += await stream.receive()


@asynccontextmanager
async def open_client(base_url: str, *, environment_proxies: bool = False) -> AsyncGenerator[RawClient]:
    """A harness with one connection to a relay in front of that address; all of it within `PATIENCE`."""
    relay = SessionRelay(
        ModelEndpoint(base_url=base_url, api_key=KEY, environment_proxies=environment_proxies)
    )
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            near = await relay.start(tasks)
            port = int(near.base_url.rpartition(":")[2])
            try:
                async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                    yield RawClient(stream, near.api_key)
            finally:
                relay.stop()
