"""Updates of a session into native events. Keeps what is needed to tell them apart: turn, calls, steers, mode.

What the protocol says, and what follows from it here:

* A turn is one `session/prompt`: the answer to it ends the turn, and nothing else does.
* Updates name the session, not the turn. What comes while no prompt is unanswered is late, or a replay of
  `session/load`, and is left alone; unless the agent shows a prompt that we did not send.
* Text comes in pieces only. A text is whole when a call, another message or the end of the turn follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from checkrein.adapters.acp import messages as m
from checkrein.adapters.acp.declaration import AcpDeclaration, Deny, UsageCount
from checkrein.adapters.acp.steers import SteersUnderWay
from checkrein.adapters.acp.tool_calls import ENDED, CallSoFar, merged, so_far
from checkrein.adapters.native import (
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

#: Updates that tell nothing which is used here.
IGNORED = frozenset(
    {
        "agent_thought_chunk",
        "available_commands_update",
        "config_option_update",
        "plan",
        "plan_removed",
        "plan_update",
        "session_info_update",
        "usage_update",
    }
)

TEXT_PIECE, USER_TEXT, MODE = "agent_message_chunk", "user_message_chunk", "current_mode_update"
CALLS = frozenset({"tool_call", "tool_call_update"})

_ENDS = {
    "end_turn": (TurnStatus.COMPLETED, "the agent completed the turn"),
    "cancelled": (TurnStatus.INTERRUPTED, "the agent cancelled the turn"),
    "max_tokens": (TurnStatus.FAILED, "the model's answer ended at its longest"),
    "max_turn_requests": (TurnStatus.FAILED, "the turn had as many model requests as the agent allows"),
    "refusal": (TurnStatus.FAILED, "the agent refuses to go on"),
}


@dataclass(slots=True, kw_only=True)
class RunningTurn:
    """The turn of a prompt that has no answer yet.

    Args:
        prompt_id: the id of ours; None for a turn that we did not open.
        prompt: its text.
        comes: what came before the prompt could be read has come: from here on updates are of this turn.
        opened: whether `TurnOpened` has been reported.
        stopping: an interrupt of it was sent.
        prompt_shown: the agent has shown the prompt itself.
        text: what the model has said since the last whole text.
        message_id: of the message that this is a part of.
        calls: what is known of its calls, by id.
        denied: ids of the calls that were not approved.
        shown: ids of the messages that were shown, and the texts of those that are a person's.
    """

    prompt_id: str | None
    prompt: str = ""
    comes: bool = False
    opened: bool = False
    stopping: bool = False
    prompt_shown: bool = False
    text: str = ""
    message_id: str | None = None
    calls: dict[str, m.CallUpdate] = field(default_factory=dict[str, m.CallUpdate])
    denied: set[str] = field(default_factory=set[str])
    shown: set[str] = field(default_factory=set[str])


class Translator:
    """The state of one conversation as its updates tell it."""

    def __init__(self, declaration: AcpDeclaration) -> None:
        self.turn: RunningTurn | None = None
        self.steers = SteersUnderWay(shown=declaration.steer_shown)
        self.mode: str | None = None
        #: the conversation is open, so that nothing is a replay
        self.listening = False
        self._declaration = declaration
        self._reported: set[str] = set()
        #: what the last turn has shown, ids of messages and a person's words: it may come again, late
        self._shown: set[str] = set()

    # ---- what the connection tells ----

    def prompt_sent(self, prompt_id: str, prompt: str) -> None:
        """The prompt of a turn is about to be sent."""
        self.turn = RunningTurn(prompt_id=prompt_id, prompt=prompt)

    def prompt_comes(self, prompt_id: str) -> None:
        """The agent has read what was sent before that prompt: what it says from here on may be of the prompt."""
        if self.turn is not None and self.turn.prompt_id == prompt_id:
            self.turn.comes = True

    def prompt_read(self, prompt_id: str) -> Iterator[NativeEvent]:
        """The agent has read what was sent behind that prompt, so the prompt as well."""
        if self.turn is not None and self.turn.prompt_id == prompt_id:
            yield from self._open(self.turn)

    def opened_by_itself(self, cause: str) -> Iterator[NativeEvent]:
        """The agent runs a turn that no prompt of ours opened."""
        if self.turn is None:
            self.turn = RunningTurn(prompt_id=None, prompt_shown=True, comes=True)
            yield from self._open(self.turn, cause)

    def denied(self, call_id: str) -> None:
        """A call was not approved."""
        if self.turn is not None:
            self.turn.denied.add(call_id)

    def unknown(self, key: str, text: str) -> Iterator[NativeEvent]:
        """Report something unknown, once."""
        if key not in self._reported:
            self._reported.add(key)
            yield Notice(kind=NoticeKind.UNKNOWN_MESSAGE, text=text)

    # ---- updates ----

    def update(self, params: msgspec.Raw) -> Iterator[NativeEvent]:
        """Translate the parameters of one `session/update`."""
        update = _update.decode(params).update
        match update.session_update:
            case kind if kind == MODE:
                self.mode = update.current_mode_id
            case kind if kind == TEXT_PIECE:
                yield from self._text(update)
            case kind if kind == USER_TEXT:
                yield from self._user_text(update)
            case kind if kind in CALLS:
                yield from self._call(msgspec.json.decode(params, type=m.SessionCallUpdate).update)
            case kind if kind not in IGNORED:
                yield from self.unknown(kind, f"unknown update {kind}")
            case _:
                pass

    def _open(self, turn: RunningTurn, cause: str = "") -> Iterator[NativeEvent]:
        if not turn.opened:
            turn.opened = True
            yield TurnOpened(native_id="", prompt_id=turn.prompt_id, cause=cause)

    @property
    def _current(self) -> RunningTurn | None:
        """The turn that an update which comes now is of."""
        return self.turn if self.turn is not None and self.turn.comes else None

    def _text(self, update: m.UpdateHead) -> Iterator[NativeEvent]:
        turn = self._current
        if turn is None or update.message_id in self._shown:
            return
        yield from self._open(turn)
        yield from self.steers.model_answers()
        text = _text_of(update.content)
        if not text:
            return
        if turn.text and update.message_id != turn.message_id:
            yield from self._whole_text(turn)
        if update.message_id is not None:
            turn.message_id = update.message_id
            turn.shown.add(update.message_id)
        turn.text += text
        yield TextDelta(text=text)

    def _whole_text(self, turn: RunningTurn) -> Iterator[NativeEvent]:
        text, turn.text = turn.text, ""
        if text:
            yield TextDone(text=text)

    def _user_text(self, update: m.UpdateHead) -> Iterator[NativeEvent]:
        """A prompt or a steer joins the conversation; one that was not sent opens a turn that we did not ask for."""
        text = _text_of(update.content)
        turn = self.turn
        if turn is None:
            if self.listening and not {text, update.message_id} & self._shown:
                yield from self.opened_by_itself("the agent showed a prompt that was not sent")
            return
        if not turn.comes or update.message_id in self._shown:
            return
        yield from self._open(turn)
        if not turn.prompt_shown and text == turn.prompt:
            turn.prompt_shown = True
        elif self.steers.joined(update.message_id, text):
            yield from self._whole_text(turn)
        turn.shown |= {text, update.message_id or text}

    def _call(self, update: m.CallUpdate) -> Iterator[NativeEvent]:
        turn = self._current
        if turn is None:
            return
        yield from self._open(turn)
        before = turn.calls.get(update.tool_call_id)
        if before is not None and before.status in ENDED:
            return
        call = merged(before, update)
        turn.calls[update.tool_call_id] = call
        if before is None:
            yield from self.steers.model_answers()
            yield from self._whole_text(turn)
            yield ToolStarted(call=so_far(call).call)
        if call.status in ENDED:
            yield _finished(turn, so_far(call))

    # ---- the end ----

    def retrying(self, why: str) -> Iterator[NativeEvent]:
        """A request is tried again: what its answer had begun to say is void."""
        if self.turn is not None:
            yield from self._open(self.turn)
            self.turn.text = ""
        yield Notice(kind=NoticeKind.RETRY, text=why)

    def prompt_answered(self, prompt_id: str | None, done: m.PromptDone) -> Iterator[NativeEvent]:
        """The turn of that prompt has ended."""
        turn = self._ended(prompt_id)
        if turn is None:
            return
        status, reason = _ENDS.get(
            done.stop_reason, (TurnStatus.FAILED, f"the agent ended the turn with {done.stop_reason!r}")
        )
        if turn.denied and self._declaration.deny is Deny.ENDS_TURN and not turn.stopping:
            reason = "the agent ended the turn when a call was denied"
        if status is TurnStatus.COMPLETED:
            yield from self._whole_text(turn)
        yield from self._closed(turn, status, reason, done.stop_reason, done.usage)

    def prompt_failed(self, prompt_id: str | None, error: m.RpcError) -> Iterator[NativeEvent]:
        """The turn of that prompt ended with an error."""
        turn = self._ended(prompt_id)
        if turn is None:
            return
        cancelled = turn.stopping and error.code == m.REQUEST_CANCELLED
        status = TurnStatus.INTERRUPTED if cancelled else TurnStatus.FAILED
        yield from self._closed(turn, status, error.words, f"error {error.code}", None)

    def _ended(self, prompt_id: str | None) -> RunningTurn | None:
        """The turn that this ends; None when it is none that runs."""
        turn = self.turn
        return turn if turn is not None and turn.prompt_id == prompt_id else None

    def _closed(
        self, turn: RunningTurn, status: TurnStatus, reason: str, word: str, usage: m.Usage | None
    ) -> Iterator[NativeEvent]:
        yield from self._open(turn)
        for call in turn.calls.values():
            if call.status not in ENDED:
                yield ToolFinished(call_id=call.tool_call_id, status=ToolStatus.ABORTED)
        yield from self.steers.turn_ended(completed=status is TurnStatus.COMPLETED)
        count = self._declaration.usage
        if usage is not None and count is not UsageCount.UNKNOWN:
            scope = UsageScope.TURN if count is UsageCount.TURN else UsageScope.CUMULATIVE
            yield UsageReported(usage=_usage(usage), scope=scope)
        self._shown = turn.shown | {turn.prompt}
        self.turn = None
        yield TurnClosed(native_id="", status=status, reason=reason, native_status=word)


_update = msgspec.json.Decoder(m.SessionUpdate)
_content = msgspec.json.Decoder(m.Content)


def _text_of(content: msgspec.Raw) -> str:
    block = _content.decode(content)
    return block.text if block.type == "text" else ""


def _finished(turn: RunningTurn, call: CallSoFar) -> ToolFinished:
    call_id = call.call.call_id
    status = ToolStatus.OK
    if call.status == "failed":
        status = ToolStatus.ABORTED if turn.stopping else ToolStatus.ERROR
    if call_id in turn.denied:
        status = ToolStatus.DECLINED
    return ToolFinished(call_id=call_id, status=status, output=call.output, exit_status=call.exit_status)


def _usage(used: m.Usage) -> Usage:
    cached = used.cached_read_tokens
    return Usage(
        input_tokens=used.input_tokens + (cached or 0) + (used.cached_write_tokens or 0),
        cached_tokens=cached,
        output_tokens=used.output_tokens,
    )
