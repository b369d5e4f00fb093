"""A steer joins the turn that it was sent to, or is refused; it is never lost and never delivered twice."""

from __future__ import annotations

import anyio
import pytest

from checkrein.adapters.errors import SteerReason, SteerRejected
from checkrein.adapters.events import SteerChanged
from checkrein.adapters.native import SteerMoved, SteerProgress, TurnOpened
from checkrein.adapters.steering import SteerState
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import EchoHarness, closed

pytestmark = pytest.mark.anyio


def delivered(steer_id: str) -> SteerMoved:
    return SteerMoved(steer_id=steer_id, progress=SteerProgress.DELIVERED, evidence="in the next request")


async def test_a_steer_is_accepted_and_then_delivered(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        assert steer.state is SteerState.ACCEPTED
        await harness.newest.emit(delivered(steer.id), closed())
        assert await steer.settled() is SteerState.DELIVERED
        states = [event.state async for event in turn.events() if isinstance(event, SteerChanged)]
        assert states == [SteerState.SENDING, SteerState.ACCEPTED, SteerState.DELIVERED]


async def test_a_steer_with_no_active_turn_is_rejected_and_not_sent(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        with pytest.raises(SteerRejected) as rejected:
            await session.steer("left")
        assert rejected.value.reason is SteerReason.NO_ACTIVE_TURN
        assert harness.newest.sent == []


async def test_a_steer_to_an_ended_turn_is_rejected_also_when_another_runs(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        first = await session.start("one")
        await harness.newest.emit(closed())
        await first.outcome()
        await session.start("two")
        with pytest.raises(SteerRejected) as rejected:
            await first.steer("late")
        assert rejected.value.reason is SteerReason.TURN_ENDED
        assert ("steer", "late") not in harness.newest.sent


async def test_a_steer_is_rejected_while_the_turn_is_being_interrupted(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.obeys_interrupts = False
    async with opened() as session:
        turn = await session.start("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.interrupt)
            await harness.newest.interrupted.wait()
            with pytest.raises(SteerRejected) as rejected:
                await turn.steer("left")
            assert rejected.value.reason is SteerReason.INTERRUPTING
            await harness.newest.emit(closed())
        assert ("steer", "left") not in harness.newest.sent


async def test_a_refusal_of_the_harness_is_told_with_its_words(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.refuses_steers = True
    async with opened() as session:
        turn = await session.start("go")
        with pytest.raises(SteerRejected) as rejected:
            await turn.steer("left")
        assert (rejected.value.by, rejected.value.message) == ("harness", "cannot steer")
        assert turn.steers[0].state is SteerState.REJECTED


async def test_a_steer_that_came_too_late_starts_the_next_turn(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        first = await session.start("go")
        steer = await first.steer("left")
        await harness.newest.emit(closed(), TurnOpened(native_id="", prompt_id=steer.id))
        assert await steer.settled() is SteerState.QUEUED
        second = session.turn
        assert second is not None
        assert (second.opened_by, second.prompt) == ("steer", "left")
        await harness.newest.emit(closed())
        await second.outcome()


async def test_an_accepted_steer_that_an_interrupt_overtook_is_cancelled(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        await turn.interrupt()
        assert steer.state is SteerState.CANCELLED


async def test_a_steer_whose_harness_died_is_unknown(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        await harness.newest.process.signal(9)
        await turn.outcome()
        assert steer.state is SteerState.UNKNOWN


async def test_a_settled_steer_moves_no_more(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        late = SteerMoved(steer_id=steer.id, progress=SteerProgress.CANCELLED, evidence="too late")
        await harness.newest.emit(delivered(steer.id), late, closed())
        await turn.outcome()
        assert [step.state for step in steer.steps] == [
            SteerState.SENDING,
            SteerState.ACCEPTED,
            SteerState.DELIVERED,
        ]
