"""A message that is sent to a session joins the running turn or starts the next one: never lost, never twice."""

from __future__ import annotations

import anyio
import pytest

from checkrein.adapters.errors import CallExpired, CallRefused, SessionClosed, SteerReason, SteerRejected
from checkrein.adapters.native import SteerMoved, SteerProgress, TurnOpened, TurnStatus
from checkrein.adapters.sending import Message
from checkrein.adapters.steering import SteerState
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import EchoHarness, closed

pytestmark = pytest.mark.anyio


def moved(steer_id: str, progress: SteerProgress) -> SteerMoved:
    return SteerMoved(steer_id=steer_id, progress=progress, evidence="the harness says so")


def steers(harness: EchoHarness) -> list[str]:
    return [sent[1] for sent in harness.newest.sent if sent[0] == "steer"]


def prompts(harness: EchoHarness) -> list[str]:
    return [sent[1] for sent in harness.newest.sent if sent[0] == "start"]


def steer_id(message: Message) -> str:
    assert message.steer is not None
    return message.steer.id


async def test_a_message_joins_the_running_turn(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened() as session:
        turn = await session.start("go")
        message = await session.send("left")
        await harness.newest.emit(moved(steer_id(message), SteerProgress.DELIVERED), closed())
        assert await message.settled() is turn
        assert (steers(harness), prompts(harness)) == (["left"], ["go"])


async def test_a_message_starts_a_turn_when_none_runs(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened() as session:
        message = await session.send("go")
        turn = await message.settled()
        assert turn is session.turn
        assert (steers(harness), prompts(harness)) == ([], ["go"])
        await harness.newest.emit(closed())


async def test_a_message_that_the_harness_keeps_for_the_next_turn_is_in_that_turn(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        await session.start("go")
        message = await session.send("left")
        await harness.newest.emit(closed(), TurnOpened(native_id="", prompt_id=steer_id(message)))
        turn = await message.settled()
        assert turn is not None
        assert (turn.opened_by, turn.prompt) == ("steer", "left")
        assert prompts(harness) == ["go"]
        await harness.newest.emit(closed())


async def test_a_message_that_the_ended_turn_left_out_starts_the_next_one(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        first = await session.start("go")
        message = await session.send("left")
        await harness.newest.emit(moved(steer_id(message), SteerProgress.CANCELLED), closed())
        turn = await message.settled()
        assert turn not in (None, first)
        assert prompts(harness) == ["go", "left"]
        await harness.newest.emit(closed())


async def test_a_message_that_no_request_held_is_shown_by_a_turn_of_its_own_and_not_sent_again(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        first = await session.start("go")
        message = await session.send("left")
        await harness.newest.emit(moved(steer_id(message), SteerProgress.QUEUED), closed())
        turn = await message.settled()
        assert turn not in (None, first)
        assert prompts(harness) == ["go", ""]
        await harness.newest.emit(closed())


@pytest.mark.parametrize("reason", [SteerReason.NO_ACTIVE_TURN, SteerReason.NOT_STEERABLE])
async def test_a_message_that_the_harness_refuses_waits_for_the_end_of_the_turn(
    opened: OpenSession, harness: EchoHarness, reason: SteerReason
) -> None:
    harness.faults["steer"] = SteerRejected(reason, by="harness")
    async with opened() as session:
        await session.start("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.send, "left")
            await anyio.wait_all_tasks_blocked()
            assert prompts(harness) == ["go"]
            await harness.newest.emit(closed())
        assert prompts(harness) == ["go", "left"]
        await harness.newest.emit(closed())


async def test_a_message_during_an_interrupt_starts_the_next_turn(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.obeys_interrupts = False
    async with opened() as session:
        turn = await session.start("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.interrupt)
            await harness.newest.interrupted.wait()
            tasks.start_soon(session.send, "left")
            await anyio.wait_all_tasks_blocked()
            await harness.newest.emit(closed(TurnStatus.INTERRUPTED))
        assert (steers(harness), prompts(harness)) == ([], ["go", "left"])
        await harness.newest.emit(closed())


async def test_a_message_that_an_interrupt_dropped_is_in_no_turn(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        message = await session.send("left")
        await turn.interrupt()
        assert await message.settled() is None
        assert prompts(harness) == ["go"]


async def test_a_message_that_was_withdrawn_is_in_no_turn(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened() as session:
        turn = await session.start("go")
        message = await session.send("left")
        assert message.steer is not None
        await message.steer.withdraw()
        assert await message.settled() is None
        await harness.newest.emit(closed())
        await turn.outcome()
        assert prompts(harness) == ["go"]


async def test_a_message_whose_acknowledgement_was_lost_is_not_sent_again(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["steer"] = CallExpired("no answer")
    async with opened() as session:
        turn = await session.start("go")
        message = await session.send("left")
        assert message.steer is not None
        assert message.steer.state is SteerState.UNKNOWN
        await harness.newest.emit(moved(message.steer.id, SteerProgress.DELIVERED), closed())
        assert await message.settled() is turn
        assert (steers(harness), prompts(harness)) == (["left"], ["go"])


async def test_a_message_of_which_nobody_can_tell_is_not_sent_again(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        await session.start("go")
        message = await session.send("left")
        await harness.newest.process.signal(9)
        assert await message.settled() is None
        assert message.steer is not None
        assert message.steer.state is SteerState.UNKNOWN
        assert prompts(harness) == ["go"]


async def test_messages_keep_their_order_when_their_turn_ends(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        await session.start("go")
        first, second = await session.send("left"), await session.send("right")
        ids = [steer_id(first), steer_id(second)]
        await harness.newest.emit(*(moved(one, SteerProgress.CANCELLED) for one in ids), closed())
        assert await first.settled() is session.turn
        await anyio.wait_all_tasks_blocked()
        assert (prompts(harness), steers(harness)) == (["go", "left"], ["left", "right", "right"])
        await harness.newest.emit(closed())


async def test_too_large_a_message_is_refused_and_starts_nothing(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["steer"] = SteerRejected(SteerReason.TOO_LARGE, by="harness")
    async with opened() as session:
        await session.start("go")
        with pytest.raises(SteerRejected):
            await session.send("left")
        await harness.newest.emit(closed())
        assert prompts(harness) == ["go"]


async def test_a_message_joins_a_turn_that_somebody_else_is_starting(
    opened: OpenSession, harness: EchoHarness
) -> None:
    held = harness.hold("start_turn")
    async with opened() as session:
        messages: list[Message] = []

        async def send() -> None:
            messages.append(await session.send("left"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start, "go")
            await held.reached.wait()
            tasks.start_soon(send)
            held.released.set()
        await harness.newest.emit(moved(steer_id(messages[0]), SteerProgress.DELIVERED), closed())
        assert (await messages[0].settled()) is session.turns[0]
        assert prompts(harness) == ["go"]


async def test_a_closed_session_takes_no_message(opened: OpenSession) -> None:
    async with opened() as session:
        pass
    with pytest.raises(SessionClosed):
        await session.send("left")


async def test_a_message_whose_turn_cannot_be_started_says_so(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        await session.start("go")
        message = await session.send("left")
        harness.refuses_prompts = True
        await harness.newest.emit(moved(steer_id(message), SteerProgress.CANCELLED), closed())
        with pytest.raises(CallRefused):
            await message.settled()
