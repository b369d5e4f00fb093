"""Dialogs of pi: the gate's words, and what any other extension would ask."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from checkrein.adapters.interface import Decision, DecisionKind
from checkrein.adapters.native import Question
from checkrein.adapters.pi import messages as m
from checkrein.adapters.pi.tool_calls import call_of, real_paths

#: Methods that only show something (1.6.0). All others wait for an answer; one that nobody knows is answered too, since
#: pi ignores an answer that it does not wait for.
SHOWING = frozenset({"notify", "setStatus", "setWidget", "setTitle", "set_editor_text"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A question of the gate that waits for its answer.

    Args:
        native_id: pi's id of the call.
    """

    question: Question
    native_id: str


def read_ready(message: msgspec.Raw, token: str) -> m.Ready | None:
    """Return the gate's ready notice; None when it is another text, or not of our gate."""
    try:
        words = msgspec.json.decode(msgspec.json.decode(message, type=str), type=m.Ready)
    except msgspec.DecodeError:
        return None
    return words if words.checkrein == "ready" and words.token == token else None


def read_question(dialog_id: str, title: str, *, home: str) -> OpenQuestion | None:
    """Return the gate's question; None when the dialog is somebody else's."""
    try:
        asked = msgspec.json.decode(title, type=m.GateQuestion)
    except msgspec.DecodeError:
        return None
    if asked.checkrein != "approval":
        return None
    call = call_of(asked.tool_call_id, asked.tool_name, asked.input, asked.cwd)
    reason = f"called by {asked.parent_tool_call_id}" if asked.parent_tool_call_id else ""
    question = Question(
        question_id=dialog_id,
        call=call,
        reason=reason,
        real_paths=real_paths(call.paths, cwd=asked.cwd, home=home),
    )
    return OpenQuestion(question=question, native_id=asked.tool_call_id)


def answer_line(dialog_id: str, decision: Decision) -> bytes:
    """Return the line that answers a question of the gate.

    The gate keeps no grant: what is allowed always is allowed once more by the driver, each time it is asked.
    """
    denies = decision.kind is DecisionKind.DENY
    value = m.GateAnswer(decision="deny" if denies else "allow", message=decision.message if denies else "")
    return m.line(m.DialogAnswer(id=dialog_id, value=msgspec.json.encode(value).decode()))


def refusal_line(dialog_id: str) -> bytes:
    """Return the line that cancels a dialog."""
    return m.line(m.DialogAnswer(id=dialog_id, cancelled=True))
