"""Approvals: from `can_use_tool` to a `Question`, and from a decision to the answer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from checkrein.adapters.claude_code.grants import exact_rules
from checkrein.adapters.claude_code.messages import Ask, control_answer, control_refusal
from checkrein.adapters.claude_code.tool_calls import tool_call
from checkrein.adapters.interface import Decision, DecisionKind
from checkrein.adapters.native import Question
from checkrein.adapters.targets import is_outside

#: An empty message would leave the model without any word of why the call did not run.
DEFAULT_DENIAL = "This call was denied. Do not try it again; carry on without it or ask what to do."


def question_of(request_id: str, ask: Ask, cwd: Path) -> Question:
    """The question that a `can_use_tool` request asks.

    Args:
        request_id: the harness's id of the request.
        ask: the request.
        cwd: the workspace, resolved.
    """
    call = tool_call(ask.tool_use_id, ask.tool_name, ask.input)
    return Question(
        question_id=request_id,
        call=call,
        reason=_reason(ask),
        real_paths=_real_paths(call.paths, ask.blocked_path, cwd),
    )


def answer_of(ask: Ask, question: Question, decision: Decision) -> dict[str, object]:
    """What to answer. The input goes back byte for byte, so that what runs is what was asked for.

    A deny never carries `interrupt:true`: 2.1.296 and 2.1.332 then lose the message and end the turn.
    An allowed `AskUserQuestion` runs without answers: the model reads that the user did not answer (2.1.332); to
    answer in words, deny it with the answer as message.
    """
    match decision.kind:
        case DecisionKind.DENY:
            return {"behavior": "deny", "message": decision.message or DEFAULT_DENIAL}
        case DecisionKind.ALLOW:
            return {"behavior": "allow", "updatedInput": ask.input}
        case DecisionKind.ALLOW_ALWAYS:
            answer: dict[str, object] = {"behavior": "allow", "updatedInput": ask.input}
            if rules := exact_rules(ask, question.call):
                answer["updatedPermissions"] = rules
            return answer


#: The answers by which questions that no person is asked are refused in their own shape; all others get an error, of
#: which 2.1.332 makes a hook without a say, no token, and a failed call of an MCP server in the host.
_REFUSALS: Mapping[str, Mapping[str, object]] = {
    "elicitation": {"action": "decline"},
    "request_user_dialog": {"behavior": "cancelled"},
}


def refusal_of(request_id: str, subtype: str) -> bytes:
    """The line that refuses a question which is no `can_use_tool`."""
    if (answer := _REFUSALS.get(subtype)) is not None:
        return control_answer(request_id, answer)
    return control_refusal(request_id, f"this driver does not answer {subtype or 'this'} questions")


def _reason(ask: Ask) -> str:
    words = ask.decision_reason or ask.decision_reason_type or ""
    if ask.blocked_path is None:
        return words
    return f"{words} ({ask.blocked_path})" if words else f"it touches {ask.blocked_path}"


def _real_paths(paths: tuple[str, ...], blocked: str | None, cwd: Path) -> tuple[str, ...]:
    """Where the call really goes, when that is not where it says: links resolved, and for commands what lies outside.

    A command names no paths of its own here; the harness names the one that made it ask.
    """
    given = {os.path.normpath(cwd / path) for path in paths}
    found: dict[str, None] = {}
    for path in (*paths, *([blocked] if blocked else [])):
        real = os.path.realpath(cwd / path)
        named = real in given if paths else not is_outside(path, cwd)
        if not named:
            found[real] = None
    return tuple(found)
