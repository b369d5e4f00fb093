"""What a person does is told once, in the moment it is asked for, and before the harness hears of it."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from checkrein.adapters.acts import Act, ActKind
from checkrein.adapters.approvals import Approval, ResolvedBy
from checkrein.adapters.errors import ApprovalStale, NoActiveTurn, SteerRejected, TurnActive
from checkrein.adapters.native import Asked
from checkrein.adapters.turn import Turn
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import EchoHarness, closed, question

pytestmark = pytest.mark.anyio

HEARD = ("open", "start_turn", "steer", "withdraw", "interrupt", "answer")


@pytest.fixture
def log(harness: EchoHarness) -> list[str]:
    """What was done, and what the harness heard, in their order."""
    said: list[str] = []

    def hears(method: str) -> Callable[[], None]:
        return lambda: said.append(f"the harness hears: {method}")

    harness.before = {method: hears(method) for method in HEARD}
    return said


def kept_in(log: list[str]) -> Callable[[Act], None]:
    def keep(act: Act) -> None:
        log.append(", ".join(filter(None, (act.kind.value, act.about, act.text))))

    return keep


async def next_approval(turn: Turn) -> Approval:
    async for approval in turn.approvals():
        if approval.resolved_by is None:
            return approval
    raise AssertionError("the turn ended without an approval")


async def test_prompt_steer_withdrawal_interrupt_and_close_are_told_before_the_harness_hears_of_them(
    opened: OpenSession, harness: EchoHarness, log: list[str]
) -> None:
    async with opened(acts=kept_in(log)) as session:
        turn = await session.start("go")
        steer = await session.steer("left")
        await steer.withdraw()
        await turn.interrupt()
    assert log == [
        "open, policy ask",
        "the harness hears: open",
        "start, go",
        "the harness hears: start_turn",
        "steer, left",
        "the harness hears: steer",
        "withdraw, left",
        "the harness hears: withdraw",
        "interrupt",
        "the harness hears: interrupt",
        "close",
    ]


async def test_each_decision_is_told_with_the_call_as_it_was_shown(
    opened: OpenSession, harness: EchoHarness, log: list[str]
) -> None:
    async with opened(acts=kept_in(log)) as session:
        turn = await session.start("go")
        del log[:]
        await harness.newest.emit(Asked(question=question("ls", "q-1")))
        await (await next_approval(turn)).allow()
        await harness.newest.emit(Asked(question=question("rm x", "q-2")))
        await (await next_approval(turn)).deny("not on main")
        await harness.newest.emit(Asked(question=question("make", "q-3")))
        await (await next_approval(turn)).allow_always()
        assert log == [
            "allow, ls",
            "the harness hears: answer",
            "deny, rm x, not on main",
            "the harness hears: answer",
            "allow_always, make",
            "the harness hears: answer",
        ]
        await harness.newest.emit(closed())
        await turn.outcome()


async def test_what_nobody_decides_is_nobody_s_act(
    opened: OpenSession, harness: EchoHarness, log: list[str]
) -> None:
    async with opened(acts=kept_in(log), approval_seconds=0.01) as session:
        turn = await session.start("go")
        del log[:]
        await harness.newest.emit(Asked(question=question("ls", "q-1")))
        await harness.newest.answered.wait()
        assert turn.asked[0].resolved_by is ResolvedBy.TIMEOUT
        await harness.newest.emit(closed())
        await turn.outcome()
    async with opened(acts=kept_in(log), policy="auto") as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("ls", "q-2")))
        await harness.newest.answered.wait()
        assert turn.asked[0].resolved_by is ResolvedBy.POLICY
        await harness.newest.emit(closed())
        await turn.outcome()
    assert [line for line in log if not line.startswith("the harness")] == [
        "close",
        "open, policy auto",
        "start, go",
        "close",
    ]


async def test_a_message_is_told_as_one_whatever_it_becomes(
    opened: OpenSession, harness: EchoHarness, log: list[str]
) -> None:
    async with opened(acts=kept_in(log)) as session:
        del log[:]
        await session.send("go")
        await session.send("left")
        assert log == [
            "send, go",
            "the harness hears: start_turn",
            "send, left",
            "the harness hears: steer",
        ]
        assert session.turn is not None
        await session.turn.interrupt()


async def test_what_an_interrupt_carries_on_with_is_told_with_it_and_not_as_a_prompt(
    opened: OpenSession, harness: EchoHarness, log: list[str]
) -> None:
    async with opened(acts=kept_in(log)) as session:
        await session.start("go")
        del log[:]
        await session.interrupt("go back")
        assert log == [
            "interrupt, go back",
            "the harness hears: interrupt",
            "the harness hears: start_turn",
        ]


async def test_what_is_refused_was_asked_for_all_the_same(
    opened: OpenSession, harness: EchoHarness, log: list[str]
) -> None:
    async with opened(acts=kept_in(log)) as session:
        del log[:]
        with pytest.raises(SteerRejected):
            await session.steer("left")
        with pytest.raises(NoActiveTurn):
            await session.interrupt()
        assert log == ["steer, left", "interrupt"]
        turn = await session.start("go")
        del log[:]
        with pytest.raises(TurnActive):
            await session.start("and this")
        await harness.newest.emit(Asked(question=question("ls")))
        approval = await next_approval(turn)
        await approval.allow()
        with pytest.raises(ApprovalStale):
            await approval.deny()
        assert log == ["start, and this", "allow, ls", "the harness hears: answer", "deny, ls"]
        await harness.newest.emit(closed())
        await turn.outcome()


async def test_to_leave_a_running_turn_is_to_close_and_no_interrupt_of_the_person(
    opened: OpenSession, harness: EchoHarness, log: list[str]
) -> None:
    async with opened(acts=kept_in(log)) as session:
        await session.start("go")
        del log[:]
        await session.close()
    assert log == ["close", "the harness hears: interrupt"]


async def test_a_start_that_its_caller_gives_up_is_no_interrupt_of_the_person(
    opened: OpenSession, harness: EchoHarness, log: list[str]
) -> None:
    held = harness.hold("start_turn")
    async with opened(acts=kept_in(log)) as session:
        del log[:]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start, "go")
            await held.reached.wait()
            tasks.cancel_scope.cancel()
        assert ActKind.INTERRUPT.value not in log
        assert log[:2] == ["start, go", "the harness hears: start_turn"]
