"""Whatever becomes of the turn, its process or the caller: a steer ends in one state, and nobody waits for ever."""

from __future__ import annotations

import anyio
import pytest

from checkrein.adapters.errors import CallExpired, CallRefused, SteerReason, SteerRejected
from checkrein.adapters.events import SteerChanged, TurnEnded
from checkrein.adapters.interrupting import LadderTimes
from checkrein.adapters.native import SteerMoved, SteerProgress, TurnOpened, TurnStatus
from checkrein.adapters.outcome import OutcomeStatus
from checkrein.adapters.steering import SteerState
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import FROZEN, EchoHarness, closed

pytestmark = pytest.mark.anyio


async def test_the_wait_for_a_steer_ends_with_the_process(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        await harness.newest.process.signal(9)
        with anyio.fail_after(5):
            assert await steer.settled() is SteerState.UNKNOWN


async def test_the_wait_for_a_steer_of_an_ended_turn_ends_with_the_session(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        await harness.newest.emit(closed())
        await turn.outcome()
    with anyio.fail_after(5):
        assert await steer.settled() is SteerState.UNKNOWN


async def test_the_wait_for_a_steer_of_an_earlier_turn_ends_with_the_process(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened(call_seconds=0.05) as session:
        first = await session.start("go")
        steer = await first.steer("left")
        await harness.newest.emit(closed())
        await first.outcome()
        await session.start("on")
        await harness.newest.process.signal(9)
        with anyio.fail_after(5):
            assert await steer.settled() is SteerState.UNKNOWN


async def test_a_steer_whose_caller_stopped_waiting_is_unknown_until_the_harness_tells(
    opened: OpenSession, harness: EchoHarness
) -> None:
    held = harness.hold("steer")
    async with opened() as session:
        turn = await session.start("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.steer, "left")
            await held.reached.wait()
            tasks.cancel_scope.cancel()
        steer = turn.steers[0]
        assert steer.state is SteerState.UNKNOWN
        told = SteerMoved(steer_id=steer.id, progress=SteerProgress.DELIVERED, evidence="in a request")
        await harness.newest.emit(told)
        assert await steer.settled() is SteerState.DELIVERED


async def test_a_steer_whose_acknowledgement_is_lost_is_unknown_and_returned(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["steer"] = CallExpired("no answer")
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        assert steer.state is SteerState.UNKNOWN


async def test_an_error_for_an_answer_is_a_rejection_in_the_harness_words(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["steer"] = CallRefused("the harness refused", message="no such thing")
    async with opened() as session:
        turn = await session.start("go")
        with pytest.raises(SteerRejected) as rejected:
            await turn.steer("left")
        assert rejected.value.reason is SteerReason.NOT_STEERABLE
        assert (rejected.value.by, rejected.value.message) == ("harness", "no such thing")
        assert turn.steers[0].state is SteerState.REJECTED


async def test_a_fault_of_the_adapter_leaves_the_steer_unknown(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["steer"] = KeyError("mine")
    async with opened() as session:
        turn = await session.start("go")
        with pytest.raises(KeyError):
            await turn.steer("left")
        assert turn.steers[0].state is SteerState.UNKNOWN


async def test_what_became_of_a_steer_is_unknown_when_the_interrupt_had_to_kill(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.program = FROZEN
    harness.obeys_interrupts = False
    async with opened(ladder=LadderTimes(harness=0.2, settle=0.2, tools=0.2)) as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        await turn.interrupt()
        assert [step.state for step in steer.steps][-1] is SteerState.UNKNOWN
        assert SteerState.CANCELLED not in [step.state for step in steer.steps]


async def test_a_steer_that_an_interrupt_dropped_starts_no_turn(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.obeys_interrupts = False
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.interrupt)
            await harness.newest.interrupted.wait()
            harness.obeys_interrupts = True
            harness.newest.interrupted = again_interrupted = anyio.Event()
            await harness.newest.emit(
                closed(TurnStatus.INTERRUPTED), TurnOpened(native_id="n", prompt_id=steer.id)
            )
            await again_interrupted.wait()
        assert steer.state is SteerState.CANCELLED
        again = await session.start("again")
        await harness.newest.emit(closed())
        assert (await again.outcome()).status is OutcomeStatus.COMPLETED
        assert [one.prompt for one in session.turns] == ["go", "again"]
        assert [foreign.native_id for foreign in session.foreign_turns] == ["n"]
        assert harness.newest.sent.count(("interrupt",)) == 2


async def test_a_rejected_steer_that_runs_all_the_same_is_interrupted_and_reported(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.refuses_steers = True
    async with opened() as session:
        turn = await session.start("go")
        with pytest.raises(SteerRejected):
            await turn.steer("left")
        await harness.newest.emit(closed(), TurnOpened(native_id="n", prompt_id=turn.steers[0].id))
        await harness.newest.interrupted.wait()
        assert [foreign.native_id for foreign in session.foreign_turns] == ["n"]
        assert session.turn is None


async def test_a_prompt_runs_although_a_late_steer_started_a_turn_before_it(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened(call_seconds=0.05) as session:
        first = await session.start("go")
        steer = await first.steer("left")
        await harness.newest.emit(closed())
        await first.outcome()
        held = harness.hold("start_turn")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start, "on")
            await held.reached.wait()
            await harness.newest.emit(TurnOpened(native_id="", prompt_id=steer.id), closed())
            assert await steer.settled() is SteerState.QUEUED
            held.released.set()
        second, third = session.turns[1:]
        assert {second.prompt, third.prompt} == {"on", "left"}
        await harness.newest.emit(closed())
        for turn in (second, third):
            with anyio.fail_after(5):
                assert (await turn.outcome()).status is OutcomeStatus.COMPLETED
        assert session.foreign_turns == ()


async def test_a_turn_that_the_harness_merged_into_the_next_one_ends(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened(call_seconds=0.05) as session:
        first = await session.start("go")
        steer = await first.steer("left")
        await harness.newest.emit(closed())
        await first.outcome()
        held = harness.hold("start_turn")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start, "on")
            await held.reached.wait()
            await harness.newest.emit(TurnOpened(native_id="", prompt_id=steer.id))
            assert await steer.settled() is SteerState.QUEUED
            held.released.set()
        late = next(turn for turn in session.turns if turn.opened_by == "steer")
        with anyio.fail_after(5):
            assert (await late.outcome()).status is OutcomeStatus.FAILED
        assert session.turn is not None
        assert session.turn.prompt == "on"


async def test_no_event_follows_the_end_of_the_turn(opened: OpenSession, harness: EchoHarness) -> None:
    held = harness.hold("steer")
    async with opened() as session:
        turn = await session.start("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.steer, "left")
            await held.reached.wait()
            await harness.newest.emit(closed())
            await turn.outcome()
            held.released.set()
        assert turn.steers[0].state is SteerState.ACCEPTED
        events = [event async for event in turn.events()]
        assert isinstance(events[-1], TurnEnded)
        states = [event.state for event in events if isinstance(event, SteerChanged)]
        assert states == [SteerState.SENDING]
