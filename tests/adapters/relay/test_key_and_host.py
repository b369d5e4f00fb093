"""The key goes to the one host and nowhere else, and only for who has the token."""

from __future__ import annotations

import logging

import httpx
import pytest
import respx

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.interface import ModelEndpoint
from checkrein.adapters.relay import SessionRelay, reaching_loopback
from tests.adapters.relay.conftest import KEY, open_client

pytestmark = pytest.mark.anyio

HOST = "https://model.example/api"


def plain(text: str = "{}") -> httpx.Response:
    return httpx.Response(200, text=text)


@pytest.mark.parametrize(
    ("header", "wanted"),
    [("x-api-key: {}", ("x-api-key", KEY)), ("Authorization: Bearer {}", ("authorization", f"Bearer {KEY}"))],
)
async def test_the_host_gets_the_key_where_the_token_was(header: str, wanted: tuple[str, str]) -> None:
    with respx.mock() as router:
        route = router.post(f"{HOST}/v1/messages").mock(return_value=plain())
        async with open_client(HOST) as client:
            shown = header.format(client.token)
            await client.send(
                f"POST /v1/messages HTTP/1.1\r\n{shown}\r\ncontent-length: 2\r\n\r\n{{}}".encode()
            )
            await client.read_until(b"{}")
        sent = route.calls.last.request

    assert sent.headers[wanted[0]] == wanted[1]
    assert client.token not in str(sent.headers.raw)
    assert sent.headers["host"] == "model.example"
    assert sent.content == b"{}"


@pytest.mark.parametrize(
    "header", ["", "x-api-key: sk-guess\r\n", "authorization: Bearer \r\n", f"x-api-key: {KEY}\r\n"]
)
async def test_without_the_token_nothing_goes_out(header: str) -> None:
    with respx.mock(assert_all_called=False) as router:
        route = router.route().mock(return_value=plain())
        async with open_client(HOST) as client:
            await client.send(f"POST /v1/messages HTTP/1.1\r\n{header}content-length: 2\r\n\r\n{{}}".encode())
            answer = await client.read_until(b"}}")

        assert answer.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
        assert not route.called


async def test_another_key_beside_the_token_is_left_out() -> None:
    with respx.mock() as router:
        route = router.post(f"{HOST}/v1/messages").mock(return_value=plain())
        async with open_client(HOST) as client:
            await client.ask(headers="authorization: Bearer somebody-elses\r\n")
            await client.read_until(b"{}")
        sent = route.calls.last.request

    assert "authorization" not in sent.headers
    assert sent.headers["x-api-key"] == KEY


async def test_path_and_query_arrive_byte_for_byte_behind_the_path_of_the_host() -> None:
    with respx.mock() as router:
        route = router.route(host="model.example").mock(return_value=plain())
        async with open_client(f"{HOST}/") as client:
            await client.ask("/v1/mess%61ges?beta=true&q=a%20b//c")
            await client.read_until(b"{}")

        assert route.calls.last.request.url.raw_path == b"/api/v1/mess%61ges?beta=true&q=a%20b//c"


async def test_headers_of_one_connection_stay_on_it() -> None:
    back = httpx.Response(
        200,
        headers=[
            ("connection", "x-hop"),
            ("x-hop", "1"),
            ("keep-alive", "timeout=5"),
            ("request-id", "req_1"),
        ],
        text="{}",
    )
    with respx.mock() as router:
        route = router.post(f"{HOST}/v1/messages").mock(return_value=back)
        async with open_client(HOST) as client:
            await client.ask(
                headers="connection: keep-alive, x-mine\r\nx-mine: 1\r\nte: trailers\r\nx-stays: 2\r\n"
            )
            answer = await client.read_until(b"{}")
        sent = route.calls.last.request.headers

    assert sent["x-stays"] == "2"
    assert not {"x-mine", "te", "keep-alive"} & set(sent)
    assert b"request-id: req_1" in answer
    assert b"x-hop" not in answer
    assert b"keep-alive" not in answer


