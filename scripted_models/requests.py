"""The request log: what the model saw, with secrets taken out."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from checkrein.scripted_models.json_reading import JsonObject
from checkrein.scripted_models.lanes import Lane
from checkrein.scripted_models.views import View

#: Headers whose values are never kept.
SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request to the model.

    `number` counts from 1 over all lanes, `step` from 0 within the lane (None: no step answered it). Header
    names are in lower case; the values of those in `redacted` are replaced by a prefix of their SHA-256.
    """

    number: int
    lane: Lane
    step: int | None
    method: str
    path: str
    headers: Mapping[str, str]
    redacted: frozenset[str]
    body: JsonObject
    view: View
    at_ms: float


def redact(headers: Mapping[str, str]) -> tuple[dict[str, str], frozenset[str]]:
    """Return the headers with secret values replaced, and the names of those."""
    secret = frozenset(name for name in headers if name in SECRET_HEADERS)
    return {name: _hashed(value) if name in secret else value for name, value in headers.items()}, secret


def _hashed(value: str) -> str:
    return f"redacted sha256:{hashlib.sha256(value.encode()).hexdigest()[:12]}"
