"""One running Claude Code: commands down, lines up."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from checkrein.adapters.calls import PendingCalls
from checkrein.adapters.claude_code import wire_texts
from checkrein.adapters.claude_code.endings import totals
from checkrein.adapters.claude_code.launch import ASK_RULES, PERMISSION_MODE, is_closed
from checkrein.adapters.claude_code.messages import (
    UNUSED_TYPES,
    Ask,
    Assistant,
    CommandLifecycle,
    ControlCancelRequest,
    ControlReply,
    ControlRequest,
    ControlResponse,
    Initialized,
    Line,
    Result,
    StreamEvent,
    System,
    User,
    control_answer,
    control_request,
    decode_head,
    decode_initialized,
    decode_line,
    decode_permissions,
    decode_receipt,
    decode_unread_request,
    decode_usage,
    decode_withdrawal,
    user_message,
)
from checkrein.adapters.claude_code.questions import answer_of, question_of, refusal_of
from checkrein.adapters.claude_code.translate import Purpose, Translator
from checkrein.adapters.errors import (
    ApprovalStale,
    CallRefused,
    HandshakeFailed,
    HarnessDied,
    SessionNotFound,
    SteerReason,
    SteerRejected,
)
from checkrein.adapters.interface import Connection, Decision, DecisionKind, Opened, Origin, SessionSpec
from checkrein.adapters.native import (
    Asked,
    NativeEvent,
    Notice,
    NoticeKind,
    Question,
    QuestionVoided,
    UsageReported,
    UsageScope,
)
from checkrein.adapters.transport import HarnessProcess

#: States of a message's lifecycle that say that it was taken.
TAKEN_STATES = frozenset({"queued", "started", "completed"})


class ClaudeCodeConnection(Connection):
    """One process of Claude Code, holding one conversation.

    Args:
        spec: what the process was launched for.
        process: the process.
        session_id: the id of the conversation (for a fork, the new one).
    """

    def __init__(self, spec: SessionSpec, process: HarnessProcess, session_id: str) -> None:
        super().__init__(spec, process)
        self._session_id = session_id
        self._translator = Translator()
        self._controls = PendingCalls[ControlReply]("Claude Code")
        self._taken = PendingCalls[str]("Claude Code")
        self._asks: dict[str, tuple[Ask, Question]] = {}
        self._replies: list[bytes] = []
        self._calls_made = 0
        self._usage_call = ""
        self._interrupt_calls: set[str] = set()
        self._granted = False

    def decode(self, lines: list[bytes]) -> Iterator[NativeEvent]:
        """Translate a batch of output lines."""
        for line in lines:
            try:
                message = decode_line(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as fault:
                yield from self._undecoded(line, fault)
                continue
            # Two of three lines are pieces of the model's stream: they take the short way.
            if not isinstance(message, StreamEvent):
                yield from self._message(message)
            elif (piece := self._translator.piece(message)) is not None:
                yield piece
            elif message.event.type == "message_start":
                yield from self._translator.answer_begins(message)

    def _message(self, message: Line) -> Iterator[NativeEvent]:
        match message:
            case StreamEvent():
                return  # dealt with in `decode`
            case Assistant():
                yield from self._translator.assistant(message)
            case User():
                yield from self._translator.user(message)
            case System():
                yield from self._translator.system(message)
            case CommandLifecycle():
                self._taken.settle(message.command_uuid, message.state)
                yield from self._translator.lifecycle(message)
            case Result():
                yield from self._translator.result(message)
            case ControlResponse(response=reply):
                yield from self._answered(_own(reply))
            case ControlRequest():
                yield from self._asked(message)
            case ControlCancelRequest(request_id=request_id):
                if self._asks.pop(request_id, None) is not None:
                    yield QuestionVoided(question_id=request_id)

    def _answered(self, reply: ControlReply) -> Iterator[NativeEvent]:
        """Settle a call; what it tells of usage and of messages becomes an event at its place in the output."""
        try:
            if reply.subtype == "success" and reply.request_id == self._usage_call:
                session = decode_usage(reply.response).session
                usage = totals(session.model_usage, session.total_cost_usd)
                yield UsageReported(usage=usage, scope=UsageScope.CUMULATIVE, baseline=True)
            elif reply.subtype == "success" and reply.request_id in self._interrupt_calls:
                for message_id in decode_receipt(reply.response).cancelled:
                    yield from self._translator.cancelled(message_id, "interrupt receipt: cancelled")
        except msgspec.DecodeError as fault:
            yield from self._translator.unknown(f"control_response ({fault})")
        self._interrupt_calls.discard(reply.request_id)
        self._controls.settle(reply.request_id, reply)

    def _undecoded(self, line: bytes, fault: Exception) -> Iterator[NativeEvent]:
        if not line.strip():
            return
        # Most unknown messages are ASCII, and a huge one need not be copied to see that there is nothing to repair.
        if not line.isascii() and (repaired := line.decode("utf-8", "replace").encode()) != line:
            yield from self.decode([repaired])
            return
        try:
            kind = decode_head(line).type
        except msgspec.DecodeError:
            yield _stray(line)
            return
        if kind == "control_request":
            yield from self._unread(line, fault)
        elif kind not in UNUSED_TYPES:
            known = isinstance(fault, msgspec.ValidationError) and "Invalid value" not in str(fault)
            yield from self._translator.unknown(f"{kind} ({fault})" if known else kind)

    def _unread(self, line: bytes, fault: Exception) -> Iterator[NativeEvent]:
        """A question of an unknown shape waits for an answer like any other."""
        try:
            request_id = decode_unread_request(line).request_id
        except msgspec.DecodeError:
            yield from self._translator.unknown(f"control_request ({fault})")
        else:
            yield from self._refused(request_id, "")

    def _asked(self, message: ControlRequest) -> Iterator[NativeEvent]:
        ask = message.request
        if ask.subtype == "can_use_tool":
            ask = msgspec.structs.replace(ask, input=ask.input.copy())
            question = question_of(message.request_id, ask, self.spec.cwd)
            self._asks[message.request_id] = (ask, question)
            yield Asked(question=question)
            return
        yield from self._refused(message.request_id, ask.subtype)

    def _refused(self, request_id: str, subtype: str) -> Iterator[NativeEvent]:
        self._replies.append(refusal_of(request_id, subtype))
        text = f"refused a question of the harness: {subtype or 'unnamed'}"
        yield Notice(kind=NoticeKind.REFUSED_QUESTION, text=text)

    def take_replies(self) -> list[bytes]:
        """Refusals of questions that nobody can answer."""
        replies, self._replies = self._replies, []
        return replies

    def fail_calls(self, error: Exception) -> None:
        """The process is gone."""
        self._controls.fail_all(error)
        self._taken.fail_all(error)

    async def open(self) -> Opened:
        """Shake hands; read back version and policy, and for a conversation that goes on, where its usage stands."""
        try:
            reply = await self._call("initialize")
            hello = decode_initialized(reply.response)
            policy = await self._policy(hello)
            if self.spec.origin is not Origin.NEW:
                self._usage_call = self._next_call_id()
                await self._call("get_usage", self._usage_call)
        except HarnessDied as death:
            raise _not_opened(death, self.spec.session_id) from None
        except (CallRefused, msgspec.DecodeError) as fault:
            raise HandshakeFailed(
                f"Claude Code did not answer as expected: {fault}",
                where=str(self.spec.binary.path),
                advice="use a version that this adapter knows (2.1.296 and 2.1.332 were seen)",
            ) from None
        if not hello.claude_code_version:
            raise HandshakeFailed(
                "Claude Code does not state its version",
                where=str(self.spec.binary.path),
                advice="use a version that this adapter knows (2.1.296 and 2.1.332 were seen)",
            )
        return Opened(
            session_id=self._session_id,
            version=hello.claude_code_version,
            policy_asked=self._policy_asked(),
            policy_effective=policy,
            model=None if self.spec.endpoint is None else self.spec.endpoint.model,
        )

    def _policy_asked(self) -> dict[str, str]:
        asked = {"permission_mode": PERMISSION_MODE}
        if is_closed(self.spec):
            asked |= {"ask_rules": ", ".join(sorted(ASK_RULES)), "allow_rules": ""}
        return asked

    async def _policy(self, hello: Initialized) -> dict[str, str]:
        mode = hello.current_permission_mode
        policy = {"permission_mode": wire_texts.PERMISSION_MODES.get(mode, mode)}
        if is_closed(self.spec):
            rules = decode_permissions((await self._call("list_permission_rules")).response).state.rules
            for key, behavior in (("ask_rules", "ask"), ("allow_rules", "allow")):
                policy[key] = ", ".join(sorted(rule.rule for rule in rules if rule.behavior == behavior))
        return policy

    async def start_turn(self, turn_id: str, prompt: str) -> None:
        """Send the prompt of a turn; returns when the harness has taken it."""
        await self._send_message(turn_id, prompt, Purpose.PROMPT)

    async def steer(self, steer_id: str, text: str) -> None:
        """Add a message to the running turn; returns when the harness has queued it.

        Claude Code never refuses one for want of a turn: without one it starts a turn, which `decode` shows.
        """
        state = await self._send_message(steer_id, text, Purpose.STEER)
        if state not in TAKEN_STATES:
            raise SteerRejected(SteerReason.NOT_STEERABLE, by="harness", message=f"command_lifecycle {state}")

    async def withdraw(self, steer_id: str) -> bool:
        """Take back a steer; its lifecycle says `cancelled` before the answer comes (2.1.296, 2.1.332).

        False when the message has joined the turn, or was never taken.
        """
        reply = await self._call("cancel_async_message", message_uuid=steer_id)
        try:
            return decode_withdrawal(reply.response).cancelled
        except msgspec.DecodeError as fault:
            raise CallRefused(f"Claude Code's answer to a withdrawal cannot be read: {fault}") from None

    async def _send_message(self, message_id: str, text: str, purpose: Purpose) -> str:
        line = user_message(message_id, text)
        self._translator.sending(message_id, purpose)
        self._taken.expect(message_id)
        what = f"the {purpose.value}"
        await self.send(line, what)
        return await self._taken.wait(message_id, what=what, seconds=self.spec.call_seconds)

    async def interrupt(self) -> None:
        """Stop the turn and drop what is queued. Idle, it is acknowledged and does nothing.

        A prompt of ours that waits behind a turn which the harness began by itself is not dropped: it runs next.
        """
        call_id = self._next_call_id()
        self._interrupt_calls.add(call_id)
        await self._call("interrupt", call_id, cancel_queued=not self._translator.prompt_waits)

    async def settle(self) -> None:
        """Nothing is needed: when `result` is out, the foreground tools are gone. Background jobs are left alone."""

    async def answer(self, question: Question, decision: Decision) -> None:
        """Answer a question; Claude Code acknowledges no answer, so it has been sent when this returns.

        Raises:
            ApprovalStale: the harness has withdrawn it; nothing was sent.
        """
        asked = self._asks.pop(question.question_id, None)
        if asked is None:
            raise ApprovalStale("the question is not open any more", resolved_by="harness")
        ask, own = asked
        if decision.kind is DecisionKind.DENY:
            self._translator.denied(ask.tool_use_id)
        response = answer_of(ask, own, decision)
        self._granted = self._granted or "updatedPermissions" in response
        await self.send(control_answer(question.question_id, response), "the answer to a question")

    @property
    def holds_grants(self) -> bool:
        """Whether a rule was passed; it lives as long as the process and is not resumed (2.1.296, 2.1.332)."""
        return self._granted

    def _next_call_id(self) -> str:
        self._calls_made += 1
        return f"call-{self._calls_made}"

    async def _call(self, subtype: str, call_id: str = "", **fields: object) -> ControlReply:
        call_id = call_id or self._next_call_id()
        line = control_request(call_id, subtype, **fields)
        self._controls.expect(call_id)
        await self.send(line, subtype)
        reply = await self._controls.wait(call_id, what=subtype, seconds=self.spec.call_seconds)
        if reply.subtype != "success":
            raise CallRefused(
                f"Claude Code refused {subtype}",
                code=reply.error_code,
                message=reply.error,
                where=reply.error,
            )
        return reply


def _own(reply: ControlReply) -> ControlReply:
    """The reply with its bytes copied: the line that they lie in is gone when it is read."""
    return msgspec.structs.replace(reply, response=reply.response.copy())


def _stray(line: bytes) -> Notice:
    return Notice(kind=NoticeKind.STRAY_OUTPUT, text=line[:500].decode("utf-8", "replace"))


def _not_opened(death: HarnessDied, session_id: str) -> HarnessDied | SessionNotFound | HandshakeFailed:
    if wire_texts.NO_CONVERSATION in death.stderr:
        return SessionNotFound(
            "Claude Code has no conversation of that id",
            where=session_id,
            advice="a conversation is stored with its first turn, in the configuration directory it was held in",
        )
    if wire_texts.SESSION_IN_USE in death.stderr:
        return HandshakeFailed(
            "a new conversation cannot have that id: there is one",
            where=session_id,
            advice="resume it, or take another id",
        )
    return death
