"""One running app-server that holds one conversation: commands down, events up."""

from __future__ import annotations

import re
import uuid
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec

from checkrein.adapters.calls import PendingCalls
from checkrein.adapters.codex import messages as m
from checkrein.adapters.codex import received as r
from checkrein.adapters.codex.launch import opening, policy_asked, policy_said
from checkrein.adapters.codex.questions import (
    OpenQuestion,
    Refused,
    answer_line,
    grants_for_the_process,
    message_goes_as_steer,
    question_key,
    read_question,
)
from checkrein.adapters.codex.steers import steer_refusal
from checkrein.adapters.codex.translate import TEXT_PIECE, RunningTurn, Translator
from checkrein.adapters.codex.wire_texts import Refusal, recognise
from checkrein.adapters.errors import (
    ApprovalStale,
    CallExpired,
    CallRefused,
    HandshakeFailed,
    SessionNotFound,
    SteerReason,
    SteerRejected,
    TurnActive,
)
from checkrein.adapters.interface import Connection, Decision, DecisionKind, Opened, Origin, SessionSpec
from checkrein.adapters.native import (
    Asked,
    NativeEvent,
    Notice,
    NoticeKind,
    Question,
    QuestionVoided,
    Usage,
    UsageReported,
    UsageScope,
)
from checkrein.adapters.news import News
from checkrein.adapters.transport import HarnessProcess, ProcessInfo

#: how long to wait for news before a refused interrupt is tried again, in seconds
INTERRUPT_RETRY_SECONDS = 0.02
CLEAN = "thread/backgroundTerminals/clean"
#: how long the ends of cleaned commands are waited for, in seconds; they came within 10 ms (0.171.0)
DYING_SECONDS = 0.5
#: the one process that the app-server starts for itself (0.171.0)
CODE_MODE_HOST = "codex-code-mode-host"

T = TypeVar("T", bound=msgspec.Struct)

_USER_AGENT_VERSION = re.compile(r"[^/]+/(\S+)")


