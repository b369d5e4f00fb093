"""One prompt, one outcome."""

from __future__ import annotations

import anyio
import pytest

from checkrein.adapters.errors import (
    CallRefused,
    PolicyNotEffective,
    SessionClosed,
    TurnActive,
    Unsupported,
)
from checkrein.adapters.events import Event, TextDelta, TurnEnded, TurnStarted
from checkrein.adapters.manifest import Capability
from checkrein.adapters.native import TextDone, TurnOpened, TurnStatus
from checkrein.adapters.outcome import OutcomeStatus
from checkrein.adapters.transport import processes_of
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import EchoHarness, closed

pytestmark = pytest.mark.anyio


async def test_a_completed_turn_gives_exit_status_0_and_the_last_text(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("do it")
        await harness.newest.emit(TextDelta(text="all"), TextDone(text="all done"), closed())
        outcome = await turn.outcome()
    assert (outcome.status, outcome.exit_status, outcome.text) == (OutcomeStatus.COMPLETED, 0, "all done")


async def test_the_events_of_a_turn_are_read_in_order_to_its_end(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("do it")
        await harness.newest.emit(TextDelta(text="a"), TextDelta(text="b"), closed())
        seen = [event async for event in turn.events()]
    assert [type(event) for event in seen] == [TurnStarted, TextDelta, TextDelta, TurnEnded]


async def test_what_the_turn_before_left_over_is_no_part_of_the_next(
    opened: OpenSession, harness: EchoHarness
) -> None:
    held = harness.hold("start_turn")
    seen: list[Event] = []
    async with opened() as session, anyio.create_task_group() as tasks:
        tasks.start_soon(session.start, "do it")
        await held.reached.wait()
        await harness.newest.emit(TextDelta(text="late"), TextDone(text="late, too"))
        held.released.set()
        await session.turns[0].opened.wait()
        await harness.newest.emit(TextDone(text="its own"), closed())
        seen = [event async for event in session.turns[0].events()]
    assert [event.text for event in seen if isinstance(event, TextDelta | TextDone)] == ["its own"]


async def test_a_failed_turn_keeps_the_reason_and_the_session_takes_the_next_prompt(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("do it")
        await harness.newest.emit(closed(TurnStatus.FAILED, "401 invalid key"))
        outcome = await turn.outcome()
        assert (outcome.status, outcome.exit_status) == (OutcomeStatus.FAILED, 1)
        assert "401" in outcome.reason
        again = await session.start("again")
        await harness.newest.emit(closed())
        assert (await again.outcome()).status is OutcomeStatus.COMPLETED
        assert len(harness.connections) == 1


async def test_a_second_prompt_is_refused_while_a_turn_runs(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        await session.start("do it")
        with pytest.raises(TurnActive):
            await session.start("another")
        assert ("start", "another") not in harness.newest.sent


async def test_a_refused_prompt_fails_the_turn_and_raises(opened: OpenSession, harness: EchoHarness) -> None:
    harness.refuses_prompts = True
    async with opened() as session:
        with pytest.raises(CallRefused):
            await session.start("do it")
        assert session.turn is None
        assert (await session.turns[0].outcome()).status is OutcomeStatus.FAILED


async def test_another_policy_than_the_one_asked_for_stops_before_any_prompt(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.policy_says = "auto"
    with pytest.raises(PolicyNotEffective, match="asked 'ask', effective 'auto'"):
        async with opened(policy="ask"):
            pytest.fail("the session must not open")
    assert harness.newest.sent == [("calls failed", "HarnessDied")]
    assert processes_of(harness.newest.process.marker) == []


async def test_a_policy_that_is_not_carried_out_yet_fails_before_anything_runs(
    opened: OpenSession, harness: EchoHarness
) -> None:
    with pytest.raises(Unsupported):
        async with opened(policy="governed"):
            pytest.fail("the session must not open")
    assert harness.connections == []


async def test_the_death_of_the_harness_fails_the_turn_at_once_and_the_next_turn_resumes(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("do it")
        await harness.newest.process.signal(9)
        outcome = await turn.outcome()
        assert outcome.status is OutcomeStatus.FAILED
        assert "signal 9" in outcome.reason
        again = await session.start("again")
        await harness.newest.emit(closed())
        await again.outcome()
        first, second = harness.connections
        assert second.spec.origin.value == "resume"
        assert second.spec.session_id == first.spec.session_id


async def test_where_no_conversation_can_be_taken_up_again_the_death_of_the_harness_ends_it(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.lacks = frozenset({Capability.RESUME})
    async with opened() as session:
        turn = await session.start("do it")
        await harness.newest.process.signal(9)
        await turn.outcome()
        with pytest.raises(Unsupported, match="cannot take one up again") as refused:
            await session.start("again")
        assert refused.value.advice == "open a new session"
        assert len(harness.connections) == 1


async def test_a_turn_that_the_harness_opens_by_itself_is_interrupted_and_reported(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        await harness.newest.emit(TurnOpened(native_id="n", prompt_id=None, cause="scheduled"))
        await harness.newest.interrupted.wait()
        turn = await session.start("mine")
        await harness.newest.emit(closed())
        assert (await turn.outcome()).status is OutcomeStatus.COMPLETED
        assert [foreign.cause for foreign in session.foreign_turns] == ["scheduled"]
        assert harness.newest.sent == [("interrupt",), ("start", "mine")]


async def test_an_error_in_the_block_reaches_the_caller_unwrapped_and_ends_the_process(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async def drive() -> None:
        async with opened() as session:
            await session.start("do it")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await drive()
    assert processes_of(harness.newest.process.marker) == []


async def test_a_closed_session_starts_nothing(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened() as session:
        pass
    with pytest.raises(SessionClosed):
        await session.start("too late")
