"""Both ways as it comes: no piece waits for the next, and whoever hangs up is hung up on behind the relay, too."""

from __future__ import annotations

import socket
import struct

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from tests.adapters.relay.conftest import Host, open_client, open_host, read_head, read_request

pytestmark = pytest.mark.anyio

EVENTS_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def piece(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def test_an_event_is_passed_on_before_the_next_one_is_there() -> None:
    gate = anyio.Event()

    async def conversation(stream: SocketStream, host: Host) -> None:
        await read_head(stream)
        await stream.send(EVENTS_HEAD + piece(b"data: one\n\n"))
        await gate.wait()
        await stream.send(piece(b"data: two\n\n") + b"0\r\n\r\n")
        await read_head(stream)

    async with open_host(conversation) as host, open_client(host.url) as client:
        await client.ask()
        first = await client.read_until(b"data: one\n\n")
        gate.set()
        rest = await client.read_until(b"0\r\n\r\n")

    assert b"content-type: text/event-stream" in first
    assert b"data: two" not in first
    assert b"data: two\n\n" in rest


async def test_a_body_is_passed_on_before_its_end_is_there() -> None:
    half_seen = anyio.Event()

    async def conversation(stream: SocketStream, host: Host) -> None:
        received = await read_head(stream)
        while not received.endswith(b"half"):
            received += await stream.receive()
        half_seen.set()
        while not received.endswith(b"whole"):
            received += await stream.receive()
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await read_head(stream)

    async with open_host(conversation) as host, open_client(host.url) as client:
        head = f"POST / HTTP/1.1\r\nx-api-key: {client.token}\r\ncontent-length: 9\r\n\r\n"
        await client.send(head.encode() + b"half")
        await half_seen.wait()
        await client.send(b"whole")
        answer = await client.read_until(b"ok")

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


async def test_a_body_of_many_megabytes_arrives_whole() -> None:
    body = b"0123456789abcdef" * 500_000

    async def conversation(stream: SocketStream, host: Host) -> None:
        received = await read_head(stream)
        received = received.partition(b"\r\n\r\n")[2]
        while len(received) < len(body):
            received += await stream.receive()
        await stream.send(
            b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n" + (b"same" if received == body else b"diff")
        )
        await read_head(stream)

    async with open_host(conversation) as host, open_client(host.url) as client:
        await client.ask(body=body)
        answer = await client.read_until(b"\r\n\r\n") + await client.read_until(b"me")

    assert answer.endswith(b"same")


async def test_a_connection_serves_one_request_after_the_other() -> None:
    async def conversation(stream: SocketStream, host: Host) -> None:
        await read_head(stream)
        await stream.send(b"HTTP/1.1 204 No Content\r\n\r\n")
        for _ in range(2):
            await read_head(stream)
            await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nnumber")
        await read_head(stream)

    async with open_host(conversation) as host, open_client(host.url) as client:
        await client.ask(body=b"")
        nothing = await client.read_until(b"\r\n\r\n")
        for _ in range(2):
            await client.ask(body=b"")
            await client.read_until(b"number")

        assert nothing.startswith(b"HTTP/1.1 204 No Content\r\n")
        assert host.connections == 1


@pytest.mark.parametrize("begun", [False, True], ids=["before the first byte", "in the middle"])
async def test_a_harness_that_hangs_up_ends_the_request_at_the_host(begun: bool) -> None:
    asked = anyio.Event()

    async def conversation(stream: SocketStream, host: Host) -> None:
        await read_head(stream)
        if begun:
            await stream.send(EVENTS_HEAD + piece(b"data: one\n\n"))
        asked.set()
        while True:  # ends by an error when the relay hangs up
            await stream.receive()

    async with open_host(conversation) as host, open_client(host.url) as client:
        await client.ask()
        await asked.wait()
        if begun:
            await client.read_until(b"data: one\n\n")
        await client.hang_up()
        await host.hung_up.wait()


async def test_a_host_that_ends_in_the_middle_is_seen_to_end_in_the_middle() -> None:
    async def conversation(stream: SocketStream, host: Host) -> None:
        await read_request(stream)
        await stream.send(EVENTS_HEAD + piece(b"data: one\n\n"))

    async with open_host(conversation) as host, open_client(host.url) as client:
        await client.ask()
        answer = await client.read_all()

    assert b"data: one" in answer
    assert not answer.endswith(b"0\r\n\r\n")


async def test_a_host_that_resets_is_seen_to_reset() -> None:
    seen = anyio.Event()

    async def conversation(stream: SocketStream, host: Host) -> None:
        await read_request(stream)
        await stream.send(EVENTS_HEAD + piece(b"data: one\n\n"))
        await seen.wait()
        raw: socket.socket = stream.extra(SocketAttribute.raw_socket)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async with open_host(conversation) as host, open_client(host.url) as client:
        await client.ask()
        await client.read_until(b"data: one\n\n")
        seen.set()
        with pytest.raises(anyio.BrokenResourceError):
            await client.read_all()


async def test_a_host_that_hangs_up_unanswered_is_seen_to_hang_up() -> None:
    async def conversation(stream: SocketStream, host: Host) -> None:
        await read_request(stream)

    async with open_host(conversation) as host, open_client(host.url) as client:
        await client.ask()

        assert await client.read_all() == b""


async def test_a_client_that_waits_for_leave_to_send_its_body_gets_it() -> None:
    async def conversation(stream: SocketStream, host: Host) -> None:
        received = await read_head(stream)
        while not received.endswith(b"{}"):
            received += await stream.receive()
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await read_head(stream)

    async with open_host(conversation) as host, open_client(host.url) as client:
        head = f"POST / HTTP/1.1\r\nx-api-key: {client.token}\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"
        await client.send(head.encode())
        await client.read_until(b"HTTP/1.1 100 Continue\r\n\r\n")
        await client.send(b"{}")

        assert (await client.read_until(b"ok")).startswith(b"HTTP/1.1 200 OK\r\n")


async def test_proxies_of_the_environment_are_used_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def as_host(stream: SocketStream, host: Host) -> None:
        await read_head(stream)
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhost")
        await read_head(stream)

    async def as_proxy(stream: SocketStream, host: Host) -> None:
        await read_head(stream)
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nproxy")
        await read_head(stream)

    answers: list[bytes] = []
    async with open_host(as_host) as host, open_host(as_proxy) as proxy:
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        for asked in (False, True):
            async with open_client(host.url, environment_proxies=asked) as client:
                await client.ask()
                head = await client.read_until(b"\r\n\r\n")
                answers.append(await client.read_until(b"y" if asked else b"t"))
                assert head.startswith(b"HTTP/1.1 200 OK\r\n")

    assert answers == [b"host", b"proxy"]
