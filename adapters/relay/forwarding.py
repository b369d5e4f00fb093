"""From one request of a harness to the model's host and back, nothing changed but key and connection headers."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus

import anyio
import httpx
import msgspec

from checkrein.adapters.relay.client_connection import ClientAnswer, ClientConnection, ClientRequest, Headers
from checkrein.adapters.relay.credentials import SessionToken

#: Of one connection only, by RFC 9110 section 7.6.1 and by custom.
HOP_BY_HOP = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    }
)

#: Answers that have no body, whatever their headers say.
_WITHOUT_BODY = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})


class Forwarding:
    """Where the requests of a session go.

    Args:
        client: speaks with the host.
        base: the host's address, with the path in front of each request's own.
        key: the user's.
        token: what the harness must show.
    """

    def __init__(self, *, client: httpx.AsyncClient, base: httpx.URL, key: str, token: SessionToken) -> None:
        self._client = client
        self._base = base
        self._prefix = base.raw_path.rstrip(b"/")
        self._key = key.encode()
        self._token = token

    async def answer(
        self, connection: ClientConnection, request: ClientRequest, answer: ClientAnswer
    ) -> None:
        """Pass a request on and its answer back; refuse one without the token."""
        try:
            await self._answer(connection, request, answer)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise  # the harness is gone
        except Exception as fault:
            # What a request can do to the libraries is not to end the whole session; its text may hold the key.
            if answer.begun:
                answer.cut(reset=True)
            else:
                await _refuse(
                    answer, b"502 Bad Gateway", f"the relay could not pass it on: {type(fault).__name__}"
                )

    async def _answer(
        self, connection: ClientConnection, request: ClientRequest, answer: ClientAnswer
    ) -> None:
        headers = self._token.exchanged(request, self._key)
        if headers is None:
            await _refuse(
                answer, b"401 Unauthorized", "this relay serves one session, by that session's token"
            )
            return
        if not request.target.startswith(b"/"):
            await _refuse(answer, b"400 Bad Request", "this relay leads to one host; ask for a path")
            return
        if any(value.lower() == b"100-continue" for value in request.values(b"expect")):
            await answer.go_on()
        onward = httpx.Request(
            request.method.decode("latin-1"),
            self._base.copy_with(raw_path=self._prefix + request.target),
            headers=_end_to_end(headers, without={b"host", b"expect"}),
            content=connection.body(request) if _has_body(request) else None,
        )
        try:
            response = await self._client.send(onward, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as fault:
            await _refuse(answer, b"502 Bad Gateway", f"the model's host cannot be reached: {fault}")
            return
        except httpx.TransportError as fault:
            answer.cut(reset=isinstance(fault, httpx.ReadError | httpx.WriteError))
            return
        try:
            await _pass_back(request, response, answer)
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()


async def _pass_back(request: ClientRequest, response: httpx.Response, answer: ClientAnswer) -> None:
    has_body = request.method != b"HEAD" and response.status_code not in _WITHOUT_BODY
    phrase: bytes = response.extensions.get("reason_phrase", b"")
    await answer.begin(
        b"%d %b" % (response.status_code, phrase), _end_to_end(response.headers.raw), has_body=has_body
    )
    try:
        # Also where there is none: the end of the answer makes the connection to the host free for the next.
        async for piece in response.aiter_raw():
            await answer.send(piece)
    except httpx.TransportError as fault:
        answer.cut(reset=isinstance(fault, httpx.ReadError))
        return
    await answer.end()


def _has_body(request: ClientRequest) -> bool:
    return bool(request.values(b"content-length") or request.values(b"transfer-encoding"))


def _end_to_end(headers: Iterable[tuple[bytes, bytes]], *, without: Iterable[bytes] = ()) -> Headers:
    """The headers that are not of one connection only."""
    given = list(headers)
    named = b",".join(value for name, value in given if name.lower() == b"connection")
    dropped = {*HOP_BY_HOP, *without, *(name.strip().lower() for name in named.split(b","))}
    return [(name, value) for name, value in given if name.lower() not in dropped]


async def _refuse(answer: ClientAnswer, status: bytes, what: str) -> None:
    """Say in the shape that both big model APIs use that the relay itself has a fault to report."""
    body = msgspec.json.encode(
        {"type": "error", "error": {"type": "relay_error", "message": f"checkrein: {what}"}}
    )
    await answer.whole(status, [(b"content-type", b"application/json")], body)
