"""Questions of the app-server, and the answers in each kind's own shape.

Ten kinds are in 0.171.0's schema. Those that a person can decide become a `Question`; the others are refused at once
in their own shape, or by an error, and shown as a notice; so is a kind that nobody knows. What the harness offers in
`availableDecisions` is not read: `acceptForSession` works without being offered, and `acceptWithExecpolicyAmendment`,
which is offered, writes a rule file.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import msgspec

from checkrein.adapters.codex import messages as m
from checkrein.adapters.codex import received as r
from checkrein.adapters.codex.tool_calls import diff_of, paths_of
from checkrein.adapters.interface import Decision, DecisionKind
from checkrein.adapters.native import Question, ToolCall, ToolKind
from checkrein.adapters.targets import leading_elsewhere

#: JSON-RPC: there is no such method
METHOD_NOT_FOUND = -32601


class Kind(StrEnum):
    """The questions that a person can decide, by method."""

    COMMAND = "item/commandExecution/requestApproval"
    FILE_CHANGE = "item/fileChange/requestApproval"
    PERMISSIONS = "item/permissions/requestApproval"
    USER_INPUT = "item/tool/requestUserInput"
    ELICITATION = "mcpServer/elicitation/request"
    OLD_COMMAND = "execCommandApproval"
    OLD_PATCH = "applyPatchApproval"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A question that waits for its answer.

    Args:
        request_id: as the harness wrote it; the JSON type counts (0.171.0 ignores "0" for 0).
        thread_id: of the conversation that it is about, which may be a sub-agent's.
        turn_id: "" when the harness does not say.
        item_id: of the call; "" when the harness does not say.
        lasting: whether a grant for calls like this one can be given, and is no wider than that.
        permissions: what a permissions question asks for, as JSON.
        points: ids of the points of a user-input question.
    """

    request_id: m.RequestId
    kind: Kind
    question: Question
    thread_id: str
    turn_id: str = ""
    item_id: str = ""
    lasting: bool = False
    permissions: bytes = b"{}"
    points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A question that nobody can be asked: the line to send, and what to show."""

    line: bytes
    text: str


def question_key(request_id: m.RequestId) -> str:
    """Return the text that stands for a request's id."""
    return m.as_json(request_id)


def read_question(
    request_id: m.RequestId, method: str, params: msgspec.Raw, changes: dict[str, r.FileChange]
) -> OpenQuestion | Refused:
    """Read a request of the app-server.

    Args:
        changes: the file changes that have begun, by item id.
    """
    try:
        return _read(request_id, method, params, changes)
    except msgspec.DecodeError as fault:
        return _error(request_id, f"the parameters of {method} cannot be read: {fault}")


def _read(
    request_id: m.RequestId, method: str, params: msgspec.Raw, changes: dict[str, r.FileChange]
) -> OpenQuestion | Refused:
    match method:
        case Kind.COMMAND:
            return _command(request_id, msgspec.json.decode(params, type=r.CommandQuestion), params)
        case Kind.FILE_CHANGE:
            asked = msgspec.json.decode(params, type=r.FileQuestion)
            return _file_change(request_id, asked, changes.get(asked.item_id), params)
        case Kind.PERMISSIONS:
            return _permissions(request_id, msgspec.json.decode(params, type=r.PermissionsQuestion))
        case Kind.USER_INPUT:
            return _user_input(request_id, msgspec.json.decode(params, type=r.InputQuestion), params)
        case Kind.ELICITATION:
            return _elicitation(request_id, msgspec.json.decode(params, type=r.Elicitation), params)
        case Kind.OLD_COMMAND:
            return _old_command(request_id, msgspec.json.decode(params, type=r.OldCommandQuestion))
        case Kind.OLD_PATCH:
            return _old_patch(request_id, msgspec.json.decode(params, type=r.OldPatchQuestion), params)
        case "item/tool/call":
            # Only for tools that a client registers (`dynamicTools`); we register none.
            result = {
                "contentItems": [{"type": "inputText", "text": "this client offers no such tool"}],
                "success": False,
            }
            return Refused(line=_answer(request_id, result), text="refused a call of a tool of the client's")
        case _:
            return _error(request_id, f"{method} is not answered by this client")


