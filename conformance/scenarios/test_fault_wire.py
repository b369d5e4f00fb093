"""Peers that misbehave on the wire, between driver and real CLI: no hang, no loss, a definite outcome."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from checkrein.adapters import Outcome, Session, Steer, Turn
from checkrein.adapters.events import Event, Notice, TextDelta, TextDone, ToolFinished, ToolStarted
from checkrein.adapters.interrupting import LadderTimes
from checkrein.adapters.native import NoticeKind
from checkrein.adapters.shown import shown
from checkrein.conformance.peers.between import PeerBetween
from checkrein.conformance.peers.kinds import EXIT_MID_LINE, EXIT_MID_REQUEST
from checkrein.conformance.peers.order import Moment, Order
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import finish, next_approval, run, text_seen, within
from checkrein.scripted_models import hold, say, shell

PROMPT = "do the thing of the wire"
#: What a tool does, and leaves behind in a file of the workspace.
COMMAND = "echo the tool ran | tee -a ran.txt"
RAN = "the tool ran\n"
CALL = "call_wire"

#: Two to four bytes a character, a combining one, and one that two code points make.
ANSWER = "Grüße, 日本語, 🦄 und e\u0301 – whole."

#: A part of it that is in no piece of the model's stream, so that only the message with the whole text holds it.
ANSWER_END = "whole."

LAST_WORDS = "the peer gives up on purpose"

#: How long calls wait before they expire where one is to expire, and the harness gets to stop, in seconds.
EXPIRY, STOPPING = 2.0, 1.0

#: Longer than all the pipes and buffers on the way hold.
LONG = 400_000


#: The first line with the end of the answer: the message with the whole of it, or its last piece.
AT_THE_PROMPT = Moment(way="to_harness", holds=(PROMPT,))
AT_THE_ANSWER = Moment(way="from_harness", holds=(ANSWER_END,))


def _peer(arena: Arena, kind: str, *, at: Moment | None = None, gate: Path | None = None) -> PeerBetween:
    """The harness, its first process behind a peer of that kind."""
    wire = arena.target.kit.wire
    order = Order(
        kind=kind,
        at=at,
        lines=() if wire is None else wire.unknown,
        objects=() if wire is None else wire.objects,
        record=str(_record(arena)),
        gate=str(gate or ""),
        last_words=LAST_WORDS,
    )
    return PeerBetween(arena.target.adapter, order)


def _record(arena: Arena) -> Path:
    return arena.folder.root / "peer.txt"


def _require_misdeed(arena: Arena) -> None:
    arena.require(_record(arena).exists(), "the peer misbehaved, as its record says")


def _clause(kind: str) -> str:
    return f"fault.wire.{kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A turn to its end."""

    outcome: Outcome
    events: tuple[Event, ...]

    @property
    def notices(self) -> frozenset[NoticeKind]:
        """The kinds of notices in it."""
        return frozenset(event.kind for event in self.events if isinstance(event, Notice))

    @property
    def words(self) -> str:
        """Its end in words."""
        return f"{self.outcome.status.value}, exit status {self.outcome.exit_status}: {_ends(self.outcome)}"


async def _follow(arena: Arena, turn: Turn, *, allow: bool = False) -> Seen:
    """Read every event of a turn to its end.

    Args:
        allow: one question is expected, and allowed.
    """
    events: list[Event] = []

    async def collect() -> None:
        async def read() -> None:
            events.extend([event async for event in turn.events()])

        await within(arena, "the end of the turn", read())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(collect)
        if allow:
            await (await next_approval(arena, turn)).allow()
    return Seen(outcome=await finish(arena, turn), events=tuple(events))


def _script_the_turn(arena: Arena, *, answer: str = ANSWER) -> None:
    arena.script.main([shell(COMMAND, id=CALL)])
    arena.script.main([say(answer)])


