"""A harness that says nothing any more: the turn fails for that reason, unless there is something to wait for."""

from __future__ import annotations

import anyio
import pytest

from checkrein.adapters.native import Asked, TextDelta, ToolFinished, ToolStarted, ToolStatus
from checkrein.adapters.outcome import OutcomeStatus
from checkrein.adapters.silence import fell_silent
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import EchoHarness, closed, command, question

pytestmark = pytest.mark.anyio

#: How long the harness may say nothing in these tests, in seconds.
SOON = 0.3


async def test_a_turn_whose_harness_says_nothing_is_stopped_and_has_failed(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened(stall_seconds=SOON) as session:
        turn = await session.start("go")
        await harness.newest.emit(TextDelta(text="half"))
        outcome = await turn.outcome()
        assert (outcome.status, outcome.exit_status) == (OutcomeStatus.FAILED, 1)
        assert "said nothing for 0.3 s" in outcome.reason
        assert ("interrupt",) in harness.newest.sent
        again = await session.start("again")
        await harness.newest.emit(closed())
        assert (await again.outcome()).status is OutcomeStatus.COMPLETED


async def test_a_harness_that_does_not_answer_either_is_ended(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["interrupt"] = KeyError("mine")
    async with opened(stall_seconds=SOON) as session:
        turn = await session.start("go")
        outcome = await turn.outcome()
        assert outcome.status is OutcomeStatus.FAILED
        assert session.link is not None
        assert session.link.lost is not None


async def test_an_interrupt_of_a_turn_that_is_being_stopped_has_its_outcome(
    opened: OpenSession, harness: EchoHarness
) -> None:
    held = harness.hold("interrupt")
    async with opened(stall_seconds=SOON) as session:
        turn = await session.start("go")
        await held.reached.wait()
        held.released.set()
        assert await turn.interrupt() is await turn.outcome()
        assert (await turn.outcome()).status is OutcomeStatus.FAILED


@pytest.mark.parametrize("waits_for", ["a tool", "an answer"])
async def test_a_harness_that_waits_may_be_silent(
    opened: OpenSession, harness: EchoHarness, waits_for: str
) -> None:
    async with opened(stall_seconds=SOON) as session:
        turn = await session.start("go")
        call = command("make")
        tool = waits_for == "a tool"
        await harness.newest.emit(ToolStarted(call=call) if tool else Asked(question=question("make")))
        with anyio.move_on_after(3 * SOON):
            await turn.outcome()
        assert turn.ended is None
        if tool:
            await harness.newest.emit(ToolFinished(call_id=call.call_id, status=ToolStatus.OK))
        else:
            await turn.asked[0].allow()
        assert (await turn.outcome()).status is OutcomeStatus.FAILED


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_is_over_is_not_silent() -> None:
    over = anyio.Event()
    over.set()
    assert not await fell_silent(heard_at=lambda: 0.0, busy=lambda: True, over=over, seconds=60.0)
