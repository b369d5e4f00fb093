"""Defects of harnesses, made on the bytes between the real CLI and its adapter: the same on Claude Code, Codex and pi.

What each harness calls the message is in `Messages`; what is done to it, and which checks must see it, is said once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from checkrein.adapters.transport import Direction
from checkrein.conformance.scenario import ScenarioRunner
from checkrein.conformance.scenarios import test_approve, test_interrupt_windows, test_record, test_steer
from tests.conformance.sabotage.wire_meddler import (
    ANYTHING,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    Meddling,
    Pick,
    Swap,
)

#: A scenario, as pytest finds it.
ScenarioTest = Callable[[ScenarioRunner], None]


def _said(fields: Mapping[str, object], *, nth: int | None = None) -> Pick:
    return Pick(way=Direction.FROM_HARNESS, fields=fields, nth=nth)


def _told(fields: Mapping[str, object], *, nth: int | None = None) -> Pick:
    return Pick(way=Direction.TO_HARNESS, fields=fields, nth=nth)


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """How one harness puts it.

    Args:
        interrupt: the driver asks it to stop.
        stopped: its answer to that.
        steer: the driver's first message to a turn that runs.
        joined: what tells that this message has joined the turn.
        last_words: a text of the model, whole.
        end: of a turn.
        question: about a call.
        denial: the driver's answer that a call must not run.
        another_id: what makes a steer another one.
        another_question: what makes a question another one.
        allowing: the texts of a denial that make it an allowance.
        completed: what makes the end of a turn a usual one.
        usage: what an answer of the model has cost, or the conversation up to it.
        denial_is_wordless: its message goes another way.
        usage_is_of_one_answer: it is no total.
        force_leaves_no_mark: the model is not told that a turn was cut short by the end of its process.
        withdrawn: it takes back its open question; None where it says nothing.
    """

    interrupt: Pick
    stopped: Pick
    steer: Pick
    joined: tuple[Pick, ...]
    last_words: Pick
    end: Pick
    question: Pick
    denial: Pick
    another_id: Mapping[str, object]
    another_question: Mapping[str, object]
    allowing: Mapping[str, str]
    completed: Mapping[str, object]
    usage: Pick
    denial_is_wordless: bool = False
    usage_is_of_one_answer: bool = False
    force_leaves_no_mark: bool = False
    withdrawn: Pick | None = None


#: Seen on Codex 0.171.0, Claude Code 2.1.332 and pi 1.6.0.
MESSAGES: Mapping[str, Messages] = {
    "codex": Messages(
        interrupt=_told({"method": "turn/interrupt"}),
        stopped=_said({"result": {}}, nth=1),
        steer=_told({"method": "turn/steer"}),
        joined=tuple(
            _said({"method": method, "params.item.type": "userMessage"}, nth=2)
            for method in ("item/started", "item/completed")
        ),
        last_words=_said({"method": "item/completed", "params.item.type": "agentMessage"}),
        end=_said({"method": "turn/completed"}),
        question=_said({"method": "item/commandExecution/requestApproval"}),
        denial=_told({"result.decision": "decline"}),
        another_id={"id": 1000},
        another_question={"id": 1000},
        allowing={'"decline"': '"accept"'},
        completed={"params.turn.status": "completed"},
        usage=_said({"method": "thread/tokenUsage/updated"}),
        denial_is_wordless=True,
    ),
    "claude-code": Messages(
        interrupt=_told({"request.subtype": "interrupt"}),
        stopped=_said({"type": "control_response", "response.response.still_queued": ANYTHING}),
        steer=_told({"type": "user"}, nth=2),
        joined=(_said({"type": "command_lifecycle", "state": "started"}, nth=2),),
        last_words=_said({"type": "assistant", "message.content.0.type": "text"}),
        end=_said({"type": "result"}),
        question=_said({"type": "control_request", "request.subtype": "can_use_tool"}),
        denial=_told({"response.response.behavior": "deny"}),
        another_id={"uuid": "6c1f2b9e-8f2e-4d3a-9a51-0f2f4f7f1000"},
        another_question={"request_id": "6c1f2b9e-8f2e-4d3a-9a51-0f2f4f7f2000"},
        allowing={'"behavior":"deny"': '"behavior":"allow","updatedInput":{"command":"touch forbidden.txt"}'},
        completed={"terminal_reason": "completed", "is_error": False},
        usage=_said({"type": "result"}),
        force_leaves_no_mark=True,
        withdrawn=_said({"type": "control_cancel_request"}),
    ),
    "pi": Messages(
        interrupt=_told({"type": "abort"}),
        stopped=_said({"type": "response", "command": "abort"}),
        steer=_told({"type": "steer"}),
        joined=(_said({"type": "message_start", "message.role": "user"}, nth=2),),
        last_words=_said(
            {"type": "message_end", "message.role": "assistant", "message.content.0.type": "text"}
        ),
        end=_said({"type": "agent_settled"}),
        question=_said({"type": "extension_ui_request", "method": "input"}),
        denial=_told({"type": "extension_ui_response"}),
        another_id={"id": "1000"},
        another_question={"id": "6c1f2b9e-8f2e-4d3a-9a51-0f2f4f7f2000"},
        allowing={r"\"deny\"": r"\"allow\""},
        completed={"aborted": False},
        usage=_said({"type": "message_end", "message.role": "assistant"}),
        usage_is_of_one_answer=True,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeddledWire:
    """A defect of a harness, made on its wire.

    Args:
        harness: the real CLI that it is shown on.
        meddlings: what makes it.
        scenario: what is run.
        red: those of its clauses that must fail; all others must pass.
    """

    harness: str
    meddlings: tuple[Meddling, ...]
    scenario: ScenarioTest
    red: frozenset[str]


def _wire(
    harness: str,
    scenario: ScenarioTest,
    *meddlings: Meddling,
    red: tuple[str, ...] = (),
) -> MeddledWire:
    return MeddledWire(harness=harness, meddlings=meddlings, scenario=scenario, red=frozenset(red))


def _defects(harness: str, said: Messages) -> Iterator[tuple[str, MeddledWire]]:
    """Each act at least once. Above each defect is said why exactly those checks see it."""
    # The turn has to be ended by force, so no line of the harness ever ends it; quiet it is afterwards all the same.
    # Codex and pi mark a turn whose process ends with its input; Claude Code takes SIGTERM to end, and leaves no mark.
    unmarked = ("interrupt.mark.visible",) if said.force_leaves_no_mark else ()
    yield (
        "never hears an interrupt",
        _wire(
            harness,
            test_interrupt_windows.test_interrupt_while_the_model_streams_text,
            Meddling(pick=said.interrupt, act=Drop()),
            red=("interrupt.mid-text.outcome", "interrupt.record.on-disk-first", *unmarked),
        ),
    )
    # It has stopped, and is quiet; only the outcome that the person gets is wrong.
    yield (
        "calls an interrupted turn completed",
        _wire(
            harness,
            test_interrupt_windows.test_interrupt_while_the_model_streams_text,
            Meddling(pick=said.end, act=Corrupt(changed=said.completed)),
            red=("interrupt.mid-text.outcome",),
        ),
    )
    # The model has it, and the person is not told so before the turn is over.
    yield (
        "says too late that a steer has joined",
        _wire(
            harness,
            test_steer.test_steer_while_a_tool_runs,
            *(Meddling(pick=pick, act=Delay(until=said.end)) for pick in said.joined),
            red=("steer.mid-tool.delivered",),
        ),
    )
    # The model reads it twice.
    yield (
        "takes a steer in twice",
        _wire(
            harness,
            test_steer.test_steer_while_a_tool_runs,
            Meddling(pick=said.steer, act=Duplicate(changed=said.another_id)),
            red=("steer.mid-tool.delivered",),
        ),
    )
    # The outcome has no text; the call was denied all the same, and the model was told why.
    yield (
        "ends a turn before its last words",
        _wire(
            harness,
            test_approve.test_a_denied_call,
            Meddling(pick=said.last_words, act=Swap(other=said.end)),
            red=("approve.deny.turn-goes-on",),
        ),
    )
    # The call runs and the turn goes on to its end. Codex gets the words of a denial as a steer: the model reads them.
    lost = () if said.denial_is_wordless else ("approve.deny.message-reaches-model",)
    yield (
        "takes a no for a yes",
        _wire(
            harness,
            test_approve.test_a_denied_call,
            Meddling(pick=said.denial, act=Corrupt(texts=said.allowing)),
            red=("approve.deny.not-run", *lost),
        ),
    )
    # Denied, it does not run; but what a person would have allowed is not what would have run.
    yield (
        "shows another command than it runs",
        _wire(
            harness,
            test_approve.test_what_an_approval_shows,
            Meddling(pick=said.question, act=Corrupt(texts={"the-hidden-end.txt": "the-other-end.txt"})),
            red=("approve.shown.whole",),
        ),
    )
    # It is added up, where it is told of one answer alone and has no name by which the second is known.
    if said.usage_is_of_one_answer:
        yield "counts each answer twice", _counting_twice(harness, said, red=("record.usage.per-turn",))


def _counting_twice(harness: str, said: Messages, *, red: tuple[str, ...] = ()) -> MeddledWire:
    meddling = Meddling(pick=said.usage, act=Duplicate())
    return _wire(harness, test_record.test_usage_of_each_turn_alone, meddling, red=red)


def _healed(harness: str, said: Messages) -> Iterator[tuple[str, MeddledWire]]:
    """What adapters make good."""
    # The end of the turn counts, not the answer; and it counts once.
    yield (
        "does not answer an interrupt and ends the turn twice",
        _wire(
            harness,
            test_interrupt_windows.test_interrupt_while_the_model_streams_text,
            Meddling(pick=said.stopped, act=Drop()),
            Meddling(pick=said.end, act=Duplicate()),
        ),
    )
    # The call runs once, by whichever answer; what is left open is closed with the turn.
    yield (
        "asks twice about a call",
        _wire(
            harness,
            test_approve.test_an_allowed_call_waits_and_runs_once,
            Meddling(pick=said.question, act=Duplicate(changed=said.another_question)),
        ),
    )
    # A total that comes again adds nothing.
    if not said.usage_is_of_one_answer:
        yield "counts each answer twice", _counting_twice(harness, said)
    # The interrupt itself closes what is open.
    if said.withdrawn is not None:
        yield (
            "takes its question back when the turn is over",
            _wire(
                harness,
                test_interrupt_windows.test_interrupt_while_an_approval_is_open,
                Meddling(pick=said.withdrawn, act=Delay(until=said.end)),
            ),
        )


def _named(
    kinds: Callable[[str, Messages], Iterator[tuple[str, MeddledWire]]],
) -> dict[str, MeddledWire]:
    return {
        f"{harness} {name}": wire for harness, said in MESSAGES.items() for name, wire in kinds(harness, said)
    }


#: By name: those that turn checks red.
DEFECTS: dict[str, MeddledWire] = _named(_defects)

#: By name: those that no check may see, although the meddler has acted.
HEALED: dict[str, MeddledWire] = _named(_healed)