def _lost(arena: Arena, seen: Seen, *, answer: str = ANSWER) -> Iterator[str]:
    """What is missing of a turn of `_script_the_turn`, or is there too often, in words."""
    if (seen.outcome.status.value, seen.outcome.text) != ("completed", answer):
        yield f"{seen.words} with the text {seen.outcome.text!r}"
    pieces = "".join(event.text for event in seen.events if isinstance(event, TextDelta))
    if pieces != answer:
        yield f"the pieces of text are {pieces!r}"
    texts = [event.text for event in seen.events if isinstance(event, TextDone)]
    if texts != [answer]:
        yield f"the whole texts are {texts!r}"
    calls = [event.call.call_id for event in seen.events if isinstance(event, ToolStarted)]
    results = [event.output for event in seen.events if isinstance(event, ToolFinished)]
    if len(calls) != 1 or [result.strip() for result in results] != [RAN.strip()]:
        yield f"calls {calls}, with the results {results!r}"
    written = arena.workspace / "ran.txt"
    ran = written.read_text(encoding="utf-8") if written.exists() else ""
    if ran != RAN:
        yield f"the tool has written {ran!r}"
    if (asked := len(arena.model.main_requests)) != 2:
        yield f"{asked} model requests"


async def _judge_whole_turn(
    arena: Arena,
    kind: str,
    *,
    at: Moment | None = None,
    answer: str = ANSWER,
    policy: str = "auto",
    notice: NoticeKind | None = None,
) -> None:
    """One turn with a tool behind a peer that leaves the turn healthy: judge that nothing is lost.

    Args:
        at: the moment of the misdeed.
        answer: what the model says.
        policy: with `ask`, one question is allowed.
        notice: a kind of notice that the driver must have shown.
    """
    _script_the_turn(arena, answer=answer)
    async with arena.session(policy=policy, adapter=_peer(arena, kind, at=at)) as session:
        turn = await within(arena, "the start of the turn", session.start(PROMPT))
        seen = await _follow(arena, turn, allow=policy == "ask")
    _require_misdeed(arena)
    lost = list(_lost(arena, seen, answer=answer))
    if notice is not None and notice not in seen.notices:
        lost.append(f"no notice of the kind {notice.value}")
    arena.judge(
        _clause(kind),
        holds=not lost,
        expected="completed; each piece of the answer, the whole of it verbatim, one call and result, two requests",
        observed="; ".join(lost) or f"{seen.words}, nothing lost",
        enforced_by="adapter",
    )


@scenario("fault.wire.torn-lines")
async def test_lines_in_pieces(arena: Arena) -> None:
    await _judge_whole_turn(arena, "torn-lines", policy="ask")


@scenario("fault.wire.multi-byte-split")
async def test_characters_in_pieces(arena: Arena) -> None:
    await _judge_whole_turn(arena, "multi-byte-split")


@scenario("fault.wire.u2028")
async def test_line_ends_of_elsewhere(arena: Arena) -> None:
    answer = f"one\u2028two\u2029three\u0085{ANSWER}"
    await _judge_whole_turn(arena, "u2028", answer=answer)


@scenario("fault.wire.line-10-mib")
async def test_a_long_message(arena: Arena) -> None:
    await _judge_whole_turn(arena, "line-10-mib", at=AT_THE_ANSWER)


@scenario("fault.wire.line-64-mib")
async def test_a_huge_message_that_nobody_knows(arena: Arena) -> None:
    arena.known("wire", arena.target.kit.wire)
    await _judge_whole_turn(arena, "line-64-mib", at=AT_THE_ANSWER)


@scenario("fault.wire.stray-text")
async def test_text_between_the_messages(arena: Arena) -> None:
    await _judge_whole_turn(arena, "stray-text", notice=NoticeKind.STRAY_OUTPUT)


@scenario("fault.wire.unknown-types")
async def test_messages_of_unknown_kinds(arena: Arena) -> None:
    arena.known("wire", arena.target.kit.wire)
    await _judge_whole_turn(arena, "unknown-types", at=AT_THE_PROMPT, notice=NoticeKind.UNKNOWN_MESSAGE)


@scenario("fault.wire.unknown-fields")
async def test_unknown_fields(arena: Arena) -> None:
    arena.known("wire", arena.target.kit.wire)
    await _judge_whole_turn(arena, "unknown-fields")


@scenario("fault.wire.invalid-utf-8")
async def test_bytes_that_are_no_text(arena: Arena) -> None:
    await _judge_whole_turn(arena, "invalid-utf-8", at=AT_THE_ANSWER)


@scenario("fault.wire.stderr-flood")
async def test_a_flood_on_standard_error(arena: Arena) -> None:
    await _judge_whole_turn(arena, "stderr-flood", at=AT_THE_ANSWER)