class CodexConnection(Connection):
    """Speaks with `codex app-server`; the facts it rests on are in docs/harnesses/codex.md."""

    def __init__(self, spec: SessionSpec, process: HarnessProcess) -> None:
        super().__init__(spec, process)
        self._calls: PendingCalls[m.Incoming] = PendingCalls("Codex")
        self._last_id = 0
        #: method and subject (turn or steer id of ours) of the calls that have no answer yet
        self._sent: dict[m.RequestId, tuple[str, str]] = {}
        self._translator = Translator()
        self._questions: dict[str, OpenQuestion] = {}
        self._replies: list[bytes] = []
        self._late: list[NativeEvent] = []
        self._news = News()
        self._interrupting = anyio.Lock()
        self._interrupted: RunningTurn | None = None
        self._holds_grants = False

    # ---- up ----

    def decode(self, lines: list[bytes]) -> list[NativeEvent]:
        """See `Connection.decode`."""
        events, self._late = self._late, []
        for line in lines:
            if not line.strip():
                continue
            try:
                message = _incoming.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                events.append(_stray(line))
                continue
            if message.method == TEXT_PIECE:  # most of what it says: the short way
                events += self._translator.text_piece(message.params)
            elif message.method is not None:
                if isinstance(message.id, int | str):
                    events += self._asked(message.id, message.method, message.params)
                elif message.method == "serverRequest/resolved":
                    events += self._resolved(message.params)
                else:
                    events += self._translator.notification(message.method, message.params)
            elif isinstance(message.id, int | str):
                events += self._answered(message.id, message)
            else:
                events.append(_stray(line))
        self._news.came()
        return events

    def _asked(self, request_id: m.RequestId, method: str, params: msgspec.Raw) -> list[NativeEvent]:
        read = read_question(request_id, method, params, self._translator.changes)
        if isinstance(read, Refused):
            self._replies.append(read.line)
            return [Notice(kind=NoticeKind.REFUSED_QUESTION, text=read.text)]
        self._questions[read.question.question_id] = read
        self._translator.asked(read.item_id, waits=True)
        return [Asked(question=read.question)]

    def _resolved(self, params: msgspec.Raw) -> list[NativeEvent]:
        try:
            resolved = msgspec.json.decode(params, type=r.RequestResolved)
        except msgspec.DecodeError as fault:
            return [
                Notice(kind=NoticeKind.UNKNOWN_MESSAGE, text=f"cannot read serverRequest/resolved: {fault}")
            ]
        key = question_key(resolved.request_id)
        question = self._questions.pop(key, None)
        if question is None:  # the echo of our own answer
            return []
        self._translator.asked(question.item_id, waits=False)
        return [QuestionVoided(question_id=key)]

    def _answered(self, call_id: m.RequestId, answer: m.Incoming) -> list[NativeEvent]:
        method, subject = self._sent.pop(call_id, ("", ""))
        refused = not isinstance(answer.error, msgspec.UnsetType)
        events: list[NativeEvent] = []
        match method:
            case "thread/start" | "thread/resume" | "thread/fork" if not refused:
                if (opened := _result(answer, r.ThreadOpened)) is not None:
                    self._translator.thread_id = opened.thread.id
                if method == "thread/start":
                    nothing = Usage(input_tokens=0, cached_tokens=0, output_tokens=0)
                    events.append(UsageReported(usage=nothing, scope=UsageScope.CUMULATIVE, baseline=True))
            case "turn/start" if refused:
                self._translator.prompt_refused(subject)
            case "turn/start":
                if (started := _result(answer, r.TurnStarted)) is not None:
                    self._translator.prompt_answered(started.turn.id)
            case "turn/steer" if refused:
                events += self._translator.steers.refused(subject)
            case "turn/steer":
                events += self._translator.steers.accepted(subject)
            case "thread/backgroundTerminals/clean" if not refused:
                events += self._translator.terminals_cleaned()
            case _:
                pass
        self._calls.settle(str(call_id), answer)
        return events

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
        about = m.ClientInfo(name="checkrein", title="Checkrein", version=version("checkrein"))
        capabilities = m.Capabilities(experimental_api=True, request_attestation=False)
        greeted = await self._call("initialize", m.Initialize(client_info=about, capabilities=capabilities))
        hello = _result(greeted, r.InitializeResult)
        stated = _USER_AGENT_VERSION.match(hello.user_agent) if hello is not None else None
        if stated is None:
            raise HandshakeFailed(
                "the app-server's answer to initialize is no greeting", where=_shown(greeted)
            )
        await self.send(m.line(m.Initialized()), "initialized")
        method, params = opening(self.spec)
        answer = await self._call(method, params)
        if isinstance(answer.error, m.RpcError):
            if recognise(answer.error.message) is Refusal.UNKNOWN_THREAD:
                raise SessionNotFound(
                    f"Codex has no conversation {self.spec.session_id}",
                    where=answer.error.message,
                    advice="a conversation is on disk from its first turn on; check the id and the home",
                )
            raise HandshakeFailed(f"Codex refused {method}", where=answer.error.message)
        opened = _result(answer, r.ThreadOpened)
        if opened is None:
            raise HandshakeFailed(f"the answer to {method} is no opened conversation", where=_shown(answer))
        if self.spec.origin is Origin.RESUME and opened.thread.id != self.spec.session_id.lower():
            raise HandshakeFailed(
                f"Codex resumed {opened.thread.id} instead of {self.spec.session_id}", where=method
            )
        asked = policy_asked(self.spec)
        said = policy_said(opened)
        return Opened(
            session_id=opened.thread.id,
            version=stated[1],
            policy_asked=asked,
            policy_effective={name: said[name] for name in asked},
            model=opened.model,
        )

    async def start_turn(self, turn_id: str, prompt: str) -> None:
        """See `Connection.start_turn`.

        Raises:
            TurnActive: a turn runs. The harness would take the prompt for a steer, without an error.
        """
        if self._translator.turn is not None:
            raise TurnActive("a turn is active: its prompt would be taken for a steer", where="turn/start")
        self._translator.prompt_sent(turn_id)
        params = m.TurnStart(
            thread_id=self._translator.thread_id,
            input=(m.TextInput(text=prompt),),
            client_user_message_id=turn_id,
        )
        _accept(await self._call("turn/start", params, subject=turn_id), "turn/start")

    async def steer(self, steer_id: str, text: str) -> None:
        """See `Connection.steer`. Waits for turn/started first: before it, the harness knows of no turn."""
        turn = self._translator.turn
        if turn is None:
            raise SteerRejected(SteerReason.NO_ACTIVE_TURN)
        seconds = self.spec.call_seconds
        if not await self._news.until(
            lambda: turn.opened or self._translator.turn is not turn, seconds=seconds
        ):
            raise CallExpired("Codex did not start the turn", where="turn/steer")
        if self._translator.turn is not turn:
            raise SteerRejected(SteerReason.TURN_ENDED)
        self._translator.steers.sent(steer_id)
        try:
            answer = await self._steer(steer_id, text, self._translator.thread_id, turn.native_id)
        except CallExpired:
            if self._translator.steers.unanswered(steer_id, over=self._translator.turn is not turn):
                words = "no answer, and the turn ended without its userMessage item"
                raise SteerRejected(SteerReason.TURN_ENDED, by="harness", message=words) from None
            raise
        if isinstance(answer.error, m.RpcError):
            error = answer.error
            reason = steer_refusal(error)
            if reason is None:
                _accept(answer, "turn/steer")
            else:
                raise SteerRejected(reason, by="harness", message=error.message)

    async def _steer(self, client_id: str, text: str, thread_id: str, turn_id: str) -> m.Incoming:
        params = m.TurnSteer(
            thread_id=thread_id,
            expected_turn_id=turn_id,
            input=(m.TextInput(text=text),),
            client_user_message_id=client_id,
        )
        return await self._call("turn/steer", params, subject=client_id)

    async def interrupt(self) -> None:
        """See `Connection.interrupt`.

        Straight after turn/start 0.171.0 refuses to interrupt ("no active turn"), so turn/started is waited for, and
        what is refused all the same is tried again while the turn runs. A second interrupt of the same turn is not
        sent: 0.162.1 leaves it unanswered until the next turn ends. Without a turn there is nothing to do.
        """
        turn = self._translator.turn
        if turn is None:
            return
        with anyio.move_on_after(self.spec.call_seconds):
            async with self._interrupting:
                await self._interrupt(turn)
                return
        raise CallExpired(f"Codex did not take the interrupt within {self.spec.call_seconds:g} s")

    async def _interrupt(self, turn: RunningTurn) -> None:
        while not turn.opened and self._translator.turn is turn:
            await self._news.wait()
        while self._translator.turn is turn and self._interrupted is not turn:
            params = m.TurnInterrupt(thread_id=self._translator.thread_id, turn_id=turn.native_id)
            answer = await self._call("turn/interrupt", params)
            if not isinstance(answer.error, m.RpcError):
                self._interrupted = turn
                return
            if recognise(answer.error.message) not in (
                Refusal.NO_TURN_TO_INTERRUPT,
                Refusal.OTHER_TURN_ACTIVE,
            ):
                _accept(answer, "turn/interrupt")
            # Nothing tells when the harness will take it; the deadline is the caller's.
            with anyio.move_on_after(INTERRUPT_RETRY_SECONDS):
                await self._news.wait()

    async def settle(self) -> None:
        """See `Connection.settle`: an interrupt leaves the running command alive as a background terminal."""
        params = m.TerminalsClean(thread_id=self._translator.thread_id)
        _accept(await self._call(CLEAN, params), CLEAN)
        await self._news.until(lambda: not self._translator.commands_dying, seconds=DYING_SECONDS)
        self._translator.forget_commands()

    async def answer(self, question: Question, decision: Decision) -> None:
        """See `Connection.answer`.

        An answer has no place for a message to the model, so the message of a deny is added to the turn as a steer
        of the adapter's own, before the answer is sent: the harness delivers it with the refused call's result, in
        one request.

        Raises:
            ApprovalStale: the harness has resolved the question, or it was answered.
        """
        opened = self._questions.pop(question.question_id, None)
        if opened is None:
            raise ApprovalStale("the question is no longer open", resolved_by="harness")
        try:
            if decision.kind is DecisionKind.DENY and decision.message and message_goes_as_steer(opened):
                await self._tell_why(opened, decision.message)
        finally:
            # Also when the message was refused or the wait for it was cancelled: a deny must not get lost.
            with anyio.CancelScope(shield=True):
                self._holds_grants |= grants_for_the_process(opened, decision)
                self._translator.asked(opened.item_id, waits=False)
                await self.send(answer_line(opened, decision), "the answer to a question")

    async def _tell_why(self, opened: OpenQuestion, message: str) -> None:
        turn_id = opened.turn_id or (self._translator.turn.native_id if self._translator.turn else "")
        try:
            answer = await self._steer(f"deny-{uuid.uuid4()}", message, opened.thread_id, turn_id)
            error = answer.error.message if isinstance(answer.error, m.RpcError) else ""
        except CallExpired as expired:
            error = str(expired)
        if error:
            text = f"the message of a deny did not reach the model: {error}"
            self._late.append(Notice(kind=NoticeKind.WARNING, text=text))

    @property
    def holds_grants(self) -> bool:
        """See `Connection.holds_grants`."""
        return self._holds_grants

    def is_own_process(self, process: ProcessInfo) -> bool:
        """See `Connection.is_own_process`: the host of code mode, which models of the gpt-6 family start."""
        return Path(process.cmdline[0]).name == CODE_MODE_HOST if process.cmdline else False

    # ---- calls ----

    async def _call(self, method: str, params: m.Params, *, subject: str = "") -> m.Incoming:
        self._last_id += 1
        call_id = self._last_id
        self._calls.expect(str(call_id))
        self._sent[call_id] = (method, subject)
        await self.send(m.line(m.Call(id=call_id, method=method, params=params)), method)
        return await self._calls.wait(str(call_id), what=method, seconds=self.spec.call_seconds)


_incoming = msgspec.json.Decoder(m.Incoming)


def _stray(line: bytes) -> Notice:
    return Notice(kind=NoticeKind.STRAY_OUTPUT, text=line[:400].decode("utf-8", "replace"))


def _result(answer: m.Incoming, shape: type[T]) -> T | None:
    if isinstance(answer.result, msgspec.UnsetType):
        return None
    try:
        return msgspec.json.decode(answer.result, type=shape)
    except msgspec.DecodeError:
        return None


def _shown(answer: m.Incoming) -> str:
    return msgspec.json.encode(answer)[:400].decode("utf-8", "replace")


def _accept(answer: m.Incoming, method: str) -> None:
    if isinstance(answer.error, m.RpcError):
        raise CallRefused(
            f"Codex refused {method}",
            code=answer.error.code,
            message=answer.error.message,
            where=answer.error.message[:400],
        )
