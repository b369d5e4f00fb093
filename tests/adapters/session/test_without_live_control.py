"""Harnesses whose running turn takes no commands: one process is one turn."""

from __future__ import annotations

import signal

import anyio
import pytest

from checkrein.adapters.errors import SteerReason, SteerRejected, Unsupported
from checkrein.adapters.interrupting import LadderTimes
from checkrein.adapters.manifest import Capability
from checkrein.adapters.native import ConversationNamed, TextDone, TurnStatus
from checkrein.adapters.outcome import OutcomeStatus, StoppedBy
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import ECHO, EchoHarness, closed

pytestmark = pytest.mark.anyio

#: With these a test that waits for the harness's own interrupt, or for the end of its input, does not end in time.
ENDLESS = LadderTimes(harness=600.0, stdin=600.0, term=10.0)

#: The echo, but it lives on when its input has ended.
DEAF = f"{ECHO}import signal\nsignal.pause()\n"


async def test_the_end_of_the_process_is_the_end_of_the_turn(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.at_end = [TextDone(text="the answer"), closed()]
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.process.signal(signal.SIGKILL)
        outcome = await turn.outcome()
        assert (outcome.status, outcome.text) == (OutcomeStatus.COMPLETED, "the answer")


async def test_the_next_turn_runs_on_a_new_process_of_the_same_conversation(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.at_end = [closed()]
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(ConversationNamed(session_id="named-later"))
        await harness.newest.process.close_stdin()
        await turn.outcome()
        assert session.id == "named-later"
        await session.start("go on")
        assert [connection.spec.session_id for connection in harness.connections][1:] == ["named-later"]


async def test_an_adapter_that_fails_to_tell_the_end_fails_the_turn(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["ended"] = RuntimeError("of an outside package")
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.process.signal(signal.SIGKILL)
        outcome = await turn.outcome()
        assert outcome.status is OutcomeStatus.FAILED
        assert "of an outside package" in outcome.reason


async def test_an_interrupt_that_the_harness_cannot_be_asked_for_ends_its_process_at_once(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["interrupt"] = Unsupported("it takes no commands")
    harness.program = DEAF
    harness.at_end = [closed()]
    async with opened(ladder=ENDLESS) as session:
        turn = await session.start("go")
        await harness.newest.process.close_stdin()
        outcome = await turn.interrupt()
        assert (outcome.status, outcome.exit_status) == (OutcomeStatus.INTERRUPTED, 130)
        assert outcome.stopped_by is StoppedBy.TERM
        assert "did not answer" not in outcome.reason


async def test_a_turn_that_ended_by_itself_before_the_interrupt_keeps_its_outcome(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["interrupt"] = Unsupported("it takes no commands")
    harness.at_end = [closed(TurnStatus.FAILED, "the model refused")]
    held = harness.hold("interrupt")
    harness.faults.clear()
    async with opened(ladder=ENDLESS) as session, anyio.create_task_group() as tasks:
        turn = await session.start("go")
        tasks.start_soon(turn.interrupt)
        await held.reached.wait()
        await harness.newest.process.signal(signal.SIGKILL)
        held.released.set()
        outcome = await turn.outcome()
        assert outcome.status is OutcomeStatus.FAILED
        assert "the model refused" in outcome.reason


async def test_a_steer_is_unsupported_at_once_with_and_without_a_turn(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.lacks = frozenset({Capability.STEER})
    async with opened() as session:
        with pytest.raises(SteerRejected) as idle:
            await session.steer("more")
        turn = await session.start("go")
        with pytest.raises(SteerRejected) as running:
            await turn.steer("more")
        assert idle.value.reason is running.value.reason is SteerReason.UNSUPPORTED
        assert harness.newest.sent == [("start", "go")]


async def test_a_message_waits_for_the_end_of_a_turn_that_cannot_be_steered_and_starts_the_next(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.lacks = frozenset({Capability.STEER})
    async with opened() as session, anyio.create_task_group() as tasks:
        await session.start("go")
        tasks.start_soon(session.send, "more")
        await anyio.wait_all_tasks_blocked()
        assert len(session.turns) == 1
        await harness.newest.emit(closed())
        with anyio.fail_after(10):
            await session.turns[0].outcome()
            while len(session.turns) < 2:
                await anyio.wait_all_tasks_blocked()
        assert session.turns[1].prompt == "more"
