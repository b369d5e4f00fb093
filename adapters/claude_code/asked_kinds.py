"""Every control request that Claude Code can send to its host.

The program writes no schema. The kinds are those that 2.1.332's executable sends (`sendRequest({subtype:…})` in its
text), with the fields named there; of an answer with an error it makes a cancelled form or dialog, no token, and a
hook without a say. `can_use_tool` alone was seen on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import cast

import msgspec

from checkrein.adapters.kit_facts import AskedKind, WireMessage

Json = Mapping[str, object]

_CALL: Json = {"tool_use_id": "toolu_sample", "permission_suggestions": []}

#: Questions that a person decides.
_CALLS: Mapping[str, Json] = {
    "Bash": {"input": {"command": "touch a", "description": "d"}, "display_name": "Bash"},
    "Write": {"input": {"file_path": "/a/sample", "content": "x"}},
    "AskUserQuestion": {
        "input": {"questions": [{"question": "Which?", "header": "h", "multiSelect": False}]},
        "requires_user_interaction": True,
    },
    "ExitPlanMode": {"input": {"plan": "first this, then that"}, "requires_user_interaction": True},
    "SandboxNetworkAccess": {"input": {"host": "example.org"}, "description": "Allow network connection?"},
    "mcp__server__tool": {"input": {"one": 1}},
    "a tool of no known name": {"input": {"command": 5, "file_path": ["a"]}},
}

#: Questions that no allow or deny answers.
_OTHERS: Mapping[str, Json] = {
    "hook_callback": {"callback_id": "hook_0", "input": {"hook_event_name": "PreToolUse"}},
    "mcp_message": {"server_name": "s", "message": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}},
    "elicitation": {
        "mcp_server_name": "s",
        "message": "Which one?",
        "mode": "form",
        "requested_schema": {"type": "object", "properties": {"one": {"type": "string"}}},
    },
    "request_user_dialog": {"dialog_kind": "d", "payload": {}},
    "oauth_token_refresh": {"token_state": "refused"},
    "host_auth_token_refresh": {},
    "remote_control_work_secret": {"session_id": "s"},
    "register_device_hooks": {"instance_id": "i", "display_name": "d"},
    "upload_device_hook_template": {"template": {}, "digest": "d", "content_base64": ""},
    "ui_copy": {"text": "t"},
    "ui_read_selection": {},
    "ui_prompt_read": {"surface": "s", "client_id": "c"},
    "ui_prompt_fill": {"surface": "s", "client_id": "c", "text": "t"},
    "ui_prompt_paint": {"surface": "s", "client_id": "c"},
    "ui_prompt_suggest": {"surface": "s", "client_id": "c"},
}

#: Answers other than an error that these kinds take (2.1.332), by kind.
_REFUSALS: Mapping[str, Json] = {
    "elicitation": {"action": "decline"},
    "request_user_dialog": {"behavior": "cancelled"},
}

INVENTED = "hologram"


def asked_kinds(_: Path) -> tuple[AskedKind, ...]:
    """Every kind of question, each in all its forms."""
    calls = [
        AskedKind(
            name=f"can_use_tool ({tool})",
            line=partial(_line, {"subtype": "can_use_tool", "tool_name": tool, **_CALL, **call}),
            fault=partial(_fault_of_decision, call["input"]),
            decidable=True,
        )
        for tool, call in _CALLS.items()
    ]
    others = [
        AskedKind(
            name=kind,
            line=partial(_line, {"subtype": kind, **fields}),
            fault=partial(_fault_of_refusal, _REFUSALS.get(kind)),
            decidable=False,
        )
        for kind, fields in {**_OTHERS, INVENTED: {"colour": "blue"}}.items()
    ]
    broken = [
        AskedKind(
            name=f"{name} (no shape)",
            line=partial(_line, request),
            fault=partial(_fault_of_refusal, None),
            decidable=False,
        )
        for name, request in {
            "can_use_tool": {"subtype": "can_use_tool", "tool_name": 5, "input": "x"},
            "a request without a kind": {},
            "a request that is no object": "hologram",
        }.items()
    ]
    return (*calls, *others, *broken)


def _line(request: object, request_id: str) -> bytes:
    return msgspec.json.encode({"type": "control_request", "request_id": request_id, "request": request})


def _fault_of_decision(given: object, message: WireMessage) -> str:
    answer = _answer(message)
    match answer.get("behavior"):
        case "allow":
            return (
                "" if answer.get("updatedInput") == given else "the input is not the one that was asked about"
            )
        case "deny":
            return "" if answer.get("message") else "a deny without a message"
        case other:
            return f"behavior is {other!r}"


def _fault_of_refusal(refusal: Json | None, message: WireMessage) -> str:
    response = _response(message)
    if response.get("subtype") == "error":
        return "" if response.get("error") else "an error without words"
    if refusal is None:
        return "answered, though nobody can know the answer"
    return "" if _answer(message) == refusal else f"the answer is {_answer(message)}"


def _response(message: WireMessage) -> Json:
    found = message.get("response") if message.get("type") == "control_response" else None
    return cast("Json", found) if isinstance(found, dict) else {}


def _answer(message: WireMessage) -> Json:
    found = _response(message).get("response")
    return cast("Json", found) if isinstance(found, dict) else {}
