"""HTTP as clients really send it: kept connections, chunked bodies, Expect, pieces, and what is not HTTP."""

from __future__ import annotations

import gzip
import json

import anyio
import anyio.abc
import httpx2
import pytest

from checkrein.scripted_models import ModelServer, ModelSession, Script, say
from tests.scripted_models.test_strictness import departures
from tests.scripted_models.wire import WIRES, Wire

pytestmark = pytest.mark.anyio


class RawClient:
    """A TCP connection on which a test writes bytes and reads answers."""

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self._stream = stream
        self._read = b""

    async def send(self, data: bytes) -> None:
        await self._stream.send(data)

    async def until(self, mark: bytes) -> bytes:
        """Read up to and with `mark`."""
        with anyio.fail_after(10):
            while mark not in self._read:
                self._read += await self._stream.receive()
        found, _, self._read = self._read.partition(mark)
        return found + mark

    async def end(self) -> bytes:
        """Read until the server closes the connection."""
        with anyio.fail_after(10):
            async for data in self._stream:
                self._read += data
        return self._read


def script(times: int = 1) -> Script:
    made = Script()
    made.main([say("Hello.")], times=times)
    return made


def head(session: ModelSession, wire: Wire, *lines: str, version: str = "1.1") -> bytes:
    path = wire.url(session).removeprefix("http://127.0.0.1").partition("/")[2]
    return "\r\n".join([f"POST /{path} HTTP/{version}", "host: x", *lines, "", ""]).encode()


def body(wire: Wire) -> bytes:
    return json.dumps(wire.body(wire.user("hi"))).encode()


async def connect(server: ModelServer) -> RawClient:
    return RawClient(await anyio.connect_tcp("127.0.0.1", server.port))


async def test_a_connection_is_kept_for_the_next_request(server: ModelServer, wire: Wire) -> None:
    with server.open_session(script(2), wire.profile) as session:
        client = await connect(server)
        for _ in range(2):
            await client.send(head(session, wire, f"content-length: {len(body(wire))}") + body(wire))
            answer = await client.until(b"\r\n0\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"transfer-encoding: chunked" in answer


async def test_two_requests_in_one_write_are_answered_in_order(server: ModelServer, wire: Wire) -> None:
    with server.open_session(script(2), wire.profile) as session:
        client = await connect(server)
        one = head(session, wire, f"content-length: {len(body(wire))}") + body(wire)
        await client.send(one + one)
        for number in (b"0001", b"0002"):
            assert number in await client.until(b"\r\n0\r\n\r\n")


async def test_a_chunked_request_in_small_pieces_is_read_whole(server: ModelServer, wire: Wire) -> None:
    with server.open_session(script(), wire.profile) as session:
        client = await connect(server)
        whole = body(wire)
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (whole[:7], whole[7:]))
        sent = head(session, wire, "transfer-encoding: chunked") + chunks + b"0\r\n\r\n"
        for start in range(0, len(sent), 50):
            await client.send(sent[start : start + 50])
        await client.until(b"\r\n0\r\n\r\n")
        assert session.requests[0].view.user_texts == ("hi",)


async def test_a_client_that_expects_to_be_told_to_continue_is_told(server: ModelServer, wire: Wire) -> None:
    with server.open_session(script(), wire.profile) as session:
        client = await connect(server)
        await client.send(head(session, wire, f"content-length: {len(body(wire))}", "expect: 100-continue"))
        assert await client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(body(wire))
        await client.until(b"\r\n0\r\n\r\n")


async def test_an_http_1_0_client_gets_an_unchunked_answer_that_ends_with_the_connection(
    server: ModelServer, wire: Wire
) -> None:
    with server.open_session(script(), wire.profile) as session:
        client = await connect(server)
        await client.send(
            head(session, wire, f"content-length: {len(body(wire))}", version="1.0") + body(wire)
        )
        answer = await client.end()
    assert b"transfer-encoding" not in answer
    assert answer.endswith((b"}\n\n", b"data: [DONE]\n\n"))


async def test_a_client_that_asks_for_it_has_its_connection_closed(server: ModelServer, wire: Wire) -> None:
    with server.open_session(script(), wire.profile) as session:
        client = await connect(server)
        await client.send(
            head(session, wire, f"content-length: {len(body(wire))}", "connection: close") + body(wire)
        )
        assert (await client.end()).endswith(b"\r\n0\r\n\r\n")


async def test_a_compressed_request_is_refused_in_words(server: ModelServer, wire: Wire) -> None:
    session = server.open_session(Script(), wire.profile)
    async with httpx2.AsyncClient(trust_env=False) as client:
        answer = await client.post(
            wire.url(session), content=gzip.compress(body(wire)), headers={"content-encoding": "gzip"}
        )
    assert answer.status_code == 415
    assert "'gzip' of a request body is not supported" in answer.json()["error"]["message"]
    assert departures(session) == ["bad_request"]


async def test_what_is_not_http_is_answered_400_and_hung_up(server: ModelServer) -> None:
    client = await connect(server)
    await client.send(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
    assert (await client.end()).startswith(b"HTTP/1.1 400 ")


async def test_a_websocket_attempt_is_answered_like_any_unknown_path(server: ModelServer) -> None:
    wire = WIRES["openai-responses"]
    with server.open_session(Script(), wire.profile) as session:
        client = await connect(server)
        lines = ("connection: upgrade", "upgrade: websocket", "sec-websocket-key: x")
        await client.send(head(session, wire, *lines).replace(b"POST", b"GET", 1))
        answer = await client.end()
    assert answer.startswith(b"HTTP/1.1 404 Not Found\r\n")


async def test_a_large_request_is_read_whole(server: ModelServer, wire: Wire) -> None:
    text = "x" * 3_000_000
    with server.open_session(script(), wire.profile) as session:
        async with httpx2.AsyncClient(timeout=20, trust_env=False) as client:
            await client.post(wire.url(session), json=wire.body(wire.user(text)))
        assert session.requests[0].view.count("x") == len(text)