def _command(request_id: m.RequestId, asked: r.CommandQuestion, params: msgspec.Raw) -> OpenQuestion:
    more: list[str] = []
    if bytes(asked.additional_permissions) != b"null":
        more.append(f"with permissions {_text(asked.additional_permissions)}")
    if (network := asked.network_approval_context) is not None:
        more.append(f"network access to {network.host} ({_text(network.protocol)})")
    plain = asked.kind == "command" and asked.command is not None and not more
    # The name takes part in what makes two calls alike: a call that asks for more must not be like one that does not.
    name = "exec_command" if plain else " ".join(["exec_command", f"({asked.kind})", *more])
    is_command = asked.command is not None and network is None
    call = ToolCall(
        call_id=asked.item_id,
        name=name,
        kind=ToolKind.COMMAND if is_command else ToolKind.NETWORK,
        command=asked.command,
        cwd=asked.cwd,
        input_json=m.as_json({"command": asked.command, "cwd": asked.cwd}) if plain else _text(params),
    )
    reason = "; ".join(part for part in (asked.reason, *more) if part)
    touched = _touched(asked.command_actions)
    return _about(request_id, Kind.COMMAND, call, asked, reason=reason, lasting=plain, touched=touched)


def _file_change(
    request_id: m.RequestId, asked: r.FileQuestion, change: r.FileChange | None, params: msgspec.Raw
) -> OpenQuestion:
    root = f"asks for writing below {asked.grant_root}" if asked.grant_root else None
    paths = paths_of(change) if change is not None else ()
    call = ToolCall(
        call_id=asked.item_id,
        name="apply_patch",
        kind=ToolKind.EDIT,
        paths=paths,
        change=diff_of(change) if change is not None else None,
        input_json=m.as_json({"changes": change.changes}) if change is not None else _text(params),
    )
    reason = "; ".join(part for part in (asked.reason, root) if part)
    # Never lasting: Codex grants the path in the tree, wherever a link that is laid later leads (0.162.1, 0.171.0).
    return _about(request_id, Kind.FILE_CHANGE, call, asked, reason=reason)


def _permissions(request_id: m.RequestId, asked: r.PermissionsQuestion) -> OpenQuestion:
    wish = msgspec.json.decode(asked.permissions, type=r.PermissionsWish).file_system
    call = ToolCall(
        call_id=asked.item_id,
        name="request_permissions",
        kind=ToolKind.OTHER,
        paths=(*(wish.read or ()), *(wish.write or ())) if wish is not None else (),
        cwd=asked.cwd or None,
        input_json=_text(asked.permissions),
    )
    opened = _about(request_id, Kind.PERMISSIONS, call, asked, reason=asked.reason or "")
    return replace(opened, permissions=bytes(asked.permissions))


def _user_input(request_id: m.RequestId, asked: r.InputQuestion, params: msgspec.Raw) -> OpenQuestion:
    call = ToolCall(
        call_id=asked.item_id, name="request_user_input", kind=ToolKind.QUESTION, input_json=_text(params)
    )
    reason = "; ".join(point.question for point in asked.questions)
    opened = _about(request_id, Kind.USER_INPUT, call, asked, reason=reason)
    return replace(opened, points=tuple(point.id for point in asked.questions))


def _elicitation(
    request_id: m.RequestId, asked: r.Elicitation, params: msgspec.Raw
) -> OpenQuestion | Refused:
    fields = asked.requested_schema.required
    if asked.mode not in ("form", "openai/form", "openaiForm") or fields:
        # A page to visit, a challenge to sign, fields to fill in: no allow or deny answers that.
        line = _answer(request_id, _ELICITATION_DECLINED)
        return Refused(
            line=line, text=f"declined a question of MCP server {asked.server_name} ({asked.mode})"
        )
    call = ToolCall(
        call_id=question_key(request_id),
        name=f"mcp {asked.server_name}",
        kind=ToolKind.QUESTION,
        input_json=_text(params),
    )
    question = Question(question_id=question_key(request_id), call=call, reason=asked.message)
    return OpenQuestion(
        request_id=request_id,
        kind=Kind.ELICITATION,
        question=question,
        thread_id=asked.thread_id,
        turn_id=asked.turn_id or "",
    )


def _old_command(request_id: m.RequestId, asked: r.OldCommandQuestion) -> OpenQuestion:
    command = shlex.join(asked.command)
    call = ToolCall(
        call_id=asked.call_id,
        name="exec_command",
        kind=ToolKind.COMMAND,
        command=command,
        cwd=asked.cwd or None,
        input_json=m.as_json({"command": command, "cwd": asked.cwd}),
    )
    question = Question(question_id=question_key(request_id), call=call, reason=asked.reason or "")
    return OpenQuestion(
        request_id=request_id,
        kind=Kind.OLD_COMMAND,
        question=question,
        thread_id=asked.conversation_id,
        item_id=asked.call_id,
    )


