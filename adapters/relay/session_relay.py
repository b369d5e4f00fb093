"""The relay of one session: where it listens, what the harness is told, and when it ends."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import replace

import anyio
import httpx
from anyio.abc import SocketAttribute, SocketStream, TaskGroup, TaskStatus

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.interface import ModelEndpoint
from checkrein.adapters.relay.client_connection import ClientAnswer, ClientConnection, ClientRequest
from checkrein.adapters.relay.credentials import SessionToken
from checkrein.adapters.relay.forwarding import Forwarding

LOOPBACK = "127.0.0.1"

#: How long a connection to the model's host may take to come about, in seconds. Nothing else has a limit here: how long
#: a model may think is the harness's own affair.
CONNECT_SECONDS = 30.0

_NO_PROXY = ("NO_PROXY", "no_proxy")


class SessionRelay:
    """Stands between the harness of one session and the model's host, so that the harness never holds the key.

    Args:
        endpoint: the host and the key, as the user gave them.

    Raises:
        BadRequest: the address of the host is none.
    """

    def __init__(self, endpoint: ModelEndpoint) -> None:
        self._base = _address(endpoint.base_url)
        _check_key(endpoint.api_key)
        self._endpoint = endpoint
        self._token = SessionToken()
        self._scope = anyio.CancelScope(shield=True)

    async def start(self, tasks: TaskGroup) -> ModelEndpoint:
        """Listen on loopback, on a port that the system chooses, until `stop`.

        It is shielded: a driver that is cancelled still ends its turn in good order, and the harness needs its model
        for that.

        Returns:
            What the harness is told: this relay's address, and a token in place of the key.
        """
        port = await tasks.start(self._serve)
        return replace(self._endpoint, base_url=f"http://{LOOPBACK}:{port}", api_key=self._token.text)

    def stop(self) -> None:
        """Hang up on both sides."""
        self._scope.cancel()

    async def _serve(self, *, task_status: TaskStatus[int]) -> None:
        with self._scope:
            async with (
                self._client() as client,
                await anyio.create_tcp_listener(local_host=LOOPBACK) as listener,
            ):
                forwarding = Forwarding(
                    client=client, base=self._base, key=self._endpoint.api_key, token=self._token
                )

                async def serve_one(stream: SocketStream) -> None:
                    connection = ClientConnection(stream)

                    async def answer(request: ClientRequest, answer: ClientAnswer) -> None:
                        await forwarding.answer(connection, request, answer)

                    await connection.serve(answer)

                task_status.started(listener.extra(SocketAttribute.local_port))
                await listener.serve(serve_one)

    def _client(self) -> httpx.AsyncClient:
        """Speaks with the one host: no redirects, no cookies of others, no proxy unless asked."""
        return httpx.AsyncClient(
            verify=_certificates()
            if self._base.scheme == "https"
            else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            trust_env=self._endpoint.environment_proxies,
            follow_redirects=False,
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=None),
        )


def reaching_loopback(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a harness that must not look for the relay behind the user's proxy."""
    changed = dict(environment)
    for name in _NO_PROXY:
        exceptions = [each for each in environment.get(name, "").split(",") if each.strip()]
        if LOOPBACK not in exceptions and exceptions != ["*"]:
            changed[name] = ",".join([*exceptions, LOOPBACK])
    return changed


def _certificates() -> ssl.SSLContext:
    """Those that httpx brings, and those of this machine, which `SSL_CERT_FILE` and `SSL_CERT_DIR` may name."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def _address(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as fault:
        raise _bad_address(base_url, str(fault)) from None
    if url.scheme not in ("http", "https") or not url.host:
        raise _bad_address(base_url, "it must begin with http:// or https:// and name a host")
    if url.userinfo or url.query or url.fragment:
        raise _bad_address(
            "(not shown)", "it holds a user, a query or a fragment; the key is given by itself"
        )
    return url


def _bad_address(shown: str, why: str) -> BadRequest:
    return BadRequest(
        f"the model's address cannot be used: {why}", where=shown, advice="correct the base URL"
    )


def _check_key(key: str) -> None:
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise BadRequest(
            "the model's key cannot be sent in a header: it is empty or holds spaces or unusual characters",
            where="api_key",  # never the key itself
            advice="give the key alone, without a line feed behind it",
        )
