"""One running agent that holds one conversation: commands down, events up."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from importlib.metadata import version
from typing import TypeVar

import anyio
import msgspec

from checkrein.adapters.acp import messages as m
from checkrein.adapters.acp.declaration import AcpDeclaration, Deny
from checkrein.adapters.acp.launch import policy_declaration
from checkrein.adapters.acp.questions import (
    OpenQuestion,
    Refused,
    answer_line,
    cancelled_line,
    read_question,
)
from checkrein.adapters.acp.steers import INJECTED, REFUSALS, STARTED_TURN
from checkrein.adapters.acp.translate import Translator
from checkrein.adapters.calls import PendingCalls
from checkrein.adapters.errors import (
    ApprovalStale,
    CallExpired,
    CallRefused,
    HandshakeFailed,
    SessionNotFound,
    SteerReason,
    SteerRejected,
    TurnActive,
    Unsupported,
)
from checkrein.adapters.interface import Connection, Decision, DecisionKind, Opened, Origin, SessionSpec
from checkrein.adapters.manifest import Manifest
from checkrein.adapters.native import Asked, NativeEvent, Notice, NoticeKind, Question
from checkrein.adapters.news import News
from checkrein.adapters.transport import HarnessProcess

T = TypeVar("T", bound=msgspec.Struct)

#: Methods that no agent has. ACP has no acknowledgement of a prompt, and updates do not say which turn they are of. But
#: messages are read and answered in order, and a request for an unknown method must be answered: what comes before the
#: first answer is not of the prompt, and the second one says that the prompt was read.
BEFORE_PROMPT, BEHIND_PROMPT = "_checkrein/before_prompt", "_checkrein/behind_prompt"

PROMPT, STEERING = "session/prompt", "_session/steering"


class AcpConnection(Connection):
    """Speaks with an agent; the facts it rests on are in docs/harnesses/acp.md.

    Args:
        declaration: what the agent does where the protocol leaves the choice.
        manifest: of the agent.
    """

    def __init__(
        self,
        spec: SessionSpec,
        process: HarnessProcess,
        declaration: AcpDeclaration,
        manifest: Manifest,
    ) -> None:
        super().__init__(spec, process)
        self._declaration = declaration
        self._manifest = manifest
        self._calls: PendingCalls[m.Incoming] = PendingCalls(manifest.title)
        self._last_id = 0
        #: method and subject (turn or steer id of ours) of the requests that have no answer yet
        self._sent: dict[m.RequestId, tuple[str, str]] = {}
        self._translator = Translator(declaration)
        self._questions: dict[str, OpenQuestion] = {}
        self._replies: list[bytes] = []
        self._late: list[NativeEvent] = []
        self._news = News()
        self._session_id = ""
        self._steerable = False

    # ---- up ----

    def decode(self, lines: list[bytes]) -> list[NativeEvent]:
        """See `Connection.decode`."""
        events, self._late = self._late, []
        for line in lines:
            if not line.strip():
                continue
            try:
                message = _incoming.decode(line)
                if message.method is not None and message.id is not None:
                    events += self._asked(message.id, message.method, message.params)
                elif message.method == "session/update":
                    events += self._translator.update(message.params)
                elif message.method is not None:
                    events += self._notified(message.method, message.params)
                elif message.id is not None:
                    events += self._answered(message.id, message)
                else:
                    events.append(_stray(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as fault:
                events += self._unreadable(line, fault)
        self._news.came()
        return events

    def _unreadable(self, line: bytes, fault: Exception) -> Iterator[NativeEvent]:
        if line.startswith(b"{"):
            yield from self._translator.unknown(str(fault), f"cannot read a message of the agent: {fault}")
        else:
            yield _stray(line)

    def _asked(self, request_id: m.RequestId, method: str, params: msgspec.Raw) -> Iterator[NativeEvent]:
        turn = self._translator.turn
        read = read_question(
            request_id, method, params, known=turn.calls if turn is not None else {}, cwd=self.spec.cwd
        )
        if isinstance(read, Refused):
            self._replies.append(read.line)
            yield Notice(kind=NoticeKind.REFUSED_QUESTION, text=read.text)
            return
        if turn is not None and turn.stopping:
            # It was asked before the agent read the cancel, and waits for this.
            self._replies.append(cancelled_line(read))
            text = f"a question about {read.question.call.name} came after the interrupt and was cancelled"
            yield Notice(kind=NoticeKind.REFUSED_QUESTION, text=text)
            return
        self._questions[read.question.question_id] = read
        yield Asked(question=read.question)

    def _notified(self, method: str, params: msgspec.Raw) -> Iterator[NativeEvent]:
        if method == self._declaration.retry_notification:
            yield from self._translator.retrying(msgspec.json.decode(params, type=m.RetryNotice).message)
        else:
            yield from self._translator.unknown(method, f"unknown notification {method}")

    def _answered(self, call_id: m.RequestId, answer: m.Incoming) -> Iterator[NativeEvent]:
        method, subject = self._sent.pop(call_id, ("", ""))
        error = answer.error if isinstance(answer.error, m.RpcError) else None
        match method:
            case "session/prompt":
                yield from self._prompt_answered(subject, answer)
            case "_session/steering":
                yield from self._steered(subject, _result(answer, m.Steered))
            case "" if (done := _result(answer, m.PromptDone)) is not None:
                # Of a prompt that we did not send.
                yield from self._translator.prompt_answered(None, done)
            case "":
                words = error.words if error is not None else "a result"
                yield from self._translator.unknown(
                    f"answer {words}", f"the agent answered what was not asked: {words}"
                )
            case _ if method == BEFORE_PROMPT:
                self._translator.prompt_comes(subject)
            case _ if method == BEHIND_PROMPT:
                yield from self._translator.prompt_read(subject)
            case _:
                pass
        self._calls.settle(str(call_id), answer)

    def _prompt_answered(self, turn_id: str, answer: m.Incoming) -> Iterator[NativeEvent]:
        if isinstance(answer.error, m.RpcError):
            yield from self._translator.prompt_failed(turn_id, answer.error)
        elif (done := _result(answer, m.PromptDone)) is not None:
            yield from self._translator.prompt_answered(turn_id, done)
        else:
            error = m.RpcError(code=0, message=f"the answer to a prompt cannot be read: {_shown(answer)}")
            yield from self._translator.prompt_failed(turn_id, error)

    def _steered(self, steer_id: str, steered: m.Steered | None) -> Iterator[NativeEvent]:
        outcome = steered.outcome if steered is not None else ""
        if outcome == INJECTED:
            yield from self._translator.steers.accepted(steer_id)
            return
        yield from self._translator.steers.refused(steer_id)
        if outcome == STARTED_TURN:
            yield from self._translator.opened_by_itself(
                "the agent began a turn with a steer that came too late"
            )

    def take_replies(self) -> list[bytes]:
        """See `Connection.take_replies`."""
        replies, self._replies = self._replies, []
        return replies

    def fail_calls(self, error: Exception) -> None:
        """See `Connection.fail_calls`."""
        self._calls.fail_all(error)

    # ---- down ----

    async def open(self) -> Opened:
        """See `Connection.open`."""
        about = m.Implementation(name="checkrein", title="Checkrein", version=version("checkrein"))
        greeting = m.Initialize(protocol_version=m.PROTOCOL_VERSION, client_info=about)
        answer = await self._call("initialize", greeting)
        hello = _result(answer, m.Initialized)
        if hello is None or hello.protocol_version != m.PROTOCOL_VERSION:
            raise HandshakeFailed(
                f"the agent does not speak version {m.PROTOCOL_VERSION} of ACP", where=_shown(answer)
            )
        steering = hello.meta.steering if hello.meta is not None else None
        self._steerable = steering is not None and steering.supported
        opened = await self._open_conversation(hello.agent_capabilities or m.AgentCapabilities())
        asked, said = await self._mode(opened)
        self._translator.listening = True
        return Opened(
            session_id=self._session_id,
            version=hello.agent_info.version if hello.agent_info is not None else "not told",
            policy_asked=asked,
            policy_effective=said,
        )

    async def _open_conversation(self, able: m.AgentCapabilities) -> m.SessionOpened:
        method = self._opening(able)
        session_id = msgspec.UNSET if self.spec.origin is Origin.NEW else self.spec.session_id
        params = m.OpenSession(cwd=str(self.spec.cwd), session_id=session_id)
        answer = await self._call(method, params)
        if isinstance(answer.error, m.RpcError):
            words = answer.error.words
            unknown = any(text in words for text in self._declaration.unknown_session)
            if answer.error.code == m.RESOURCE_NOT_FOUND or unknown:
                raise SessionNotFound(
                    f"{self._manifest.title} has no conversation {self.spec.session_id}",
                    where=words,
                    advice="check the id and the home",
                )
            raise HandshakeFailed(f"{self._manifest.title} refused {method}", where=words)
        opened = _result(answer, m.SessionOpened)
        named = None if opened is None else opened.session_id
        if self.spec.origin is Origin.RESUME:
            if named not in (None, self.spec.session_id):
                raise HandshakeFailed(f"the agent resumed {named} instead of {self.spec.session_id}")
            named = self.spec.session_id
        if named is None:
            raise HandshakeFailed(f"the answer to {method} names no session", where=_shown(answer))
        self._session_id = named
        return opened or m.SessionOpened()

    def _opening(self, able: m.AgentCapabilities) -> str:
        """The method that opens the conversation of the spec."""
        more = able.session_capabilities or m.SessionCapabilities()
        match self.spec.origin:
            case Origin.NEW:
                return "session/new"
            case Origin.FORK if more.fork is not None:
                return "session/fork"
            case Origin.RESUME if more.resume is not None:
                return "session/resume"
            case Origin.RESUME if able.load_session:
                return "session/load"
            case origin:
                raise Unsupported(f"{self._manifest.title} does not offer to {origin.value} a conversation")

    async def _mode(self, opened: m.SessionOpened) -> tuple[dict[str, str], dict[str, str]]:
        """The mode that was asked for, and the one that the agent says is in force; nothing where it has none."""
        policy = policy_declaration(self.spec, self._declaration, self._manifest)
        if policy.mode is None:
            return {}, {}
        if opened.modes is not None:
            self._translator.mode = opened.modes.current_mode_id
        if policy.set_mode:
            self._translator.mode = None
            params = m.SetMode(session_id=self._session_id, mode_id=policy.mode)
            _accepted(await self._call("session/set_mode", params), "session/set_mode")
            # What it says by itself counts; else its acknowledgement does.
            self._translator.mode = self._translator.mode or policy.mode
        return {"mode": policy.mode}, {"mode": self._translator.mode or "not told"}

    async def start_turn(self, turn_id: str, prompt: str) -> None:
        """See `Connection.start_turn`.

        Raises:
            TurnActive: a turn runs.
        """
        if self._translator.turn is not None:
            does = self._declaration.prompt_while_running.value
            raise TurnActive(f"a turn is active: the agent would {does} a second prompt", where=PROMPT)
        self._translator.prompt_sent(turn_id, prompt)
        blocks = (m.TextBlock(text=prompt),)
        own = m.SessionOnly(session_id=self._session_id)
        await self._send_request(BEFORE_PROMPT, own, turn_id)
        await self._send_request(PROMPT, m.Prompt(session_id=self._session_id, prompt=blocks), turn_id)
        await self._call(BEHIND_PROMPT, own, subject=turn_id)

    async def steer(self, steer_id: str, text: str) -> None:
        """See `Connection.steer`. An agent that does not offer `_session/steering` cannot be steered."""
        turn = self._translator.turn
        if turn is None:
            raise SteerRejected(SteerReason.NO_ACTIVE_TURN)
        if not self._steerable:
            raise SteerRejected(SteerReason.UNSUPPORTED)
        if not await self._news.until(
            lambda: turn.opened or self._translator.turn is not turn, seconds=self.spec.call_seconds
        ):
            raise CallExpired("the agent did not start the turn", where=STEERING)
        if self._translator.turn is not turn:
            raise SteerRejected(SteerReason.TURN_ENDED)
        if turn.stopping:
            raise SteerRejected(SteerReason.INTERRUPTING)
        self._translator.steers.sent(steer_id, text)
        try:
            answer = await self._steer(steer_id, text)
        except CallExpired:
            if self._translator.steers.unanswered(steer_id, over=self._translator.turn is not turn):
                words = "no answer, and the turn ended without it"
                raise SteerRejected(SteerReason.TURN_ENDED, by="harness", message=words) from None
            raise
        if isinstance(answer.error, m.RpcError) and answer.error.code == m.METHOD_NOT_FOUND:
            raise SteerRejected(SteerReason.UNSUPPORTED, by="harness", message=answer.error.words)
        steered = _result(_accepted(answer, STEERING), m.Steered)
        if steered is None or steered.outcome != INJECTED:
            reason = REFUSALS.get("" if steered is None else steered.outcome, SteerReason.NOT_STEERABLE)
            raise SteerRejected(reason, by="harness", message=_shown(answer))

    async def _steer(self, message_id: str, text: str) -> m.Incoming:
        meta = m.SteeringMeta(steering=m.SteeringWish(message_id=message_id))
        blocks = (m.TextBlock(text=text),)
        params = m.Steering(session_id=self._session_id, prompt=blocks, meta=meta)
        return await self._call(STEERING, params, subject=message_id)

    async def interrupt(self) -> None:
        """See `Connection.interrupt`. `session/cancel` has no acknowledgement but the end of the turn."""
        turn = self._translator.turn
        if turn is None:
            return
        if not await self._news.until(
            lambda: turn.opened or self._translator.turn is not turn, seconds=self.spec.call_seconds
        ):
            raise CallExpired("the agent did not start the turn", where="session/cancel")
        if self._translator.turn is not turn:
            return
        turn.stopping = True
        cancel = m.Notification(method="session/cancel", params=m.SessionOnly(session_id=self._session_id))
        await self.send(m.line(cancel), "session/cancel")
        # The protocol demands it, and gemini-cli 0.61.0 does not end its turn before.
        questions, self._questions = self._questions, {}
        for opened in questions.values():
            await self.send(cancelled_line(opened), "the end of a question")

    async def settle(self) -> None:
        """See `Connection.settle`: ACP has nothing for it; processes that are left are ended by the ladder."""

    async def answer(self, question: Question, decision: Decision) -> None:
        """See `Connection.answer`.

        An answer has no place for a message to the model, so the message of a deny is added to the turn as a steer of
        the adapter's own, before the answer is sent.

        Raises:
            ApprovalStale: the turn was cancelled, or the question answered.
        """
        opened = self._questions.pop(question.question_id, None)
        if opened is None:
            raise ApprovalStale("the question is no longer open", resolved_by="harness")
        try:
            if decision.kind is DecisionKind.DENY and decision.message:
                await self._tell_why(decision.message)
        finally:
            # Also when the message was refused or the wait for it was cancelled: a deny must not get lost.
            if decision.kind is DecisionKind.DENY:
                self._translator.denied(question.call.call_id)
            with anyio.CancelScope(shield=True):
                await self.send(answer_line(opened, decision.kind), "the answer to a question")

    async def _tell_why(self, message: str) -> None:
        fault = ""
        if self._translator.turn is None or not self._steerable:
            fault = "there is no turn to steer" if self._steerable else "the agent cannot be steered"
        elif self._declaration.deny is Deny.ENDS_TURN:
            fault = "the agent ends the turn at a deny"
        else:
            try:
                steered = _result(await self._steer(f"deny-{uuid.uuid4()}", message), m.Steered)
                fault = "" if steered is not None and steered.outcome == INJECTED else "it was refused"
            except CallExpired as expired:
                fault = str(expired)
        if fault:
            text = f"the message of a deny did not reach the model: {fault}"
            self._late.append(Notice(kind=NoticeKind.WARNING, text=text))

    @property
    def holds_grants(self) -> bool:
        """See `Connection.holds_grants`: none is ever given to an agent."""
        return False

    # ---- calls ----

    async def _call(self, method: str, params: msgspec.Struct, *, subject: str = "") -> m.Incoming:
        call_id = self._next_id(method, subject)
        self._calls.expect(str(call_id))
        await self.send(m.line(m.Request(id=call_id, method=method, params=params)), method)
        return await self._calls.wait(str(call_id), what=method, seconds=self.spec.call_seconds)

    async def _send_request(self, method: str, params: msgspec.Struct, subject: str) -> None:
        """Send a request whose answer nobody waits for; `decode` reads it."""
        request_id = self._next_id(method, subject)
        await self.send(m.line(m.Request(id=request_id, method=method, params=params)), method)

    def _next_id(self, method: str, subject: str) -> int:
        self._last_id += 1
        self._sent[self._last_id] = (method, subject)
        return self._last_id


_incoming = msgspec.json.Decoder(m.Incoming)


def _result(answer: m.Incoming, shape: type[T]) -> T | None:
    if isinstance(answer.error, m.RpcError):
        return None
    try:
        return msgspec.json.decode(answer.result, type=shape)
    except msgspec.DecodeError:
        return None


def _accepted(answer: m.Incoming, method: str) -> m.Incoming:
    """Return the answer unless it is a refusal."""
    if isinstance(answer.error, m.RpcError):
        words = answer.error.words
        raise CallRefused(
            f"the agent refused {method}", code=answer.error.code, message=words, where=words[:400]
        )
    return answer


def _shown(answer: m.Incoming) -> str:
    return msgspec.json.encode(answer)[:400].decode("utf-8", "replace")


def _stray(line: bytes) -> Notice:
    return Notice(kind=NoticeKind.STRAY_OUTPUT, text=line[:400].decode("utf-8", "replace"))
