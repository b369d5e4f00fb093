"""Answers that nobody waits for, callers who stop waiting, and questions that no turn asked."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from checkrein.adapters.approvals import Approval, ResolvedBy
from checkrein.adapters.errors import ApprovalStale, BadRequest, CallExpired
from checkrein.adapters.native import Asked
from checkrein.adapters.outcome import OutcomeStatus
from checkrein.adapters.turn import Turn
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import EchoHarness, closed, question

pytestmark = pytest.mark.anyio


async def first_approval(turn: Turn) -> Approval:
    async for approval in turn.approvals():
        return approval
    raise AssertionError("the turn ended without an approval")


def answers(harness: EchoHarness) -> list[tuple[str, ...]]:
    return [sent for sent in harness.newest.sent if sent[0] == "answer"]


async def test_an_answer_reaches_the_harness_although_the_caller_stopped_waiting(
    opened: OpenSession, harness: EchoHarness
) -> None:
    held = harness.hold("answer")
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("ls")))
        approval = await first_approval(turn)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(approval.allow)
            await held.reached.wait()
            tasks.cancel_scope.cancel()
        held.released.set()
        await harness.newest.emit(closed())
        await turn.outcome()
        assert answers(harness) == [("answer", "q-1", "allow", "")]


@pytest.mark.parametrize("fault", [CallExpired("not read"), KeyError("mine")], ids=["expired", "adapter"])
async def test_a_turn_whose_policy_cannot_answer_fails_instead_of_waiting(
    opened: OpenSession, harness: EchoHarness, fault: Exception
) -> None:
    harness.faults["answer"] = fault
    async with opened(policy="auto") as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("ls")))
        with anyio.fail_after(10):
            outcome = await turn.outcome()
        assert outcome.status is OutcomeStatus.FAILED
        assert str(fault) in outcome.reason
        harness.faults.clear()
        again = await session.start("again")
        assert len(harness.connections) == 2
        await harness.newest.emit(closed())
        assert (await again.outcome()).status is OutcomeStatus.COMPLETED


async def test_a_fault_while_a_person_answers_is_told_to_the_person_and_fails_the_turn(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["answer"] = CallExpired("not read")
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("ls")))
        approval = await first_approval(turn)
        with pytest.raises(CallExpired):
            await approval.allow()
        assert (await turn.outcome()).status is OutcomeStatus.FAILED


async def test_a_message_that_is_no_text_is_refused_and_the_approval_stays_open(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("ls")))
        approval = await first_approval(turn)
        with pytest.raises(BadRequest):
            await approval.deny("no \udc80")
        await approval.deny("no")
        assert answers(harness) == [("answer", "q-1", "deny", "no")]


async def test_always_is_not_remembered_when_the_answer_came_too_late(
    opened: OpenSession, harness: EchoHarness
) -> None:
    harness.faults["answer"] = ApprovalStale("withdrawn", resolved_by="harness")
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("make", "q-1")))
        with pytest.raises(ApprovalStale):
            await (await first_approval(turn)).allow_always()
        harness.faults.clear()
        await harness.newest.emit(Asked(question=question("make", "q-2")))
        again = await first_approval(turn)
        assert (again.id, again.resolved_by) == ("q-2", None)


async def test_always_does_not_cover_the_same_call_when_it_leads_elsewhere(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("make", "q-1")))
        await (await first_approval(turn)).allow_always()
        elsewhere = replace(question("make", "q-2"), real_paths=("/etc/passwd",))
        await harness.newest.emit(Asked(question=elsewhere))
        other = await first_approval(turn)
        assert (other.id, other.resolved_by) == ("q-2", None)


async def test_a_question_that_comes_when_no_turn_runs_is_denied(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(closed(), Asked(question=question("ls")))
        await turn.outcome()
        await harness.newest.answered.wait()
        assert answers(harness) == [("answer", "q-1", "deny", "")]
        assert turn.asked == ()


async def test_an_answer_after_the_deadline_is_stale(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened(approval_seconds=0.05) as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("ls")))
        approval = await first_approval(turn)
        await approval.resolved.wait()
        with pytest.raises(ApprovalStale) as stale:
            await approval.allow()
        assert stale.value.resolved_by == ResolvedBy.TIMEOUT.value