@scenario("fault.wire.late-message")
async def test_last_messages_that_come_again(arena: Arena) -> None:
    end = Moment(way="from_harness", holds=arena.known("wire", arena.target.kit.wire).ends_turn)
    _script_the_turn(arena)
    arena.script.main([say("The second answer.")])
    async with arena.session(policy="auto", adapter=_peer(arena, "late-message", at=end)) as session:
        turn = await within(arena, "the start of the turn", session.start(PROMPT))
        first = await _follow(arena, turn)
        lost = list(_lost(arena, first))
        turn = await within(arena, "the start of the next turn", session.start("again"))
        second = await _follow(arena, turn)
        strays = session.foreign_turns
    _require_misdeed(arena)
    texts = [event.text for event in second.events if isinstance(event, TextDone)]
    ended = (second.outcome.status.value, second.outcome.text)
    arena.judge(
        _clause("late-message"),
        holds=not lost
        and ended == ("completed", "The second answer.")
        and texts == ["The second answer."]
        and not strays
        and len(session.turns) == 2,
        expected="two turns, each completed with its own answer; no turn that nobody asked for",
        observed=f"first: {'; '.join(lost) or first.words}; second: {second.words}, texts {texts!r}, "
        f"{len(session.turns)} turns, {len(strays)} that nobody asked for",
        enforced_by="adapter",
    )


@scenario("fault.wire.slow-reader")
async def test_a_harness_that_does_not_read(arena: Arena) -> None:
    prompt = f"{PROMPT} {'x' * LONG} to its end"
    gate = arena.folder.root / "gate"
    os.mkfifo(gate)
    arena.script.main([say("The other session.")])
    arena.script.main([say(ANSWER)])
    slow = _peer(arena, "slow-reader", at=AT_THE_PROMPT, gate=gate)
    started: list[Turn] = []
    early = 0

    async def start(session: Session) -> None:
        started.append(await within(arena, "the start of the turn", session.start(prompt)))

    with gate.open("r+b", buffering=0) as opened:  # read and written, so that opening waits for nobody
        async with (
            arena.session(policy="auto", adapter=slow) as session,
            arena.session(policy="auto") as other,
        ):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(start, session)
                await run(arena, other, "hello")
                early = len(started)
                opened.write(b"!")
            seen = await _follow(arena, started[0])
    _require_misdeed(arena)
    beside = await finish(arena, other.turns[0])
    verbatim = sum(prompt in text for text in arena.model.main_requests[-1].view.user_texts)
    ended = (seen.outcome.status.value, seen.outcome.text)
    arena.judge(
        _clause("slow-reader"),
        holds=(beside.status.value, beside.text) == ("completed", "The other session.")
        and not early
        and ended == ("completed", ANSWER)
        and verbatim == 1,
        expected=f"meanwhile a turn of another session is completed; then the prompt of {len(prompt)} characters is in "
        "the request once, verbatim",
        observed=f"the other session: {beside.status.value} {beside.text!r}, {early} turns started before it; the slow "
        f"one: {seen.words}; {verbatim} times verbatim",
        enforced_by="adapter",
    )


@scenario("fault.wire.exit-mid-request")
async def test_a_process_that_dies_with_a_call_unanswered(arena: Arena) -> None:
    holding = arena.script.gate("the answer is held")
    arena.script.main([say("The first answer.")])
    arena.script.main([say("Half of"), hold(holding), say("it.")])
    arena.script.main([say(ANSWER)])
    dying = _peer(arena, "exit-mid-request", at=Moment(way="to_harness", holds=("do steer",)))
    async with arena.session(policy="auto", adapter=dying) as session:
        await run(arena, session, "first")
        turn = await within(arena, "the start of the turn", session.start(PROMPT))
        await text_seen(arena, turn)
        steer = await within(arena, "the end of the call", turn.steer("do steer"))
        outcome = await finish(arena, turn)
        holding.open()
        after = await _next_on_a_new_process(arena, session, "third")
    told = f"exit status {EXIT_MID_REQUEST}"
    kept = arena.model.main_requests[-1].view.count("The first answer.")
    arena.judge(
        _clause("exit-mid-request"),
        holds=steer.state.value == "unknown"
        and (outcome.status.value, outcome.exit_status) == ("failed", 1)
        and told in outcome.reason
        and LAST_WORDS in outcome.reason
        and (after.status.value, after.text, kept) == ("completed", ANSWER, 1),
        expected=f"the steer unknown, the turn failed with {told!r} and {LAST_WORDS!r}; the next prompt is completed "
        "and its request holds the first answer once",
        observed=f"the steer: {_fate(steer)}; {outcome.status.value}: {_ends(outcome)}; next: "
        f"{after.status.value} {after.text!r}, the first answer {kept} times",
        enforced_by="adapter",
    )


