"""One running pi that holds one conversation: commands down, events up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec

from checkrein.adapters.calls import PendingCalls
from checkrein.adapters.errors import (
    ApprovalStale,
    CallExpired,
    CallRefused,
    HandshakeFailed,
    SteerReason,
    SteerRejected,
    TurnActive,
)
from checkrein.adapters.interface import Connection, Decision, DecisionKind, Opened, Origin, SessionSpec
from checkrein.adapters.native import Asked, NativeEvent, Notice, NoticeKind, Question, TextDelta
from checkrein.adapters.news import News
from checkrein.adapters.pi import messages as m
from checkrein.adapters.pi.launch import PROVIDER, policy_asked, token_of
from checkrein.adapters.pi.questions import (
    SHOWING,
    OpenQuestion,
    answer_line,
    read_question,
    read_ready,
    refusal_line,
)
from checkrein.adapters.pi.translate import Translator
from checkrein.adapters.transport import HarnessProcess

T = TypeVar("T", bound=msgspec.Struct)


class PiConnection(Connection):
    """Speaks with `pi --mode rpc`; the facts it rests on are in docs/harnesses/pi.md."""

    def __init__(self, spec: SessionSpec, process: HarnessProcess) -> None:
        super().__init__(spec, process)
        self._token = token_of(spec)
        self._home = str(spec.home or spec.environment.get("HOME") or Path.home())
        self._calls: PendingCalls[m.Incoming] = PendingCalls("pi")
        self._last_id = 0
        #: type and subject (turn or steer id of ours) of the commands that have no answer yet
        self._sent: dict[str, tuple[str, str]] = {}
        self._translator = Translator()
        self._ready: m.Ready | None = None
        self._questions: dict[str, OpenQuestion] = {}
        self._replies: list[bytes] = []
        #: ids of the clear_queue commands without an answer: the next prompt must not overtake them
        self._clearing: set[str] = set()
        self._news = News()

    # ---- up ----

    def decode(self, lines: list[bytes]) -> list[NativeEvent]:
        """See `Connection.decode`."""
        events: list[NativeEvent] = []
        for line in lines:
            if not line.strip():
                continue
            try:
                message = _incoming.decode(line)
                piece = message.assistant_message_event
                if piece is not None:  # most of what pi says: the short way
                    if piece.type == "text_delta":
                        events.append(TextDelta(text=piece.delta))
                elif message.type == "response":
                    events += self._answered(message)
                elif message.type == "extension_ui_request":
                    events += self._dialog(message)
                elif message.type != "message_update":
                    events += self._translator.event(message)
                    if message.type == "agent_settled":
                        self._turn_over()
            except (msgspec.DecodeError, UnicodeDecodeError) as fault:
                events += self._unreadable(line, fault)
        self._news.came()
        return events

    def _unreadable(self, line: bytes, fault: Exception) -> Iterator[NativeEvent]:
        if not line.startswith(b"{"):
            yield Notice(kind=NoticeKind.STRAY_OUTPUT, text=line[:400].decode("utf-8", "replace"))
        else:
            yield from self._translator.unknown(str(fault), f"cannot read a message of pi: {fault}")

    def _answered(self, answer: m.Incoming) -> Iterator[NativeEvent]:
        call_id = answer.id or ""
        command, subject = self._sent.pop(call_id, ("", ""))
        disposition = _data(answer, m.Disposition)
        match command, disposition.disposition if disposition is not None else "":
            case "prompt", "started":
                yield from self._translator.prompt_taken(subject)
            case "prompt", _:
                self._translator.prompt_refused(subject)
            case "steer", "queued":
                yield from self._translator.steers.accepted(subject)
                if self._translator.turn is None:
                    self._clear()
            case "steer", _:
                self._translator.steers.refused(subject)
            case "clear_queue", _:
                self._clearing.discard(call_id)
                if (cleared := _data(answer, m.ClearedQueue)) is not None:
                    yield from self._translator.steers.taken_back(cleared.steering)
            case "", _:
                yield from self._translator.unknown(
                    f"response {answer.error}", f"pi answered what was not asked: {answer.error}"
                )
            case _:
                pass
        self._calls.settle(call_id, answer)

    def _dialog(self, dialog: m.Incoming) -> Iterator[NativeEvent]:
        if dialog.method == "notify":
            ready = read_ready(dialog.message, self._token)
            if ready is not None:
                self._ready = ready
            else:
                yield Notice(kind=NoticeKind.WARNING, text=bytes(dialog.message).decode()[:400])
            return
        if dialog.method in SHOWING or dialog.id is None:
            return
        question = read_question(dialog.id, dialog.title, home=self._home)
        if question is None or dialog.method != "input":
            self._replies.append(refusal_line(dialog.id))
            text = f"cancelled a dialog that is not the gate's: {dialog.method} {dialog.title[:200]}".rstrip()
            yield Notice(kind=NoticeKind.REFUSED_QUESTION, text=text)
            return
        self._questions[dialog.id] = question
        yield Asked(question=question.question)

    def _turn_over(self) -> None:
        """A steer that pi left in its queue would go with the next prompt."""
        if self._translator.steers.waits:
            self._clear()

    def _clear(self) -> None:
        call_id = self._next_id("clear_queue", "")
        self._clearing.add(call_id)
        self._replies.append(m.line(m.Command(id=call_id, type="clear_queue")))

    def take_replies(self) -> list[bytes]:
        """See `Connection.take_replies`."""
        replies, self._replies = self._replies, []
        return replies

    def fail_calls(self, error: Exception) -> None:
        """See `Connection.fail_calls`."""
        self._calls.fail_all(error)

    # ---- down ----

    async def open(self) -> Opened:
        """See `Connection.open`. The gate's notice comes before the first answer."""
        answer = _accepted(await self._call("get_state"))
        state = _data(answer, m.State)
        if state is None:
            raise HandshakeFailed("the answer to get_state is no state", where=_shown(answer))
        ready = self._ready
        if ready is None:
            raise HandshakeFailed(
                "checkrein's gate did not report from within pi: nobody would be asked about tool calls",
                where=self.process.stderr_tail()[-400:],
                advice="nothing was sent to the model; reinstall checkrein",
            )
        if self.spec.origin is not Origin.FORK and state.session_id != self.spec.session_id:
            raise HandshakeFailed(f"pi opened {state.session_id} instead of {self.spec.session_id}")
        asked = policy_asked(self.spec)
        said = {
            "policy": ready.policy,
            "projectTrusted": str(ready.project_trusted).lower(),
            "mode": ready.mode,
            "answers": str(ready.answers).lower(),
            "cwd": ready.cwd,
        }
        if self.spec.endpoint is not None:
            asked["provider"] = PROVIDER
            said["provider"] = state.model.provider if state.model is not None else "none"
        return Opened(
            session_id=state.session_id,
            version=ready.version,
            policy_asked=asked,
            policy_effective=said,
            model=state.model.id if state.model is not None else None,
        )

    async def start_turn(self, turn_id: str, prompt: str) -> None:
        """See `Connection.start_turn`.

        Raises:
            TurnActive: a turn runs.
        """
        if self._translator.turn is not None:
            raise TurnActive("a turn is active", where="prompt")
        if not await self._news.until(lambda: not self._clearing, seconds=self.spec.call_seconds):
            raise CallExpired("pi did not empty its queue", where="clear_queue")
        self._translator.prompt_sent(turn_id)
        answer = _accepted(await self._call("prompt", message=prompt, subject=turn_id))
        disposition = _data(answer, m.Disposition)
        if disposition is None or disposition.disposition != "started":
            raise CallRefused("pi did not run the prompt", message=_shown(answer), where=_shown(answer))

    async def steer(self, steer_id: str, text: str) -> None:
        """See `Connection.steer`. pi would keep one that comes without a turn for the next: the gate refuses it."""
        turn = self._translator.turn
        if turn is None:
            raise SteerRejected(SteerReason.NO_ACTIVE_TURN)
        if not await self._news.until(
            lambda: turn.opened or self._translator.turn is not turn, seconds=self.spec.call_seconds
        ):
            raise CallExpired("pi did not start the turn", where="steer")
        if self._translator.turn is not turn:
            raise SteerRejected(SteerReason.TURN_ENDED)
        if turn.stopping:
            raise SteerRejected(SteerReason.INTERRUPTING)
        self._translator.steers.sent(steer_id, text)
        marked = f"\x01{self._token}\x01{text}"
        answer = _accepted(await self._call("steer", message=marked, subject=steer_id))
        disposition = _data(answer, m.Disposition)
        if disposition is None or disposition.disposition != "queued":
            raise SteerRejected(SteerReason.TURN_ENDED, by="harness", message="no turn runs")

    async def interrupt(self) -> None:
        """See `Connection.interrupt`.

        An abort that comes before the prompt is answered is lost, so that is waited for. What is queued would be part
        of the conversation after an abort, so it is taken back first.
        """
        turn = self._translator.turn
        if turn is None:
            return
        if not await self._news.until(
            lambda: turn.opened or self._translator.turn is not turn, seconds=self.spec.call_seconds
        ):
            raise CallExpired("pi did not start the turn", where="abort")
        if self._translator.turn is not turn:
            return
        turn.stopping = True
        cleared = await self._begin("clear_queue")
        aborted = await self._begin("abort")
        _accepted(await self._answer_to(cleared, "clear_queue"))
        _accepted(await self._answer_to(aborted, "abort"))

    async def settle(self) -> None:
        """See `Connection.settle`: pi kills the process group of its command before it answers an abort."""

    async def answer(self, question: Question, decision: Decision) -> None:
        """See `Connection.answer`.

        Raises:
            ApprovalStale: pi has withdrawn the question, or it was answered.
        """
        opened = self._questions.pop(question.question_id, None)
        if opened is None:
            raise ApprovalStale("the question is no longer open", resolved_by="harness")
        if decision.kind is DecisionKind.DENY:
            self._translator.denied(opened.native_id)
        with anyio.CancelScope(shield=True):
            await self.send(answer_line(question.question_id, decision), "the answer to a question")

    @property
    def holds_grants(self) -> bool:
        """See `Connection.holds_grants`: none is ever given to pi."""
        return False

    # ---- calls ----

    async def _call(self, command: str, *, message: str | None = None, subject: str = "") -> m.Incoming:
        return await self._answer_to(await self._begin(command, message=message, subject=subject), command)

    async def _begin(self, command: str, *, message: str | None = None, subject: str = "") -> str:
        call_id = self._next_id(command, subject)
        self._calls.expect(call_id)
        await self.send(m.line(m.Command(id=call_id, type=command, message=message)), command)
        return call_id

    async def _answer_to(self, call_id: str, command: str) -> m.Incoming:
        return await self._calls.wait(call_id, what=command, seconds=self.spec.call_seconds)

    def _next_id(self, command: str, subject: str) -> str:
        self._last_id += 1
        call_id = str(self._last_id)
        self._sent[call_id] = (command, subject)
        return call_id


_incoming = msgspec.json.Decoder(m.Incoming)


def _data(answer: m.Incoming, shape: type[T]) -> T | None:
    if not answer.success:
        return None
    try:
        return msgspec.json.decode(answer.data, type=shape)
    except msgspec.DecodeError:
        return None


def _accepted(answer: m.Incoming) -> m.Incoming:
    """Return the answer unless it is a refusal."""
    if not answer.success:
        raise CallRefused(f"pi refused {answer.command}", message=answer.error, where=answer.error[:400])
    return answer


def _shown(answer: m.Incoming) -> str:
    return msgspec.json.encode(answer)[:400].decode("utf-8", "replace")