def _old_patch(request_id: m.RequestId, asked: r.OldPatchQuestion, params: msgspec.Raw) -> OpenQuestion:
    paths = tuple(asked.file_changes)
    call = ToolCall(
        call_id=asked.call_id,
        name="apply_patch",
        kind=ToolKind.EDIT,
        paths=paths,
        change=m.as_json(asked.file_changes),
        input_json=_text(params),
    )
    question = Question(
        question_id=question_key(request_id),
        call=call,
        reason=asked.reason or "",
        real_paths=_real_paths(call),
    )
    return OpenQuestion(
        request_id=request_id,
        kind=Kind.OLD_PATCH,
        question=question,
        thread_id=asked.conversation_id,
        item_id=asked.call_id,
    )


def _about(
    request_id: m.RequestId,
    kind: Kind,
    call: ToolCall,
    asked: r.CommandQuestion | r.FileQuestion | r.PermissionsQuestion | r.InputQuestion,
    *,
    reason: str,
    lasting: bool = False,
    touched: Sequence[str] = (),
) -> OpenQuestion:
    question = Question(
        question_id=question_key(request_id), call=call, reason=reason, real_paths=_real_paths(call, touched)
    )
    return OpenQuestion(
        request_id=request_id,
        kind=kind,
        question=question,
        thread_id=asked.thread_id,
        turn_id=asked.turn_id,
        item_id=asked.item_id,
        lasting=lasting,
    )


def _touched(actions: msgspec.Raw) -> list[str]:
    """What the parts of a command line read, list or search; nothing when that is told in another shape."""
    try:
        told = msgspec.json.decode(actions, type=list[r.CommandAction] | None)
    except msgspec.DecodeError:
        return []
    return [action.path for action in told or () if action.path]


def _real_paths(call: ToolCall, touched: Sequence[str] = ()) -> tuple[str, ...]:
    """Where the call really goes, when a link leads elsewhere.

    0.171.0 gives the path within the tree, absolute, and follows the link all the same. Of a command it says what it
    reads or lists (`touched`), where it can tell.
    """
    directory = Path(call.cwd or "/")
    places = [*call.paths, *touched, *([call.cwd] if call.cwd else [])]
    return leading_elsewhere(places, directory)


def grants_for_the_process(opened: OpenQuestion, decision: Decision) -> bool:
    """Whether the answer makes the process remember a grant.

    `acceptForSession` (0.171.0, 0.162.1): for a command the same line in the same directory; in this thread and
    process; nothing is written. Patches get none: what is allowed always of them is remembered by the approval desk.
    """
    return decision.kind is DecisionKind.ALLOW_ALWAYS and opened.lasting


def answer_line(opened: OpenQuestion, decision: Decision) -> bytes:
    """Return the line that answers a question, in the shape of its kind."""
    allows = decision.kind is not DecisionKind.DENY
    lasts = grants_for_the_process(opened, decision)
    match opened.kind:
        case Kind.COMMAND | Kind.FILE_CHANGE:
            word = "acceptForSession" if lasts else "accept" if allows else "decline"
            result: object = {"decision": word}
        case Kind.PERMISSIONS:
            # Exactly what is asked for, for this turn; nothing when denied.
            granted = msgspec.Raw(opened.permissions if allows else b"{}")
            result = {"permissions": granted, "scope": "turn"}
        case Kind.USER_INPUT:
            # An allow has no text: every point stays unanswered. The message of a deny is the free answer to each.
            points = () if allows or not decision.message else opened.points
            result = {"answers": {point: {"answers": [decision.message]} for point in points}}
        case Kind.ELICITATION:
            result = {"action": "accept", "content": {}, "_meta": None} if allows else _ELICITATION_DECLINED
        case Kind.OLD_COMMAND | Kind.OLD_PATCH:
            result = {
                "decision": "approved" if allows else {"denied": {"rejection": decision.message or "denied"}}
            }
    return _answer(opened.request_id, result)


def message_goes_as_steer(opened: OpenQuestion) -> bool:
    """Whether the message of a deny has to reach the model beside the answer, which has no place for it."""
    return opened.kind in (Kind.COMMAND, Kind.FILE_CHANGE, Kind.PERMISSIONS, Kind.ELICITATION)


_ELICITATION_DECLINED = {"action": "decline", "content": None, "_meta": None}


def _text(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()


def _answer(request_id: m.RequestId, result: object) -> bytes:
    return m.line(m.Answer(id=request_id, result=msgspec.Raw(m.as_json(result).encode())))


def _error(request_id: m.RequestId, text: str) -> Refused:
    body = m.ErrorBody(code=METHOD_NOT_FOUND, message=text)
    return Refused(line=m.line(m.RefusedAnswer(id=request_id, error=body)), text=text)
