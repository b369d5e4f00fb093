"""Every request that an agent can make of its client, by the schema of the protocol (1.19), each in its forms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import cast

import msgspec

from checkrein.adapters.acp.messages import INVALID_PARAMS, METHOD_NOT_FOUND
from checkrein.adapters.acp.questions import PERMISSION
from checkrein.adapters.kit_facts import AskedKind, WireMessage

#: Ids that say nothing of what they stand for, in an order that says nothing either.
ALWAYS, REJECT, ALLOW = "a", "b", "c"
_OPTIONS = (
    {"optionId": ALWAYS, "name": "Allow, and remember", "kind": "allow_always"},
    {"optionId": REJECT, "name": "Deny", "kind": "reject_once"},
    {"optionId": ALLOW, "name": "Allow", "kind": "allow_once"},
)

_COMMAND = {
    "toolCallId": "call_asked",
    "title": "Run it",
    "kind": "execute",
    "rawInput": {"command": "echo asked"},
}
_EDIT = {
    "toolCallId": "call_asked",
    "title": "Edit it",
    "kind": "edit",
    "content": [{"type": "diff", "path": "a.txt", "oldText": "a", "newText": "b"}],
}

_PERMISSIONS: Mapping[str, Mapping[str, object]] = {
    "a command": {"toolCall": _COMMAND, "options": _OPTIONS},
    "an edit": {"toolCall": _EDIT, "options": _OPTIONS},
    "a call of an unknown kind": {
        "toolCall": {"toolCallId": "call_asked", "kind": "hologram"},
        "options": _OPTIONS,
    },
    "only lasting answers": {"toolCall": _COMMAND, "options": _OPTIONS[:1]},
}

#: What no client capability of ours offers, and what version 1 has besides.
_OTHERS: Mapping[str, Mapping[str, object]] = {
    "fs/read_text_file": {"path": "/etc/hosts"},
    "fs/write_text_file": {"path": "/tmp/asked", "content": "asked"},
    "terminal/create": {"command": "echo", "args": ["asked"]},
    "terminal/output": {"terminalId": "1"},
    "terminal/wait_for_exit": {"terminalId": "1"},
    "terminal/kill": {"terminalId": "1"},
    "terminal/release": {"terminalId": "1"},
    "elicitation/create": {"mode": "form", "message": "Which?"},
    "mcp/connect": {"serverId": "1"},
    "mcp/message": {"method": "tools/list"},
    "mcp/disconnect": {"serverId": "1"},
    "_hologram/look": {},
}


def asked_kinds(_: Path) -> tuple[AskedKind, ...]:
    """Every kind of request. They are the protocol's, whatever the executable."""
    permissions = (
        AskedKind(
            name=f"{PERMISSION} ({form})",
            line=partial(_line, PERMISSION, params),
            fault=partial(_undecided, lasting=len(cast("tuple[object, ...]", params["options"])) == 1),
            decidable=True,
        )
        for form, params in _PERMISSIONS.items()
    )
    broken = AskedKind(
        name=f"{PERMISSION} (broken)",
        line=partial(_line, PERMISSION, {"options": "none"}),
        fault=partial(_no_error, code=INVALID_PARAMS),
        decidable=False,
    )
    others = (
        AskedKind(
            name=method,
            line=partial(_line, method, params),
            fault=partial(_no_error, code=METHOD_NOT_FOUND),
            decidable=False,
        )
        for method, params in _OTHERS.items()
    )
    return (*permissions, broken, *others)


def _line(method: str, params: Mapping[str, object], request_id: str) -> bytes:
    return msgspec.json.encode(
        {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {"sessionId": "-", **params}}
    )


def _undecided(answer: WireMessage, *, lasting: bool) -> str:
    """What is wrong with the answer to a permission request."""
    given = _at(answer, "result", "outcome")
    if lasting:
        return "" if given == {"outcome": "cancelled"} else f"a lasting answer was given: {given}"
    if _at(answer, "result", "outcome", "outcome") != "selected":
        return f"nothing is selected: {dict(answer)}"
    chosen = _at(answer, "result", "outcome", "optionId")
    allowed = "allow-" in str(answer.get("id"))
    fitting = {ALLOW} if allowed else {REJECT}
    return "" if chosen in fitting else f"{chosen!r} is selected instead of {fitting}"


def _no_error(answer: WireMessage, *, code: int) -> str:
    given = _at(answer, "error", "code")
    return "" if given == code else f"not refused with {code}: {dict(answer)}"


def _at(value: object, *keys: str) -> object:
    for key in keys:
        value = cast("dict[str, object]", value).get(key) if isinstance(value, dict) else None
    return value
