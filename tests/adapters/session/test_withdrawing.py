"""A steer is taken back before the model sees it, or the withdrawal is refused and changes nothing."""

from __future__ import annotations

import anyio
import pytest

from checkrein.adapters.errors import CallExpired, SteerRejected, Unsupported, WithdrawRefused
from checkrein.adapters.manifest import Capability
from checkrein.adapters.native import SteerMoved, SteerProgress, TurnOpened
from checkrein.adapters.steering import SteerState
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import EchoHarness, closed

pytestmark = pytest.mark.anyio


def moved(steer_id: str, progress: SteerProgress) -> SteerMoved:
    return SteerMoved(steer_id=steer_id, progress=progress, evidence="the harness says so")


async def test_an_accepted_steer_is_taken_back_and_the_turn_goes_on(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        await steer.withdraw()
        assert (steer.state, steer.withdrawn) == (SteerState.CANCELLED, True)
        assert ("withdraw", steer.id) in harness.newest.sent
        assert turn.ended is None
        await harness.newest.emit(closed())
        await turn.outcome()


async def test_a_second_withdrawal_does_nothing(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        await steer.withdraw()
        await steer.withdraw()
        assert harness.newest.sent.count(("withdraw", steer.id)) == 1


async def test_a_delivered_steer_is_not_taken_back_and_nothing_is_sent(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        await harness.newest.emit(moved(steer.id, SteerProgress.DELIVERED))
        await steer.settled()
        with pytest.raises(WithdrawRefused) as refused:
            await steer.withdraw()
        assert refused.value.state == "delivered"
        assert ("withdraw", steer.id) not in harness.newest.sent
        assert not steer.withdrawn


async def test_a_steer_that_started_the_next_turn_is_not_taken_back(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        await harness.newest.emit(closed(), TurnOpened(native_id="", prompt_id=steer.id))
        await steer.settled()
        with pytest.raises(WithdrawRefused):
            await steer.withdraw()
        await harness.newest.emit(closed())


async def test_a_rejected_steer_is_not_taken_back(opened: OpenSession, harness: EchoHarness) -> None:
    harness.refuses_steers = True
    async with opened() as session:
        turn = await session.start("go")
        with pytest.raises(SteerRejected):
            await turn.steer("left")
        with pytest.raises(WithdrawRefused):
            await turn.steers[0].withdraw()


async def test_what_the_harness_has_begun_to_deliver_is_not_taken_back_and_settles_later(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.drops_withdrawn = False
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        with pytest.raises(WithdrawRefused):
            await steer.withdraw()
        assert steer.state is SteerState.ACCEPTED
        await harness.newest.emit(moved(steer.id, SteerProgress.DELIVERED))
        assert await steer.settled() is SteerState.DELIVERED


async def test_a_withdrawal_waits_until_the_harness_has_the_steer(
    opened: OpenSession, harness: EchoHarness
) -> None:
    held = harness.hold("steer")
    async with opened() as session:
        turn = await session.start("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.steer, "left")
            await held.reached.wait()
            steer = turn.steers[0]
            tasks.start_soon(steer.withdraw)
            await anyio.wait_all_tasks_blocked()
            assert ("withdraw", steer.id) not in harness.newest.sent
            held.released.set()
        assert (turn.steers[0].state, turn.steers[0].withdrawn) == (SteerState.CANCELLED, True)


async def test_the_dropping_of_a_steer_counts_although_the_answer_denies_it(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.drops_withdrawn = False
    held = harness.hold("withdraw")
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(steer.withdraw)
            await held.reached.wait()
            await harness.newest.emit(moved(steer.id, SteerProgress.CANCELLED))
            await steer.settled()
            held.released.set()
        assert steer.withdrawn


async def test_a_withdrawal_without_an_answer_leaves_the_steer_as_it_is(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["withdraw"] = CallExpired("no answer")
    async with opened() as session:
        turn = await session.start("go")
        steer = await turn.steer("left")
        with pytest.raises(CallExpired):
            await steer.withdraw()
        assert (steer.state, steer.withdrawn) == (SteerState.ACCEPTED, False)


async def test_a_harness_that_cannot_take_back_says_so_at_once(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.lacks = frozenset({Capability.WITHDRAW})
    held = harness.hold("steer")
    async with opened() as session:
        turn = await session.start("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.steer, "left")
            await held.reached.wait()
            with pytest.raises(Unsupported):
                await turn.steers[0].withdraw()
            held.released.set()
        assert turn.steers[0].state is SteerState.ACCEPTED
