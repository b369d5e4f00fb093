"""Notifications of the app-server into events. Keeps what is needed to tell them apart: turn, open items, steers.

Facts about 0.171.0 that the code rests on (docs/harnesses/codex.md):

* A command that asks has one item/started, before the question, with no process id; after the approval there is none.
* The item of a command that was running at an interrupt is completed when the command dies, after turn/completed,
  with exit code -1; it holds what the command had printed, or nothing.
* Usage is told after every answer of the model, as the sum over the conversation, and once after a resume or a fork,
  before any turn. An interrupted answer repeats the old sums.
* Sub-agents have threads of their own, whose notifications come on the same pipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from checkrein.adapters.codex import received as r
from checkrein.adapters.codex.failures import failure_words
from checkrein.adapters.codex.items import OpenItem, read_item
from checkrein.adapters.codex.notifications import IGNORED
from checkrein.adapters.codex.steers import SteersUnderWay
from checkrein.adapters.codex.tool_calls import call_of, output_of, status_of
from checkrein.adapters.native import (
    BackgroundJob,
    NativeEvent,
    Notice,
    NoticeKind,
    TextDelta,
    TextDone,
    ToolFinished,
    ToolStarted,
    ToolStatus,
    TurnClosed,
    TurnOpened,
    TurnStatus,
    Usage,
    UsageReported,
    UsageScope,
)

#: types of items that only an answer of the model brings about
_OF_THE_MODEL = frozenset(
    {
        "agentMessage",
        "collabAgentToolCall",
        "commandExecution",
        "dynamicToolCall",
        "fileChange",
        "imageGeneration",
        "imageView",
        "mcpToolCall",
        "plan",
        "reasoning",
        "sleep",
        "webSearch",
    }
)

_TURN_STATUS = {
    "completed": (TurnStatus.COMPLETED, "the harness completed the turn"),
    "interrupted": (TurnStatus.INTERRUPTED, "the harness interrupted the turn"),
}

TEXT_PIECE = "item/agentMessage/delta"

T = TypeVar("T", bound=msgspec.Struct)


@dataclass(slots=True, kw_only=True)
class RunningTurn:
    """The turn that the harness runs, or was asked to run.

    Args:
        prompt_id: the id of ours that opened it; None for a turn that we did not open.
        native_id: "" until the harness has said it.
        opened: whether `TurnOpened` has been reported.
    """

    prompt_id: str | None
    native_id: str = ""
    opened: bool = False


class Translator:
    """The state of one conversation as its notifications tell it."""

    def __init__(self) -> None:
        self.thread_id = ""
        self.turn: RunningTurn | None = None
        self.steers = SteersUnderWay()
        #: file changes that have begun, by item id: the questions about them do not hold the change
        self.changes: dict[str, r.FileChange] = {}
        self._items: dict[str, OpenItem] = {}
        #: commands that an interrupted turn left alive: their items are completed when they are cleaned
        self._aborted: dict[str, OpenItem] = {}
        self._jobs: set[str] = set()
        self._reported: set[str] = set()
        self._turn_seen = False
        #: the harness's id of the turn that ended last
        self._ended_id = ""
        self._handlers: dict[str, Callable[[msgspec.Raw], Iterable[NativeEvent]]] = {
            "turn/started": self._turn_started,
            "turn/completed": self._turn_completed,
            "item/started": self._item_started,
            "item/completed": self._item_completed,
            TEXT_PIECE: self.text_piece,
            "item/commandExecution/outputDelta": self._output,
            "thread/tokenUsage/updated": self._usage,
            "error": self._error,
            "warning": self._warning,
            "guardianWarning": self._warning,
            "configWarning": self._warning,
            "deprecationNotice": self._warning,
            "mcpServer/startupStatus/updated": self._mcp_startup,
            "model/rerouted": self._rerouted,
            "item/autoApprovalReview/started": self._other_reviewer,
            "item/autoApprovalReview/completed": self._other_reviewer,
        }

    @property
    def handled(self) -> frozenset[str]:
        """The methods that lead to events here (serverRequest/resolved is dealt with beside the questions)."""
        return frozenset(self._handlers)

    def notification(self, method: str, params: msgspec.Raw) -> Iterator[NativeEvent]:
        """Translate one notification; parameters that have not the known shape become a notice."""
        handler = self._handlers.get(method)
        try:
            if handler is not None:
                yield from handler(params)
            elif method not in IGNORED:
                yield from self._unknown(method, f"unknown notification {method}")
        except msgspec.DecodeError as fault:
            yield from self._unknown(f"{method} {fault}", f"cannot read {method}: {fault}")

    def _unknown(self, key: str, text: str) -> Iterator[NativeEvent]:
        if key not in self._reported:
            self._reported.add(key)
            yield Notice(kind=NoticeKind.UNKNOWN_MESSAGE, text=text)

    # ---- what the connection tells ----

    def prompt_sent(self, prompt_id: str) -> None:
        """The prompt of a turn is about to be sent."""
        self.turn = RunningTurn(prompt_id=prompt_id)

    def prompt_answered(self, native_id: str) -> None:
        """The harness named the turn of the prompt that was sent last."""
        if self.turn is not None and not self.turn.native_id:
            self.turn.native_id = native_id

    def prompt_refused(self, prompt_id: str) -> None:
        """The harness refused the prompt: no turn runs."""
        if self.turn is not None and self.turn.prompt_id == prompt_id and not self.turn.opened:
            self.turn = None

    def asked(self, item_id: str, *, waits: bool) -> None:
        """A question about an item was asked (`waits`) or resolved."""
        if (item := self._items.get(item_id)) is not None:
            item.asking = waits

    def terminals_cleaned(self) -> Iterator[NativeEvent]:
        """The harness has killed its background terminals."""
        for job in sorted(self._jobs):
            yield BackgroundJob(job_id=job, alive=False)
        self._jobs.clear()

    @property
    def commands_dying(self) -> bool:
        """Whether the end of a command is still to come that an interrupted turn left alive."""
        return bool(self._aborted)

    def forget_commands(self) -> None:
        """No more ends are waited for: a command that dies in its first 120 ms is never told to have ended."""
        self._aborted.clear()

    # ---- turns ----

    def _ours(self, thread_id: str) -> bool:
        return not self.thread_id or thread_id == self.thread_id

    def _turn_started(self, params: msgspec.Raw) -> Iterator[NativeEvent]:
        started = _read(params, r.TurnStarted)
        if not self._ours(started.thread_id):
            return
        turn = self.turn
        if turn is None:
            self.turn = RunningTurn(prompt_id=None, native_id=started.turn.id, opened=True)
            self._turn_seen = True
            yield TurnOpened(
                native_id=started.turn.id, prompt_id=None, cause="turn/started without a turn/start of ours"
            )
        elif turn.native_id in ("", started.turn.id):
            turn.native_id = started.turn.id
            yield from self._open(turn)
        else:
            # A review does this: it is announced under another id than its items bear.
            yield from self._unknown(
                "other turn", f"turn/started for {started.turn.id} beside {turn.native_id}"
            )

    def _open(self, turn: RunningTurn) -> Iterator[NativeEvent]:
        if not turn.opened:
            turn.opened = self._turn_seen = True
            yield TurnOpened(native_id=turn.native_id, prompt_id=turn.prompt_id)

    def _first_sign(self, turn_id: str) -> Iterator[NativeEvent]:
        if self.turn is not None and self.turn.native_id == turn_id:
            yield from self._open(self.turn)

    def _turn_completed(self, params: msgspec.Raw) -> Iterator[NativeEvent]:
        completed = _read(params, r.TurnCompleted)
        ended = completed.turn
        if not self._ours(completed.thread_id):
            return
        if self.turn is None or ended.id == self._ended_id or self.turn.native_id not in ("", ended.id):
            yield from self._unknown("stray end", f"turn/completed for {ended.id}, which does not run")
            return
        yield from self._first_sign(ended.id)
        status, reason = _TURN_STATUS.get(ended.status, (TurnStatus.FAILED, f"turn status {ended.status}"))
        if ended.error is not None:
            reason = failure_words(ended.error)
        yield from self._close_items(status)
        yield from self.steers.turn_ended()
        self.turn = None
        self._ended_id = ended.id
        yield TurnClosed(native_id=ended.id, status=status, reason=reason, native_status=ended.status)

    def _close_items(self, status: TurnStatus) -> Iterator[NativeEvent]:
        """What is open at the end of a turn.

        A turn that was not interrupted leaves a command open that went on in the background: the model has its
        receipt. An interrupted one leaves the calls open that the model is told were aborted; their commands live
        until the background terminals are cleaned, and only then is told what they printed.
        """
        for item_id, item in self._items.items():
            runs = item.is_command and not item.asking
            if runs and status is TurnStatus.INTERRUPTED:
                self._aborted[item_id] = item
            elif runs:
                yield ToolFinished(call_id=item_id, status=ToolStatus.OK, output=item.tail)
                self._jobs.add(item_id)
                yield BackgroundJob(job_id=item_id, alive=True)
            else:
                yield ToolFinished(call_id=item_id, status=ToolStatus.ABORTED, output=item.tail)
        self._items.clear()
        self.changes.clear()

    # ---- items ----

    def _item_started(self, params: msgspec.Raw) -> Iterator[NativeEvent]:
        event = _read(params, r.ItemEvent)
        head, item = read_item(event.item)
        if isinstance(item, r.FileChange):
            self.changes[item.id] = item  # of a sub-agent's thread too: its questions come here
        if not self._ours(event.thread_id):
            return
        yield from self._first_sign(event.turn_id)
        if isinstance(item, r.UserMessage):
            if item.client_id:
                yield from self.steers.joined(item.client_id)
            return
        if head.type in _OF_THE_MODEL:
            yield from self.steers.model_answered(f"{head.type} item after its userMessage item")
        call = call_of(item, head, bytes(event.item))
        if call is not None and call.call_id not in self._items:
            self._items[call.call_id] = OpenItem(is_command=isinstance(item, r.CommandExecution))
            yield ToolStarted(call=call)

    def _item_completed(self, params: msgspec.Raw) -> Iterator[NativeEvent]:
        event = _read(params, r.ItemEvent)
        if not self._ours(event.thread_id):
            return
        head, item = read_item(event.item)
        if isinstance(item, r.UserMessage):
            if item.client_id:
                yield from self.steers.joined(item.client_id)
            return
        if isinstance(item, r.AgentMessage):
            yield TextDone(text=item.text)
            return
        if head.id in self._jobs:
            self._jobs.discard(head.id)
            yield BackgroundJob(job_id=head.id, alive=False)
            return
        if (aborted := self._aborted.pop(head.id, None)) is not None:
            output = output_of(item)[0] or aborted.tail
            yield ToolFinished(call_id=head.id, status=ToolStatus.ABORTED, output=output)
            return
        call = call_of(item, head, bytes(event.item))
        if call is None:
            return
        opened = self._items.pop(call.call_id, None)
        if opened is None:
            if self.turn is None or self.turn.native_id != event.turn_id:
                return  # the end of an item whose turn is over
            yield ToolStarted(call=call)
        self.changes.pop(call.call_id, None)
        output, exit_status = output_of(item)
        if not output and opened is not None:
            output = opened.tail
        yield ToolFinished(
            call_id=call.call_id, status=status_of(item, head), output=output, exit_status=exit_status
        )

    def text_piece(self, params: msgspec.Raw) -> tuple[NativeEvent, ...]:
        """A piece of the model's visible text."""
        try:
            delta = _read_delta(params)
        except msgspec.DecodeError as fault:
            return tuple(self._unknown(f"{TEXT_PIECE} {fault}", f"cannot read {TEXT_PIECE}: {fault}"))
        return (TextDelta(text=delta.delta),) if self._ours(delta.thread_id) else ()

    def _output(self, params: msgspec.Raw) -> Iterator[NativeEvent]:
        delta = _read(params, r.Delta)
        if (item := self._items.get(delta.item_id)) is not None:
            item.printed(delta.delta)
        yield from ()

    # ---- the rest ----

    def _usage(self, params: msgspec.Raw) -> Iterator[NativeEvent]:
        told = _read(params, r.TokenUsageUpdated)
        if not self._ours(told.thread_id):
            return
        total = told.token_usage.total
        yield from self.steers.counted(total.input_tokens)
        yield UsageReported(
            usage=Usage(
                input_tokens=total.input_tokens,
                cached_tokens=total.cached_input_tokens,
                output_tokens=total.output_tokens,
            ),
            scope=UsageScope.CUMULATIVE,
            baseline=not self._turn_seen,
        )

    def _error(self, params: msgspec.Raw) -> Iterator[NativeEvent]:
        error = _read(params, r.ErrorHappened)
        if error.will_retry:
            yield Notice(kind=NoticeKind.RETRY, text=failure_words(error.error))
        elif self.turn is None:  # else turn/completed brings the same
            yield Notice(kind=NoticeKind.WARNING, text=failure_words(error.error))

    def _warning(self, params: msgspec.Raw) -> Iterator[NativeEvent]:
        warned = _read(params, r.Warned)
        text = ": ".join(part for part in (warned.message or warned.summary, warned.details) if part)
        yield Notice(kind=NoticeKind.WARNING, text=text)

    def _mcp_startup(self, params: msgspec.Raw) -> Iterator[NativeEvent]:
        server = _read(params, r.McpStartup)
        text = f"MCP server {server.name}: {bytes(server.status).decode()}"
        yield Notice(kind=NoticeKind.WARNING, text=f"{text}: {server.error}" if server.error else text)

    def _rerouted(self, params: msgspec.Raw) -> Iterator[NativeEvent]:
        route = _read(params, r.ModelRerouted)
        yield Notice(
            kind=NoticeKind.WARNING, text=f"the harness went from {route.from_model} to {route.to_model}"
        )

    def _other_reviewer(self, params: msgspec.Raw) -> Iterator[NativeEvent]:
        """Must not happen: `approvalsReviewer` is `user` and is compared when the conversation opens."""
        yield Notice(
            kind=NoticeKind.WARNING,
            text=f"the harness lets another reviewer answer a question: {bytes(params).decode()[:400]}",
        )


_read_delta = msgspec.json.Decoder(r.Delta).decode
_decoders: dict[type[msgspec.Struct], msgspec.json.Decoder[msgspec.Struct]] = {}


def _read(params: msgspec.Raw, shape: type[T]) -> T:
    decoder = _decoders.get(shape)
    if decoder is None:
        decoder = _decoders[shape] = msgspec.json.Decoder(shape)
    value = decoder.decode(params)
    assert isinstance(value, shape)  # the decoder is of that type
    return value
