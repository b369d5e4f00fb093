"""Stop means stop: interrupted, 130, and nothing left, on whichever rung."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from checkrein.adapters.errors import NoActiveTurn
from checkrein.adapters.interrupting import LadderTimes
from checkrein.adapters.native import TurnStatus
from checkrein.adapters.outcome import OutcomeStatus, StoppedBy
from checkrein.adapters.transport import HarnessProcess, LadderResult, processes_of
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import FROZEN, EchoHarness, closed

pytestmark = pytest.mark.anyio

#: Its second line makes it start a process in a session of its own, alive before the line is echoed.
STARTS_A_STRAY = (
    "import subprocess, sys\n"
    "lines = 0\n"
    "for line in iter(sys.stdin.buffer.readline, b''):\n"
    "    lines += 1\n"
    "    if lines == 2:\n"
    "        stray = [sys.executable, '-S', '-c', 'import signal; print(flush=True); signal.pause()']\n"
    "        child = subprocess.Popen(stray, start_new_session=True, stdout=subprocess.PIPE)\n"
    "        child.stdout.readline()\n"
    "    sys.stdout.buffer.write(line); sys.stdout.buffer.flush()\n"
)


async def test_an_interrupted_turn_gives_130_and_is_settled(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        outcome = await turn.interrupt()
        assert (outcome.status, outcome.exit_status) == (OutcomeStatus.INTERRUPTED, 130)
        assert outcome.stopped_by is StoppedBy.HARNESS
        assert harness.newest.sent[1:] == [("interrupt",), ("settle",)]


async def test_a_second_interrupt_has_the_same_outcome_and_sends_nothing(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        first = await turn.interrupt()
        assert await turn.interrupt() is first
        assert harness.newest.sent.count(("interrupt",)) == 1


async def test_without_an_active_turn_an_interrupt_is_refused(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        with pytest.raises(NoActiveTurn):
            await session.interrupt()
        turn = await session.start("go")
        await harness.newest.emit(closed())
        await turn.outcome()
        with pytest.raises(NoActiveTurn):
            await turn.interrupt()
        assert ("interrupt",) not in harness.newest.sent


async def test_a_turn_that_ended_before_the_interrupt_took_effect_is_completed(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.obeys_interrupts = False
    async with opened() as session:
        turn = await session.start("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.interrupt)
            await harness.newest.interrupted.wait()
            await harness.newest.emit(closed(TurnStatus.COMPLETED))
        assert (await turn.outcome()).status is OutcomeStatus.COMPLETED


async def test_with_a_message_the_conversation_carries_on(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened() as session:
        turn = await session.start("go")
        outcome = await turn.interrupt("write the failing test first")
        assert outcome.status is OutcomeStatus.INTERRUPTED
        assert turn.continued_by is session.turn
        assert harness.newest.sent[-1] == ("start", "write the failing test first")


@pytest.mark.parametrize(
    ("program", "rung"),
    [(EchoHarness().program, StoppedBy.STDIN), (FROZEN, StoppedBy.KILL)],
    ids=["stdin", "kill"],
)
async def test_a_harness_that_does_not_answer_is_ended_and_the_next_turn_has_a_new_process(
    opened: OpenSession, harness: EchoHarness, program: str, rung: StoppedBy
) -> None:
    harness.program = program
    harness.obeys_interrupts = False
    async with opened(ladder=LadderTimes(harness=0.2, settle=0.2, tools=0.2)) as session:
        turn = await session.start("go")
        outcome = await turn.interrupt()
        assert (outcome.status, outcome.exit_status, outcome.stopped_by) == (
            OutcomeStatus.INTERRUPTED,
            130,
            rung,
        )
        assert harness.newest.process.exit_status is not None
        assert await harness.newest.process.children() == []
        harness.program = EchoHarness().program
        again = await session.start("again")
        assert len(harness.connections) == 2
        await harness.newest.emit(closed())
        assert (await again.outcome()).status is OutcomeStatus.COMPLETED


async def test_an_interrupt_that_gets_no_answer_ends_with_its_turn(
    opened: OpenSession, harness: EchoHarness
) -> None:
    answer = harness.hold("interrupt")
    async with opened(ladder=LadderTimes(harness=600.0, answer=0.05)) as session:
        turn = await session.start("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.interrupt)
            await answer.reached.wait()
            await harness.newest.emit(closed(TurnStatus.INTERRUPTED))
        outcome = await turn.outcome()
        assert (outcome.status, outcome.stopped_by) == (OutcomeStatus.INTERRUPTED, StoppedBy.HARNESS)
        assert harness.newest.sent[1:] == [("interrupt",), ("settle",)]


async def test_the_grace_of_each_rung_is_among_the_times_of_the_ladder(
    opened: OpenSession, harness: EchoHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.obeys_interrupts = False
    graces: dict[str, float] = {}
    ladder = HarnessProcess.kill_ladder

    async def noted(self: HarnessProcess, reason: str, **given: float) -> LadderResult:
        graces.update(given)
        return await ladder(self, reason, **given)

    times = LadderTimes(harness=0.1, settle=0.1, tools=0.1, stdin=0.5, term=0.25)
    async with opened(ladder=times) as session:
        turn = await session.start("go")
        with monkeypatch.context() as patch:
            patch.setattr(HarnessProcess, "kill_ladder", noted)
            await turn.interrupt()
    assert graces == {"stdin_grace_seconds": 0.5, "term_grace_seconds": 0.25}


async def test_leaving_the_block_while_a_turn_runs_interrupts_it(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
    assert (await turn.outcome()).status is OutcomeStatus.INTERRUPTED
    assert ("interrupt",) in harness.newest.sent


async def test_a_cancelled_driver_still_interrupts_by_the_harness_own_means(
    opened: OpenSession, harness: EchoHarness
) -> None:
    started = anyio.Event()

    async def drive() -> None:
        async with opened() as session:
            await session.start("go")
            started.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(drive)
        await started.wait()
        tasks.cancel_scope.cancel()
    assert harness.newest.sent[1:3] == [("interrupt",), ("settle",)]
    assert processes_of(harness.newest.process.marker) == []


async def test_a_stray_of_the_turn_in_a_session_of_its_own_is_ended(
    opened: OpenSession, harness: EchoHarness, tmp_path: Path
) -> None:
    harness.program = STARTS_A_STRAY
    async with opened(ladder=LadderTimes(harness=5.0, settle=1.0, tools=0.2)) as session:
        turn = await session.start("go")
        process = harness.newest.process
        await process.send(b"0")  # the event number 0 again: harmless; it makes the program start its stray
        async for _ in turn.events():
            if len(await process.children()) == 1:
                break
        stray = (await process.children())[0]
        assert stray.session_id == stray.pid
        outcome = await turn.interrupt()
        assert outcome.survivors == ()
        assert await process.children() == []