@scenario("fault.wire.torn-last-line")
async def test_a_process_that_dies_in_the_middle_of_a_line(arena: Arena) -> None:
    arena.script.main([say(ANSWER)])
    arena.script.main([say("The second answer.")])
    dying = _peer(arena, "torn-last-line", at=AT_THE_ANSWER)
    async with arena.session(policy="auto", adapter=dying) as session:
        turn = await within(arena, "the start of the turn", session.start(PROMPT))
        seen = await _follow(arena, turn)
        after = await _next_on_a_new_process(arena, session, "again")
    told = f"exit status {EXIT_MID_LINE}"
    texts = [event.text for event in seen.events if isinstance(event, TextDone)]
    arena.judge(
        _clause("torn-last-line"),
        holds=(seen.outcome.status.value, seen.outcome.exit_status) == ("failed", 1)
        and told in seen.outcome.reason
        and LAST_WORDS in seen.outcome.reason
        and not texts
        and (after.status.value, after.text) == ("completed", "The second answer."),
        expected=f"failed with {told!r} and {LAST_WORDS!r}, no whole text; the next prompt is completed",
        observed=f"{seen.words}, texts {texts!r}; next: {after.status.value} {after.text!r}",
        enforced_by="adapter",
    )


@scenario("fault.wire.silence")
async def test_a_process_that_falls_silent(arena: Arena) -> None:
    holding = arena.script.gate("the answer is held")
    arena.script.main([say("The first answer.")])
    arena.script.main([say("Half of"), hold(holding), say("it.")])
    arena.script.main([say(ANSWER)])
    silent = _peer(arena, "silence", at=Moment(way="to_harness", holds=("do steer",)))
    ladder = LadderTimes(harness=STOPPING)
    async with arena.session(policy="auto", adapter=silent, ladder=ladder) as session:
        await run(arena, session, "first")
        turn = await within(arena, "the start of the turn", session.start(PROMPT))
        await text_seen(arena, turn)
        assert session.link is not None
        connection = session.link.connection
        # Not for the whole session: a handshake may take longer than a call that is to expire.
        connection.spec = replace(connection.spec, call_seconds=EXPIRY)
        steer = await within(arena, "the end of the call", turn.steer("do steer"))
        outcome = await within(arena, "the end of the interrupted turn", turn.interrupt())
        holding.open()
        after = await _next_on_a_new_process(arena, session, "third")
    stopped_by = outcome.stopped_by.value if outcome.stopped_by else None
    kept = arena.model.main_requests[-1].view.count("The first answer.")
    arena.judge(
        _clause("silence"),
        holds=steer.state.value == "unknown"
        and (outcome.status.value, outcome.exit_status, stopped_by) == ("interrupted", 130, "kill")
        and (after.status.value, after.text, kept) == ("completed", ANSWER, 1),
        expected="the steer expires; interrupted, exit status 130, by a kill; the next prompt is completed and its "
        "request holds the first answer once",
        observed=f"the steer: {_fate(steer)}; {outcome.status.value}, exit status {outcome.exit_status}, stopped by "
        f"{stopped_by}; next: {after.status.value} {after.text!r}, the first answer {kept} times",
        enforced_by="adapter",
    )


async def _next_on_a_new_process(arena: Arena, session: Session, prompt: str) -> Outcome:
    # What was cut off may be missing in the conversation: a prompt that was not on disk yet is lost with the process.
    arena.model.expect_rewind()
    return await run(arena, session, prompt)


def _ends(outcome: Outcome) -> str:
    """The reason, without the middle of what a process has said on its standard error."""
    return shown(outcome.reason, limit=300)


def _fate(steer: Steer) -> str:
    return f"{steer.state.value}, {steer.steps[-1].evidence}"
