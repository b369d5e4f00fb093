"""A turn: the model is asked, its calls are carried out, until it calls nothing more. Runs in a thread of its own."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass
from pathlib import Path

import msgspec

from checkrein.conformance.reference.cancellation import Cancellation, Cancelled
from checkrein.conformance.reference.client import Asked, Client
from checkrein.conformance.reference.model import Answer, Call, Listener, Message, Model, Tokens
from checkrein.conformance.reference.sessions import (
    ABORTED_BEFORE,
    ABORTED_RUNNING,
    INTERRUPTED,
    Session,
    result_message,
    user_message,
)
from checkrein.conformance.reference.tools import BadCall, Result, Tool, offered, tool_of

#: The notification that a request is tried again, and that what the model had begun to say is void.
RETRY = "_reference/retrying"

#: The answers that a person has. Each is good for one call: nothing is remembered, nothing is kept.
OPTIONS: list[object] = [
    {"optionId": "no", "name": "Deny", "kind": "reject_once"},
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
]

DENIED = "A person denied this call; it did not run."
MOVED = "Not run: the path leads elsewhere than when this call was allowed."

INSTRUCTIONS = "You are a coding agent. You work in {cwd} with the tools that you are given."


@dataclass(frozen=True, slots=True, kw_only=True)
class Steer:
    """A message that waits for the next request of the turn."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all turns of a conversation have in common.

    Args:
        cwd: the workspace.
        memory: what else the model is told at the beginning; "" for nothing.
    """

    client: Client
    model: Model
    session: Session
    cwd: Path
    memory: str


class _Outcome(msgspec.Struct, frozen=True, rename="camel"):
    outcome: str = ""
    option_id: str = ""


class _Permission(msgspec.Struct, frozen=True):
    outcome: _Outcome = _Outcome()


@dataclass(slots=True, kw_only=True)
class Planned:
    """A call on its way: what it is, who was asked about it, and where it led then."""

    call: Call
    tool: Tool | None
    fault: str = ""
    asked: Asked | None = None
    place: str | None = None
    running: bool = False


class Turn:
    """One turn of a conversation.

    Args:
        asks: whether a person decides over its calls.
    """

    def __init__(self, setting: Setting, prompt: str, *, asks: bool) -> None:
        self._setting = setting
        self._prompt = prompt
        self._asks = asks
        self._cancellation = Cancellation()
        self._tokens = Tokens()
        self._said = ""
        self._planned: list[Planned] = []
        self._lock = threading.Lock()
        self._over = False
        self._steers: list[Steer] = []

    # What the client asks for, in the thread that reads

    def cancel(self) -> None:
        """Stop it: the request, the command, the wait for an answer or for a retry."""
        self._cancellation.cancel()

    def steer(self, steer: Steer) -> bool:
        """Add a message; False when the turn takes none any more."""
        with self._lock:
            if self._over:
                return False
            self._steers.append(steer)
            return True

    # The turn itself

    def run(self) -> dict[str, object]:
        """Run it to its end; the answer to the prompt.

        Raises:
            ModelFailed: the model gave no answer.
        """
        try:
            if self._prompt:
                self._setting.session.append(user_message(self._prompt))
                self._show_user(str(uuid.uuid4()), self._prompt)
            stop_reason = self._loop()
        except Cancelled:
            self._interrupted()
            stop_reason = "cancelled"
        finally:
            with self._lock:
                self._over = True
        return {"stopReason": stop_reason, "usage": self._usage()}

    def _loop(self) -> str:
        while True:
            answer = self._ask_model()
            if answer.cut_short:
                return "max_tokens"
            if answer.calls:
                self._carry_out(answer.calls)
            with self._lock:
                self._cancellation.check()
                if not answer.calls and not self._steers:
                    self._over = True
                    return "end_turn"

    def _ask_model(self) -> Answer:
        setting, session = self._setting, self._setting.session
        with self._lock:
            joining, self._steers = self._steers, []
        self._said, message_id = "", str(uuid.uuid4())

        def sent() -> None:
            # From here on the model has them: not before, or a cancelled turn would leave them behind unseen.
            while joining:
                steer = joining.pop(0)
                session.append(user_message(steer.text))
                self._show_user(steer.id, steer.text)

        def text(piece: str) -> None:
            self._said += piece
            self._show(
                {"sessionUpdate": "agent_message_chunk", "messageId": message_id, "content": _text(piece)}
            )

        def retrying(why: str) -> None:
            self._said = ""
            setting.client.notify(RETRY, {"sessionId": session.id, "message": why})

        instructions = "\n\n".join(filter(None, (INSTRUCTIONS.format(cwd=setting.cwd), setting.memory)))
        answer = setting.model.ask(
            session.id,
            [{"role": "system", "content": instructions}, *session.messages, *_user_messages(joining)],
            offered(),
            self._cancellation,
            Listener(sent=sent, text=text, retrying=retrying),
        )
        self._said = ""
        self._tokens.input += answer.tokens.input
        self._tokens.cached += answer.tokens.cached
        self._tokens.output += answer.tokens.output
        session.append(_assistant_message(answer.text, answer.calls))
        return answer

    def _carry_out(self, calls: tuple[Call, ...]) -> None:
        """All questions first, at once; then the calls, one after the other, in the model's order."""
        self._planned = [_planned(call) for call in calls]
        for planned in self._planned:
            self._announce(planned)
        for planned in self._planned:
            if planned.tool is not None and self._asks_about(planned.tool):
                planned.place = planned.tool.real_place(self._setting.cwd)
                planned.asked = self._ask_permission(planned)
        for planned in self._planned:
            self._cancellation.check()
            result = self._result(planned)
            self._setting.session.append(result_message(planned.call.id, result.text))
            self._show_result(planned, result)
        self._planned = []

    def _asks_about(self, tool: Tool) -> bool:
        return self._asks and tool.asks(self._setting.cwd)

    def _result(self, planned: Planned) -> Result:
        if planned.tool is None:
            return Result(text=planned.fault, failed=True)
        if planned.asked is not None and not _allowed(planned.asked.wait(self._cancellation)):
            return Result(text=DENIED, failed=True)
        if self._leads_elsewhere(planned, planned.tool):
            return Result(text=MOVED, failed=True)
        planned.running = True
        self._show(
            {"sessionUpdate": "tool_call_update", "toolCallId": planned.call.id, "status": "in_progress"}
        )
        return planned.tool.run(self._setting.cwd, self._cancellation)

    def _leads_elsewhere(self, planned: Planned, tool: Tool) -> bool:
        """Whether what was asked about, or needed no question, is not what would run now: a link was moved."""
        if planned.asked is None:
            return self._asks_about(tool)
        return tool.real_place(self._setting.cwd) != planned.place

    def _interrupted(self) -> None:
        """Leave the conversation whole: every call has a result, and the model can see what happened."""
        session = self._setting.session
        if self._said:
            session.append(_assistant_message(self._said, ()))
        running = {planned.call.id for planned in self._planned if planned.running}
        for call_id in list(session.unanswered()):
            text = ABORTED_RUNNING if call_id in running else ABORTED_BEFORE
            session.append(result_message(call_id, text))
        session.append(user_message(INTERRUPTED))

    # What the client is shown

    def _show(self, update: dict[str, object]) -> None:
        self._setting.client.notify(
            "session/update", {"sessionId": self._setting.session.id, "update": update}
        )

    def _show_user(self, message_id: str, text: str) -> None:
        self._show({"sessionUpdate": "user_message_chunk", "messageId": message_id, "content": _text(text)})

    def _announce(self, planned: Planned) -> None:
        self._show(
            {"sessionUpdate": "tool_call", "status": "pending", **described(planned.call, planned.tool)}
        )

    def _ask_permission(self, planned: Planned) -> Asked:
        return self._setting.client.ask(
            "session/request_permission",
            {
                "sessionId": self._setting.session.id,
                "toolCall": described(planned.call, planned.tool),
                "options": OPTIONS,
            },
        )

    def _show_result(self, planned: Planned, result: Result) -> None:
        shown = result.text if result.shown is None else result.shown
        status = {} if result.exit_status is None else {"rawOutput": {"exitCode": result.exit_status}}
        self._show(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": planned.call.id,
                "status": "failed" if result.failed else "completed",
                "content": [{"type": "content", "content": _text(shown)}],
                **status,
            }
        )

    def _usage(self) -> dict[str, object]:
        used = self._tokens
        return {
            "totalTokens": used.input + used.output,
            "inputTokens": used.input - used.cached,
            "cachedReadTokens": used.cached,
            "outputTokens": used.output,
        }


def described(call: Call, tool: Tool | None) -> dict[str, object]:
    """A call in ACP's words."""
    if tool is None:
        return {"toolCallId": call.id, "title": call.name, "kind": "other", "rawInput": call.arguments}
    places = [] if tool.place is None else [{"path": tool.place}]
    return {
        "toolCallId": call.id,
        "title": tool.title,
        "kind": tool.kind,
        "rawInput": msgspec.to_builtins(tool),
        "locations": places,
        "content": tool.content(),
    }


def _planned(call: Call) -> Planned:
    try:
        return Planned(call=call, tool=tool_of(call))
    except BadCall as fault:
        return Planned(call=call, tool=None, fault=str(fault))


def _allowed(answer: msgspec.Raw) -> bool:
    try:
        given = msgspec.json.decode(answer, type=_Permission)
    except msgspec.DecodeError:
        return False  # an error, or nothing that we know: nobody has allowed it
    return given.outcome == _Outcome(outcome="selected", option_id="yes")


def _text(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def _user_messages(steers: list[Steer]) -> list[Message]:
    return [user_message(steer.text) for steer in steers]


def _assistant_message(text: str, calls: tuple[Call, ...]) -> Message:
    message: Message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return message
