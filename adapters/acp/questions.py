"""Questions of the agent. Permissions go to a person, and are answered by the *kind* of an option, never by its place.

What is allowed always is allowed once more by the driver, each time it is asked: ACP does not say how long an
`allow_always` lasts, and agents were seen to write it into files of the workspace and of the home. Everything else is
refused in the protocol's own shape: no client capability was offered, so nothing else may be asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from checkrein.adapters.acp import messages as m
from checkrein.adapters.acp.tool_calls import call_of, merged
from checkrein.adapters.interface import DecisionKind
from checkrein.adapters.native import Question
from checkrein.adapters.targets import leading_elsewhere

PERMISSION = "session/request_permission"

#: The kind of option that carries a decision out, and nothing more than that.
_OPTION_KINDS = {
    DecisionKind.ALLOW: "allow_once",
    DecisionKind.ALLOW_ALWAYS: "allow_once",
    DecisionKind.DENY: "reject_once",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A question that waits for its answer.

    Args:
        request_id: as the agent wrote it; the JSON type counts.
        options: ids by kind.
    """

    request_id: m.RequestId
    question: Question
    options: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A request that was answered with an error.

    Args:
        line: the answer.
        text: for a person.
    """

    line: bytes
    text: str


def read_question(
    request_id: m.RequestId,
    method: str,
    params: msgspec.Raw,
    *,
    known: dict[str, m.CallUpdate],
    cwd: Path,
) -> OpenQuestion | Refused:
    """Return the question that a request is, or its refusal.

    Args:
        known: what is known of calls, by id.
        cwd: the workspace.
    """
    if method != PERMISSION:
        return _refused(request_id, m.METHOD_NOT_FOUND, f"no client here answers {method}")
    try:
        asked = msgspec.json.decode(params, type=m.PermissionAsked)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        return _refused(request_id, m.INVALID_PARAMS, f"cannot read a permission request: {fault}")
    call = call_of(merged(known.get(asked.tool_call.tool_call_id), asked.tool_call))
    question = Question(
        question_id=question_key(request_id),
        call=call,
        reason=asked.tool_call.title or "",
        real_paths=leading_elsewhere(call.paths, cwd),
    )
    # Of several options of one kind the first; qwen-code 0.24.4 offers two that allow always.
    options: dict[str, str] = {}
    for option in asked.options:
        options.setdefault(option.kind, option.option_id)
    return OpenQuestion(request_id=request_id, question=question, options=options)


def question_key(request_id: m.RequestId) -> str:
    """Return the id of a request as text, so that `1` and `"1"` differ."""
    return str(request_id) if isinstance(request_id, int) else f"{request_id!r}"


def answer_line(opened: OpenQuestion, kind: DecisionKind) -> bytes:
    """Return the line that answers a question; where no option fits the decision, the question is cancelled."""
    option = opened.options.get(_OPTION_KINDS[kind])
    if option is None:
        return cancelled_line(opened)
    return _answer(opened, m.Outcome(outcome="selected", option_id=option))


def cancelled_line(opened: OpenQuestion) -> bytes:
    """Return the line that says that the turn is being cancelled; every open question must get it then."""
    return _answer(opened, m.Outcome(outcome="cancelled"))


def _answer(opened: OpenQuestion, outcome: m.Outcome) -> bytes:
    return m.line(m.Answer(id=opened.request_id, result=m.PermissionAnswered(outcome=outcome)))


def _refused(request_id: m.RequestId, code: int, text: str) -> Refused:
    return Refused(
        line=m.line(m.RefusedAnswer(id=request_id, error=m.ErrorBody(code=code, message=text))), text=text
    )
