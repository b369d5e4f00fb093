"""The token that a harness shows, and the key that goes on in its place."""

from __future__ import annotations

import secrets

from checkrein.adapters.relay.client_connection import ClientRequest, Headers

#: Headers in which clients of model APIs send their key: whole, or behind `Bearer`.
KEY_HEADERS = (b"authorization", b"x-api-key", b"x-goog-api-key", b"api-key")

_BEARER = b"bearer "


class SessionToken:
    """What the harness of one session has instead of the key; worth nothing elsewhere and afterwards."""

    def __init__(self) -> None:
        self.text = f"sk-session-{secrets.token_urlsafe(32)}"
        self._bytes = self.text.encode()

    def exchanged(self, request: ClientRequest, key: bytes) -> Headers | None:
        """The headers of a request with the key where the token was; None when the token is in none of them.

        A header for keys that holds anything else is left out: what the host gets is the key and nothing beside it.
        """
        headers: Headers = []
        admitted = False
        for name, value in request.headers:
            if name not in KEY_HEADERS:
                headers.append((name, value))
                continue
            scheme = value[: len(_BEARER)] if value[: len(_BEARER)].lower() == _BEARER else b""
            if secrets.compare_digest(value[len(scheme) :], self._bytes):
                admitted = True
                headers.append((name, scheme + key))
        return headers if admitted else None