async def test_an_error_of_the_host_is_passed_on_as_it_is() -> None:
    body = '{"type":"error","error":{"type":"overloaded_error"}}'
    back = httpx.Response(529, headers={"retry-after": "7", "x-should-retry": "true"}, text=body)
    with respx.mock() as router:
        router.post(f"{HOST}/v1/messages").mock(return_value=back)
        async with open_client(HOST) as client:
            await client.ask()
            answer = await client.read_until(body.encode())

    assert answer.startswith(b"HTTP/1.1 529 ")
    assert b"retry-after: 7\r\n" in answer
    assert b"x-should-retry: true\r\n" in answer


async def test_a_redirect_is_the_harnesss_to_see_and_is_not_followed() -> None:
    with respx.mock(assert_all_called=False) as router:
        router.post(f"{HOST}/v1/messages").mock(
            return_value=httpx.Response(307, headers={"location": "https://bait.example/"})
        )
        bait = router.route(host="bait.example").mock(return_value=plain())
        async with open_client(HOST) as client:
            await client.ask()
            answer = await client.read_until(b"\r\n\r\n")

        assert answer.startswith(b"HTTP/1.1 307 ")
        assert b"location: https://bait.example/" in answer
        assert not bait.called


@pytest.mark.parametrize("target", ["https://bait.example/v1/messages", "bait.example:443", "*"])
async def test_no_request_leads_to_another_host(target: str) -> None:
    with respx.mock(assert_all_called=False) as router:
        route = router.route().mock(return_value=plain())
        async with open_client(HOST) as client:
            await client.send(f"OPTIONS {target} HTTP/1.1\r\nx-api-key: {client.token}\r\n\r\n".encode())
            answer = await client.read_until(b"\r\n\r\n")

        assert answer.startswith(b"HTTP/1.1 400 ")
        assert not route.called


@pytest.mark.parametrize("data", [b"hello\r\n\r\n", b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000 + b"\r\n\r\n"])
async def test_what_is_no_request_is_refused_and_hung_up_on(data: bytes) -> None:
    async with open_client(HOST) as client:
        await client.send(data)
        answer = await client.read_until(b"\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 400 ")


async def test_no_log_and_no_error_holds_the_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with respx.mock() as router:
        router.post(f"{HOST}/v1/messages").mock(side_effect=httpx.ConnectError("no route"))
        async with open_client(HOST) as client:
            await client.ask()
            answer = await client.read_until(b"}}")

    assert answer.startswith(b"HTTP/1.1 502 ")
    assert b"no route" in answer
    assert KEY not in caplog.text
    assert KEY.encode() not in answer


@pytest.mark.parametrize(
    ("base_url", "key"),
    [
        ("model.example", KEY),
        ("ftp://model.example", KEY),
        (f"https://user:{KEY}@model.example", KEY),
        (f"https://model.example?key={KEY}", KEY),
        ("https://model.example", f"{KEY}\n"),
        ("https://model.example", ""),
    ],
)
async def test_an_address_or_key_that_can_never_work_is_refused_without_showing_the_key(
    base_url: str, key: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        SessionRelay(ModelEndpoint(base_url=base_url, api_key=key))

    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, "127.0.0.1"),
        ({"NO_PROXY": "localhost", "no_proxy": "localhost"}, "localhost,127.0.0.1"),
        ({"NO_PROXY": "127.0.0.1,x", "no_proxy": "127.0.0.1,x"}, "127.0.0.1,x"),
        ({"NO_PROXY": "*", "no_proxy": "*"}, "*"),
    ],
)
def test_a_harness_behind_a_proxy_reaches_the_relay_directly(given: dict[str, str], wanted: str) -> None:
    changed = reaching_loopback({"HTTP_PROXY": "http://proxy.example", **given})

    assert (changed["NO_PROXY"], changed["no_proxy"]) == (wanted, wanted)
    assert changed["HTTP_PROXY"] == "http://proxy.example"
