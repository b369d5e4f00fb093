"""Every dialog that pi can open in its driver, by the documentation of its RPC mode (1.6.0 and 1.3.0).

The gate asks in an `input` whose title is its question; the dialogs as such are what other extensions would open.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec

from checkrein.adapters.kit_facts import AskedKind, WireMessage

_CALL = {
    "checkrein": "approval",
    "toolCallId": "call_asked",
    "toolName": "bash",
    "input": {"command": "echo asked"},
    "cwd": "/",
}

#: A dialog that no version has.
_INVENTED = "hologram"

_DIALOGS: dict[str, dict[str, object]] = {
    "select": {"title": "Which?", "options": ["one", "two"]},
    "select (with a timeout)": {"title": "Which?", "options": ["one"], "timeout": 600_000},
    "confirm": {"title": "Sure?", "message": "All is lost."},
    "input": {"title": "What?", "placeholder": "type here"},
    "input (a question of another shape)": {"title": '{"checkrein":"approval"}'},
    "editor": {"title": "Edit", "prefill": "text"},
    _INVENTED: {"title": "Look"},
}


def asked_kinds(executable: Path) -> tuple[AskedKind, ...]:
    """Every kind of dialog. The executable writes no schema of them, so none is read."""
    edit = {
        **_CALL,
        "toolName": "edit",
        "input": {"path": "a.txt", "edits": [{"oldText": "a", "newText": "b"}]},
    }
    nested = {**_CALL, "parentToolCallId": "call_outer", "toolCallId": "call_outer/1"}
    unknown = {**_CALL, "toolName": "no_tool_of_pi", "input": {"command": 5}}
    asked = {"a command": _CALL, "an edit": edit, "a nested call": nested, "an unknown tool": unknown}
    gate = tuple(
        AskedKind(
            name=f"input (the gate's: {name})",
            line=partial(
                _line, "input", {"title": msgspec.json.encode(question).decode(), "placeholder": ""}
            ),
            fault=_no_decision,
            decidable=True,
        )
        for name, question in asked.items()
    )
    others = tuple(
        AskedKind(
            name=name,
            line=partial(_line, name.partition(" ")[0], fields),
            fault=_not_cancelled,
            decidable=False,
        )
        for name, fields in _DIALOGS.items()
    )
    return (*gate, *others)


def _line(method: str, fields: dict[str, object], dialog_id: str) -> bytes:
    return msgspec.json.encode({"type": "extension_ui_request", "id": dialog_id, "method": method, **fields})


def _no_decision(answer: WireMessage) -> str:
    if answer.get("type") != "extension_ui_response":
        return f"answered by {answer.get('type')!r}"
    try:
        value = msgspec.json.decode(str(answer.get("value")), type=dict[str, str])
    except msgspec.DecodeError as fault:
        return f"the value is no decision: {fault}"
    return "" if value.get("decision") in ("allow", "deny") else f"neither allowed nor denied: {value}"


def _not_cancelled(answer: WireMessage) -> str:
    shape = (answer.get("type"), answer.get("cancelled"))
    return "" if shape == ("extension_ui_response", True) else f"not cancelled: {dict(answer)}"
