"""Defects of how faults are taken: by the agent, by the driver of an honest one, by records, by the peers of the kit.

Where many are of a kind, a table says what each does.
"""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import anyio
import msgspec

from checkrein.adapters import record_keeping
from checkrein.adapters.foreign_turns import ForeignTurn
from checkrein.adapters.native import TextDelta, TextDone, TurnEvent
from checkrein.adapters.outcome import Outcome, OutcomeStatus
from checkrein.adapters.record import ToolRecord, TurnRecord
from checkrein.adapters.session import Session
from checkrein.adapters.steering import SteerLedger, SteerState
from checkrein.adapters.turn import Turn
from checkrein.conformance.peers.between import PeerBetween
from checkrein.conformance.reference import model, tools, turn
from checkrein.conformance.reference.sessions import Session as Conversation
from tests.conformance.saboteurs.defect import Defect, change_property, instead

#: Longer than any prompt of a person, in characters.
LONG = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldOutcome(Outcome):
    """An outcome as it is told, which need not be right.

    Args:
        exits_with: its exit status.
    """

    exits_with: int

    @property
    def exit_status(self) -> int:
        """See `Outcome`."""
        return self.exits_with


#: What can be told wrong of an outcome: one thing, all others stay right.
FAILED = {"status": OutcomeStatus.FAILED}
TO_REVIEW = {"status": OutcomeStatus.NEEDS_REVIEW}
TEXTLESS = {"text": ""}
EXITS_WITH_2 = {"exits_with": 2}
WITHOUT_A_REASON = {"reason": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistold:
    """Outcomes that are told wrong.

    Args:
        prompts: the beginnings of those of the turns, each with what is told wrong.
    """

    prompts: Mapping[str, Mapping[str, Any]]
    red: tuple[str, ...]


OVERLOADS = ("fault.model-429", "fault.model-500", "fault.model-529")
BROKEN_STREAMS = ("fault.model-cut-mid-text", "fault.model-malformed-sse")

#: By the name of the defect. Of each clause one outcome is wrong, in one thing.
MISTOLD = {
    "of an overloaded model, the first outcomes are told wrong": Mistold(
        prompts={
            "a prompt that gets 429 once": FAILED,
            "a prompt that gets 500 once": TEXTLESS,
            "a prompt that gets 529 always": TO_REVIEW,
        },
        red=OVERLOADS,
    ),
    "of an overloaded model, the last outcomes are told wrong": Mistold(
        prompts={
            "a prompt that gets 429 always": EXITS_WITH_2,
            "the prompt after 500": FAILED,
            "the prompt after 529": TEXTLESS,
        },
        red=OVERLOADS,
    ),
    "of broken streams, a retry and a turn behind one are told wrong": Mistold(
        prompts={"a prompt that gets cut-mid-text once": TEXTLESS, "the prompt after malformed-sse": FAILED},
        red=BROKEN_STREAMS,
    ),
    "of broken streams, a failure and a turn behind one are told wrong": Mistold(
        prompts={
            "the prompt after cut-mid-text": TEXTLESS,
            "a prompt that gets malformed-sse always": WITHOUT_A_REASON,
        },
        red=BROKEN_STREAMS,
    ),
    "of a silent model, the failure is told without a reason": Mistold(
        prompts={"nothing comes": WITHOUT_A_REASON}, red=("fault.model-silent",)
    ),
    "of a silent model, the turn behind it is told as failed": Mistold(
        prompts={"are you there again?": FAILED}, red=("fault.model-silent",)
    ),
    "of a silent model, the turn behind it is told without its text": Mistold(
        prompts={"are you there again?": TEXTLESS}, red=("fault.model-silent",)
    ),
    "a turn behind late messages and one beside a slow peer lack the text": Mistold(
        prompts={"again": TEXTLESS, "hello": TEXTLESS},
        red=("fault.wire.late-message", "fault.wire.slow-reader"),
    ),
    "a turn beside a slow peer is told as failed": Mistold(
        prompts={"hello": FAILED}, red=("fault.wire.slow-reader",)
    ),
    "a turn of a long prompt is told without its text": Mistold(
        prompts={"do the thing of the wire xxx": TEXTLESS}, red=("fault.wire.slow-reader",)
    ),
}


def mistell(prompts: Mapping[str, Mapping[str, Any]]) -> None:
    """Outcomes are told wrong; see `Mistold`."""

    def make(finish: Any) -> Any:
        def told(self: Any, status: OutcomeStatus, **words: Any) -> None:
            finish(self, status, **words)
            right = self._outcome
            known = {field.name: getattr(right, field.name) for field in fields(right)}
            for beginning, wrong in prompts.items():
                if self.prompt.startswith(beginning):
                    self._outcome = replace(ToldOutcome(**known, exits_with=right.exit_status), **wrong)

        return told

    instead(Turn, "_finish", make)


def _with_tools(change: Callable[[ToolRecord], Mapping[str, object]]) -> Callable[[TurnRecord], TurnRecord]:
    return lambda record: msgspec.structs.replace(
        record, tools=tuple(msgspec.structs.replace(tool, **change(tool)) for tool in record.tools)
    )


def _with(**wrong: object) -> Callable[[TurnRecord], TurnRecord]:
    return lambda record: msgspec.structs.replace(record, **wrong)


#: What the record of a turn that was cut off is read as, by the name of the defect.
MISREAD: Mapping[str, Callable[[TurnRecord], TurnRecord]] = {
    "a record that was cut off lacks the prompt": _with(prompt=""),
    "a record that was cut off has a status": _with(status="failed"),
    "a record that was cut off has an end": lambda record: _with(ended_at=record.started_at)(record),
    "a record that was cut off has an older text": _with(text="Looking."),
    "a record that was cut off lacks the outputs": _with_tools(lambda tool: {"output_tail": ""}),
    "a record that was cut off lacks the commands": _with_tools(lambda tool: {"command": None}),
    "a record that was cut off has its calls failed": _with_tools(
        lambda tool: {"status": tool.status or "failed"}
    ),
}


def misread(change: Callable[[TurnRecord], TurnRecord]) -> None:
    """The record of a turn that has not ended is read as something else."""
    instead(record_keeping, "_folded", lambda folded: lambda lines, path: change(folded(lines, path)))


def give_up_lasting_faults() -> None:
    """A fault that says that it lasts is not tried again."""

    def make(refusal: Any) -> Any:
        def judged(response: Any) -> Any:
            fault = refusal(response)
            return model.ModelFailed(str(fault)) if "lasting" in str(fault) else fault

        return judged

    instead(model, "_refusal", make)


def say_that_it_failed_only() -> None:
    """The receipt of a call that failed says that it did, and no more."""

    def make_run(run: Any) -> Any:
        def silent(self: Any, cwd: Any, cancellation: Any) -> Any:
            result = run(self, cwd, cancellation)
            return replace(result, text=f"exit status {result.exit_status}") if result.exit_status else result

        return silent

    def make_tool_of(tool_of: Any) -> Any:
        def curt(call: Any) -> Any:
            try:
                return tool_of(call)
            except tools.BadCall as fault:
                raise (fault if call.name not in tools.TOOLS else tools.BadCall("It failed.")) from None

        return curt

    instead(tools.Shell, "run", make_run)
    instead(turn, "tool_of", make_tool_of)


def name_no_unknown_tool() -> None:
    """The receipt of a call of a tool that is not there does not name it."""

    def make(tool_of: Any) -> Any:
        def nameless(call: Any) -> Any:
            if call.name not in tools.TOOLS:
                raise tools.BadCall("There is no such tool.")
            return tool_of(call)

        return nameless

    instead(turn, "tool_of", make)


def cut_long_prompts() -> None:
    """The end of a very long prompt is cut off."""
    instead(turn, "user_message", lambda make: lambda text: make(text[:LONG]))


def forget_what_was_answered() -> None:
    """A conversation that is loaded lacks what the model said in it."""

    def make(load: Any) -> Any:
        def forgetful(session_id: str, home: Any) -> Any:
            session = load(session_id, home)
            session.messages = [message for message in session.messages if message["role"] != "assistant"]
            return session

        return forgetful

    instead(Conversation, "load", make)


def _in_turns(begin: str, change: Callable[[TurnEvent], Iterator[TurnEvent]]) -> None:
    """In turns whose prompts begin so, let each event of the harness be what `change` makes of it."""

    def make(apply: Any) -> Any:
        def changed(self: Any, event: TurnEvent) -> None:
            for one in change(event) if self.prompt.startswith(begin) else (event,):
                apply(self, one)

        return changed

    instead(Turn, "apply", make)


def show_pieces_twice() -> None:
    """In the first turn, each piece of the model's text is shown twice."""

    def twice(event: TurnEvent) -> Iterator[TurnEvent]:
        yield event
        if isinstance(event, TextDelta):
            yield event

    _in_turns("do the thing", twice)


def show_texts_twice() -> None:
    """In the second turn, each whole text of the model is shown twice."""

    def twice(event: TurnEvent) -> Iterator[TurnEvent]:
        yield event
        if isinstance(event, TextDone):
            yield event

    _in_turns("again", twice)


def call_a_turn_foreign() -> None:
    """A turn that somebody asked for is listed among those that nobody did."""
    change_property(
        Session,
        "foreign_turns",
        lambda self, seen: (*seen, ForeignTurn(native_id=self.turns[-1].native_id, cause="no cause given")),
    )


def start_unheard() -> None:
    """A turn counts as started before the harness has read its prompt."""

    def make(start: Any) -> Any:
        async def at_once(self: Any, prompt: str) -> Any:
            listed = anyio.Event()
            new_turn = self._new_turn

            def noting(*words: Any, **more: Any) -> Any:
                turn = new_turn(*words, **more)
                listed.set()
                return turn

            self._new_turn = noting
            self._tasks.start_soon(start, self, prompt)
            await listed.wait()
            self._new_turn = new_turn
            return self.turns[-1]

        return at_once

    instead(Session, "_start", make)


def call_lost_steers_cancelled() -> None:
    """A steer whose acknowledgement was lost is told as cancelled."""

    def make(move: Any) -> Any:
        def certain(self: Any, steer: Any, state: SteerState, evidence: str) -> None:
            move(self, steer, SteerState.CANCELLED if state is SteerState.UNKNOWN else state, evidence)

        return certain

    instead(SteerLedger, "_move", make)


def end_a_text_with_its_process() -> None:
    """When the process ends, what there is of a text counts as a whole one."""

    def make(process_gone: Any) -> Any:
        def rounded_off(self: Any, error: Any) -> None:
            if self.ended is None:
                self.apply(TextDone(text="what there is"))
            process_gone(self, error)

        return rounded_off

    instead(Turn, "process_gone", make)


def let_no_peer_between() -> None:
    """The kit lets the agent speak to the driver with no peer between them that misbehaves."""
    instead(
        PeerBetween,
        "__init__",
        lambda init: lambda self, adapter, order: init(self, adapter, order, processes=0),
    )


RESUMED = ("fault.wire.exit-mid-request", "fault.wire.silence")

DEFECTS = {
    "a fault that says that it lasts is not tried again": Defect(
        install=give_up_lasting_faults, red=OVERLOADS
    ),
    "the receipt of what failed says no more": Defect(
        install=say_that_it_failed_only, red=("fault.tool-nonzero.receipt", "fault.bad-arguments.receipt")
    ),
    "the receipt of an unknown tool does not name it": Defect(
        install=name_no_unknown_tool, red=("fault.bad-arguments.receipt",)
    ),
    "no peer stands between driver and agent": Defect(
        install=let_no_peer_between,
        not_testable=("fault.wire.torn-lines", "fault.wire.late-message", "fault.wire.slow-reader"),
        in_driver=True,
    ),
    "a long prompt is cut": Defect(install=cut_long_prompts, red=("fault.wire.slow-reader",)),
    "a resumed conversation lacks the model's answers": Defect(install=forget_what_was_answered, red=RESUMED),
    **{
        name: Defect(install=partial(mistell, mistold.prompts), red=mistold.red, in_driver=True)
        for name, mistold in MISTOLD.items()
    },
    **{
        name: Defect(install=partial(misread, change), red=("record.survives-crash",), in_driver=True)
        for name, change in MISREAD.items()
    },
    **{
        name: Defect(install=install, red=red, in_driver=True)
        for name, (install, red) in {
            "pieces of text are shown twice": (show_pieces_twice, ("fault.wire.late-message",)),
            "whole texts are shown twice": (show_texts_twice, ("fault.wire.late-message",)),
            "a turn that was asked for counts as foreign": (
                call_a_turn_foreign,
                ("fault.wire.late-message",),
            ),
            "a turn is started before it is heard": (start_unheard, ("fault.wire.slow-reader",)),
            "a lost steer is told as cancelled": (call_lost_steers_cancelled, RESUMED),
            "a text ends whole with its process": (
                end_a_text_with_its_process,
                ("fault.wire.torn-last-line",),
            ),
        }.items()
    },
}
