"""Codex's turn errors in words for a person."""

from __future__ import annotations

import msgspec

from checkrein.adapters.codex.received import TurnError

#: kinds that stand for one status, which they do not hold (0.171.0; every other status is told)
_STATUS_OF_KIND = {"internalServerError": 500}


class _Status(msgspec.Struct, rename="camel"):
    http_status_code: int | None = None


def failure_words(error: TurnError) -> str:
    """Return message, kind, the model endpoint's HTTP status and details of an error, as far as the harness gives them.

    The kind is a word (`contextWindowExceeded`), or an object of one key that may hold the status
    (`{"httpConnectionFailed": {"httpStatusCode": 403}}`). Of HTTP 400 alone 0.171.0 gives the raw body as the message,
    the kind `other` and no status; seen with 14 statuses from 400 to 529.
    """
    kind, status = _kind(bytes(error.codex_error_info))
    if status is None:
        status = 400 if kind == "other" and _is_body(error.message) else _STATUS_OF_KIND.get(kind)
    marks = [mark for mark in (kind, f"HTTP {status}" if status else "") if mark]
    words = f"{error.message} ({', '.join(marks)})" if marks else error.message
    return f"{words}: {error.additional_details}" if error.additional_details else words


def not_steerable(data: bytes) -> bool:
    """Whether the data of a refused turn/steer says that the turn takes no steer (compaction, review)."""
    try:
        refused = msgspec.json.decode(data, type=TurnError)
    except msgspec.DecodeError:
        return False
    return _kind(bytes(refused.codex_error_info))[0] == "activeTurnNotSteerable"


def _is_body(message: str) -> bool:
    try:
        return "error" in msgspec.json.decode(message, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return False


def _kind(info: bytes) -> tuple[str, int | None]:
    try:
        value = msgspec.json.decode(info, type=str | dict[str, msgspec.Raw] | None)
    except msgspec.DecodeError:
        return "", None
    match value:
        case None:
            return "", None
        case str():
            return value, None
        case _:
            for name, inner in value.items():
                try:
                    return name, msgspec.json.decode(inner, type=_Status).http_status_code
                except msgspec.DecodeError:
                    return name, None
            return "", None
