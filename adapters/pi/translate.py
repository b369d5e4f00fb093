"""Events of pi into native events. Keeps what is needed to tell them apart: turn, open calls, steers.

Facts about 1.6.0 and 1.3.0 that the code rests on (docs/harnesses/pi.md):

* `agent_settled` ends a turn. `agent_end` does not: retries and steers follow it.
* A turn was interrupted exactly if `agent_settled` says `aborted`; the last answer's stop reason differs by version.
* A failed answer has stop reason `error`, the status and the body of the model's error in its text; a retry follows it
  or not. The turn failed if the last answer did.
* `tool_execution_start` comes before the gate's question about the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from checkrein.adapters.native import (
    NativeEvent,
    Notice,
    NoticeKind,
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
from checkrein.adapters.pi import messages as m
from checkrein.adapters.pi.steers import SteersUnderWay
from checkrein.adapters.pi.tool_calls import call_id, call_of, outcome_of

#: Events that tell nothing which is used here.
IGNORED = frozenset(
    {
        "agent_end",
        "auto_retry_end",
        "bash_execution_update",
        "compaction_end",
        "compaction_start",
        "entry_appended",
        "queue_update",
        "session_info_changed",
        "summarization_retry_attempt_start",
        "summarization_retry_finished",
        "summarization_retry_scheduled",
        "thinking_level_changed",
        "tool_execution_update",
        "turn_end",
        "turn_start",
    }
)

#: Events that tell something of the turn that runs.
_OF_A_TURN = frozenset(
    {
        "message_start",
        "message_end",
        "tool_execution_start",
        "tool_execution_end",
        "agent_settled",
        "auto_retry_start",
    }
)

#: Stop reasons of an answer that is whole.
_WHOLE = frozenset({"stop", "toolUse", "length"})


@dataclass(slots=True, kw_only=True)
class RunningTurn:
    """The turn that pi runs, or was asked to run.

    Args:
        prompt_id: the id of ours that opened it; None for a turn that we did not open.
        opened: whether `TurnOpened` has been reported.
        stopping: an interrupt of it was sent.
        failure: why the last answer failed; "" when it did not.
        tools: the calls that have no result yet, by native id.
        denied: ids of the calls that were not approved.
    """

    prompt_id: str | None
    opened: bool = False
    stopping: bool = False
    failure: str = ""
    tools: set[str] = field(default_factory=set[str])
    denied: set[str] = field(default_factory=set[str])


class Translator:
    """The state of one conversation as its events tell it."""

    def __init__(self) -> None:
        self.turn: RunningTurn | None = None
        self.steers = SteersUnderWay()
        self._reported: set[str] = set()

    # ---- what the connection tells ----

    def prompt_sent(self, prompt_id: str) -> None:
        """The prompt of a turn is about to be sent."""
        self.turn = RunningTurn(prompt_id=prompt_id)

    def prompt_taken(self, prompt_id: str) -> Iterator[NativeEvent]:
        """pi runs the turn of that prompt."""
        if self.turn is not None and self.turn.prompt_id == prompt_id:
            yield from self._open(self.turn)

    def prompt_refused(self, prompt_id: str) -> None:
        """pi did not take the prompt: no turn runs."""
        if self.turn is not None and self.turn.prompt_id == prompt_id and not self.turn.opened:
            self.turn = None

    def denied(self, native_id: str) -> None:
        """A call was not approved."""
        if self.turn is not None:
            self.turn.denied.add(native_id)

    def unknown(self, key: str, text: str) -> Iterator[NativeEvent]:
        """Report something unknown, once."""
        if key not in self._reported:
            self._reported.add(key)
            yield Notice(kind=NoticeKind.UNKNOWN_MESSAGE, text=text)

    # ---- events ----

    def event(self, event: m.Incoming) -> Iterator[NativeEvent]:
        """Translate one event. What comes when no turn runs is left over from the last one."""
        running = self.turn is not None and self.turn.opened
        if not running and event.type in _OF_A_TURN:
            return
        match event.type:
            case "message_start":
                yield from self._message_began(msgspec.json.decode(event.message, type=m.Message))
            case "message_end":
                yield from self._message_ended(msgspec.json.decode(event.message, type=m.Message))
            case "tool_execution_start":
                if self.turn is not None:
                    self.turn.tools.add(event.tool_call_id)
                yield ToolStarted(call=call_of(event.tool_call_id, event.tool_name, event.args, None))
            case "tool_execution_end":
                yield self._tool_ended(event)
            case "agent_start":
                if self.turn is None:
                    self.turn = RunningTurn(prompt_id=None)
                yield from self._open(self.turn)
            case "agent_settled":
                yield from self._settled(event.aborted)
            case "auto_retry_start":
                yield Notice(kind=NoticeKind.RETRY, text=event.error_message)
            case "extension_error":
                yield Notice(kind=NoticeKind.WARNING, text=f"an extension of pi failed: {event.error}")
            case kind if kind not in IGNORED:
                yield from self.unknown(kind, f"unknown event {kind}")
            case _:
                pass

    def _open(self, turn: RunningTurn) -> Iterator[NativeEvent]:
        if not turn.opened:
            turn.opened = True
            cause = "" if turn.prompt_id is not None else "pi began a run by itself"
            yield TurnOpened(native_id="", prompt_id=turn.prompt_id, cause=cause)

    def _message_began(self, message: m.Message) -> Iterator[NativeEvent]:
        match message.role, message.stop_reason:
            case "user", _:
                self.steers.joined("".join(message.texts))
            case "assistant", "pending":
                yield from self.steers.model_answers()
            case _:
                pass

    def _message_ended(self, message: m.Message) -> Iterator[NativeEvent]:
        if message.role != "assistant":
            return
        if self.turn is not None:
            self.turn.failure = _failure(message)
        if message.stop_reason in _WHOLE:
            for text in message.texts:
                yield TextDone(text=text)
        used = message.usage
        if used.input or used.output or used.cache_read or used.cache_write:
            yield UsageReported(usage=_usage(used), scope=UsageScope.TURN)

    def _tool_ended(self, event: m.Incoming) -> ToolFinished:
        output, exit_status = outcome_of(event.result)
        status = ToolStatus.ERROR if event.is_error else ToolStatus.OK
        if self.turn is not None:
            self.turn.tools.discard(event.tool_call_id)
            if event.tool_call_id in self.turn.denied:
                status = ToolStatus.DECLINED
            elif event.is_error and self.turn.stopping:
                status = ToolStatus.ABORTED
        return ToolFinished(
            call_id=call_id(event.tool_call_id), status=status, output=output, exit_status=exit_status
        )

    def _settled(self, aborted: bool) -> Iterator[NativeEvent]:
        turn, self.turn = self.turn, None
        if turn is None:
            return
        for native_id in sorted(turn.tools):
            yield ToolFinished(call_id=call_id(native_id), status=ToolStatus.ABORTED)
        yield from self.steers.turn_ended()
        if aborted:
            status, reason = TurnStatus.INTERRUPTED, "the harness interrupted the turn"
        elif turn.failure:
            status, reason = TurnStatus.FAILED, turn.failure
        else:
            status, reason = TurnStatus.COMPLETED, "the harness completed the turn"
        word = "aborted" if aborted else "settled"
        yield TurnClosed(native_id="", status=status, reason=reason, native_status=word)


def _failure(message: m.Message) -> str:
    match message.stop_reason:
        case "error":
            return message.error_message or "the model's answer failed, pi does not say why"
        case "length":
            return "the model's answer ended at its longest"
        case _:
            return ""


def _usage(used: m.TokenUsage) -> Usage:
    """pi reckons a cost of 0 for a model whose price it does not know."""
    return Usage(
        input_tokens=used.input + used.cache_read + used.cache_write,
        cached_tokens=used.cache_read,
        output_tokens=used.output,
        cost_usd=used.cost.total or None,
    )
