"""Faults of the process, of an adapter and of the caller, at every await: the turn ends, the session closes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from checkrein.adapters.errors import BadRequest, CallExpired, CheckreinError, HarnessDied, SessionClosed
from checkrein.adapters.interrupting import LadderTimes
from checkrein.adapters.native import TextDelta, TurnOpened
from checkrein.adapters.outcome import OutcomeStatus, StoppedBy
from checkrein.adapters.stream import BUFFERED_EVENTS
from checkrein.adapters.transport import (
    HarnessProcess,
    LadderResult,
    ProcessInfo,
    ProcessSurvived,
    processes_of,
)
from checkrein.adapters.turn import Turn
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import EchoHarness, closed

pytestmark = pytest.mark.anyio


async def test_closing_while_a_turn_is_being_started_ends_the_start(
    opened: OpenSession, harness: EchoHarness
) -> None:
    errors: list[Exception] = []

    async def start(session_start: Callable[[str], Awaitable[object]]) -> None:
        try:
            await session_start("again")
        except Exception as error:
            errors.append(error)

    async with anyio.create_task_group() as tasks, opened() as session:
        turn = await session.start("go")
        await harness.newest.process.signal(9)
        await turn.outcome()
        held = harness.hold("open")
        tasks.start_soon(start, session.start)
        await held.reached.wait()
    assert [type(error) for error in errors] == [SessionClosed]
    for connection in harness.connections:
        assert processes_of(connection.process.marker) == []


async def test_closing_while_the_prompt_is_on_its_way_ends_the_start_and_the_turn(
    opened: OpenSession, harness: EchoHarness
) -> None:
    errors: list[Exception] = []

    async def start(session_start: Callable[[str], Awaitable[object]]) -> None:
        try:
            await session_start("go")
        except Exception as error:
            errors.append(error)

    held = harness.hold("start_turn")
    turns: list[Turn] = []
    quick = LadderTimes(harness=0.2, settle=0.2, tools=0.2)
    async with anyio.create_task_group() as tasks, opened(ladder=quick) as session:
        tasks.start_soon(start, session.start)
        await held.reached.wait()
        turns.extend(session.turns)
    assert [type(error) for error in errors] == [SessionClosed]
    assert (await turns[0].outcome()).status is OutcomeStatus.INTERRUPTED


async def test_a_session_is_closed_twice_at_once(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened() as session:
        turn = await session.start("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.close)
            tasks.start_soon(session.close)
        assert (await turn.outcome()).status is OutcomeStatus.INTERRUPTED
        assert harness.newest.sent.count(("interrupt",)) == 1


async def test_a_session_is_closed_while_a_foreign_turn_runs(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.obeys_interrupts = False
    with anyio.fail_after(10):
        async with opened() as session:
            await harness.newest.emit(TurnOpened(native_id="n", prompt_id=None))
            await harness.newest.interrupted.wait()
            assert len(session.foreign_turns) == 1


async def test_an_adapter_that_cannot_stop_a_foreign_turn_does_not_end_the_session(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["interrupt"] = KeyError("mine")
    async with opened() as session:
        await harness.newest.emit(TurnOpened(native_id="n", prompt_id=None))
        await harness.newest.interrupted.wait()
        await harness.newest.emit(closed())
        turn = await session.start("go")
        await harness.newest.emit(closed())
        assert (await turn.outcome()).status is OutcomeStatus.COMPLETED


async def test_nothing_is_left_of_a_process_that_the_adapter_cannot_connect_to(
    opened: OpenSession, harness: EchoHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[HarnessProcess] = []
    start = HarnessProcess.start

    async def noted(*args: object, **named: object) -> HarnessProcess:
        started.append(await start(*args, **named))  # pyright: ignore[reportArgumentType]: passed through
        return started[-1]

    monkeypatch.setattr(HarnessProcess, "start", noted)
    harness.faults["connect"] = KeyError("mine")
    with pytest.raises(KeyError):
        async with opened():
            pytest.fail("the session must not open")
    assert processes_of(started[0].marker) == []


async def test_an_adapter_that_cannot_read_the_output_fails_the_turn_and_not_the_session(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        harness.faults["decode"] = KeyError("mine")
        await harness.newest.emit(TextDelta(text="a"))
        outcome = await turn.outcome()
        assert outcome.status is OutcomeStatus.FAILED
        assert "KeyError('mine')" in outcome.reason
        del harness.faults["decode"]
        again = await session.start("again")
        await harness.newest.emit(closed())
        assert (await again.outcome()).status is OutcomeStatus.COMPLETED
        assert len(harness.connections) == 2


async def test_an_interrupt_ends_although_a_process_cannot_be_killed(
    opened: OpenSession, harness: EchoHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = ProcessSurvived("a process is alive after SIGKILL", where="7 (stray)")
    harness.obeys_interrupts = False
    async with opened(ladder=LadderTimes(harness=0.1, settle=0.1, tools=0.1)) as session:
        turn = await session.start("go")
        ladder = HarnessProcess.kill_ladder

        async def fails(self: HarnessProcess, reason: str, **graces: float) -> LadderResult:
            await ladder(self, reason, **graces)
            raise stray

        with monkeypatch.context() as patch:
            patch.setattr(HarnessProcess, "kill_ladder", fails)
            with anyio.fail_after(5):
                outcome = await turn.interrupt()
        assert (outcome.status, outcome.exit_status) == (OutcomeStatus.INTERRUPTED, 130)
        assert "7 (stray)" in outcome.reason


async def test_an_interrupt_ends_although_what_is_left_cannot_be_listed(
    opened: OpenSession, harness: EchoHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened() as session:
        turn = await session.start("go")

        async def fails(_: HarnessProcess) -> list[ProcessInfo]:
            raise OSError("too many open files")

        with monkeypatch.context() as patch:
            patch.setattr(HarnessProcess, "children", fails)
            with anyio.fail_after(5):
                outcome = await turn.interrupt()
        assert (outcome.status, outcome.exit_status) == (OutcomeStatus.INTERRUPTED, 130)


async def test_a_harness_that_took_no_interrupt_and_lives_on_is_ended(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["interrupt"] = HarnessDied("it takes no more input", status="still running", stderr="")
    async with opened(ladder=LadderTimes(harness=0.2, settle=0.2, tools=0.2)) as session:
        turn = await session.start("go")
        outcome = await turn.interrupt()
        assert outcome.stopped_by is StoppedBy.STDIN
        assert harness.newest.process.exit_status is not None


async def test_a_foreign_turn_that_does_not_end_is_ended_with_its_process(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.obeys_interrupts = False
    async with opened(ladder=LadderTimes(harness=0.2, settle=0.2, tools=0.2)) as session:
        await harness.newest.emit(TurnOpened(native_id="n", prompt_id=None))
        await harness.newest.process.wait_exit(5)
        turn = await session.start("go")
        assert len(harness.connections) == 2
        await harness.newest.emit(closed())
        assert (await turn.outcome()).status is OutcomeStatus.COMPLETED


async def test_a_foreign_turn_that_ends_without_an_answer_to_its_interrupt_leaves_its_process_alive(
    opened: OpenSession, harness: EchoHarness
) -> None:
    answer = harness.hold("interrupt")
    async with opened(ladder=LadderTimes(harness=0.2)) as session:
        await harness.newest.emit(TurnOpened(native_id="n", prompt_id=None))
        await answer.reached.wait()
        await harness.newest.emit(closed())
        with pytest.raises(TimeoutError):
            await harness.newest.process.wait_exit(1.0)
        turn = await session.start("go")
        await harness.newest.emit(closed())
        assert (await turn.outcome()).status is OutcomeStatus.COMPLETED


async def test_a_prompt_that_was_not_acknowledged_never_runs_unseen(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["start_turn"] = CallExpired("no answer")
    async with opened() as session:
        with pytest.raises(CallExpired):
            await session.start("go")
        assert (await session.turns[0].outcome()).status is OutcomeStatus.FAILED
        assert harness.newest.process.exit_status is not None
        harness.faults.clear()
        again = await session.start("again")
        await harness.newest.emit(closed())
        assert (await again.outcome()).status is OutcomeStatus.COMPLETED


async def test_the_outcome_comes_although_somebody_holds_the_events_and_reads_no_more(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        reader = turn.events()
        await anext(reader)
        many = [TextDelta(text="a")] * (4 * BUFFERED_EVENTS)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: harness.newest.emit(*many, closed()))
            with anyio.fail_after(20):
                assert (await turn.outcome()).status is OutcomeStatus.COMPLETED
        assert len([event async for event in reader]) == len(many) + 1


async def test_a_failure_to_close_is_told_as_it_is(
    opened: OpenSession, harness: EchoHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = ProcessSurvived("a process is alive after SIGKILL", where="7 (stray)")
    close = HarnessProcess.aclose

    async def fails(self: HarnessProcess) -> None:
        await close(self)
        raise stray

    monkeypatch.setattr(HarnessProcess, "aclose", fails)
    with pytest.raises(CheckreinError) as told:
        async with opened() as session:
            await session.start("go")
    assert told.value is stray


async def test_a_prompt_and_a_steer_that_are_no_text_are_refused_before_anything_is_sent(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        with pytest.raises(BadRequest):
            await session.start("go \ud83d")
        turn = await session.start("go")
        with pytest.raises(BadRequest):
            await turn.steer("left \ud83d")
        assert harness.newest.sent == [("start", "go")]
