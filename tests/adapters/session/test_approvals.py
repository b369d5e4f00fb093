"""The person decides, once; `always` means this turn."""

from __future__ import annotations

import anyio
import pytest

from checkrein.adapters.approvals import (
    APPROVAL_SECONDS_VARIABLE,
    Approval,
    ResolvedBy,
    approval_seconds_from_environment,
)
from checkrein.adapters.errors import ApprovalStale, BadRequest
from checkrein.adapters.native import Asked, QuestionVoided
from checkrein.adapters.turn import Turn
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import EchoHarness, closed, question

pytestmark = pytest.mark.anyio


async def first_approval(turn: Turn) -> Approval:
    async for approval in turn.approvals():
        return approval
    raise AssertionError("the turn ended without an approval")


async def test_allow_and_deny_reach_the_harness_with_the_message(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(
            Asked(question=question("ls", "q-1")), Asked(question=question("rm x", "q-2"))
        )
        async for approval in turn.approvals():
            if approval.id == "q-1":
                await approval.allow()
            else:
                await approval.deny("not on main")
                break
        assert harness.newest.sent[1:] == [
            ("answer", "q-1", "allow", ""),
            ("answer", "q-2", "deny", "not on main"),
        ]
        assert [approval.resolved_by for approval in turn.asked] == [ResolvedBy.PERSON, ResolvedBy.PERSON]


async def test_a_second_answer_is_stale_and_not_sent(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("ls")))
        approval = await first_approval(turn)
        await approval.allow()
        with pytest.raises(ApprovalStale) as stale:
            await approval.deny()
        assert stale.value.resolved_by == "person"
        assert [sent for sent in harness.newest.sent if sent[0] == "answer"] == [
            ("answer", "q-1", "allow", "")
        ]


async def test_what_is_open_when_the_turn_ends_is_denied_and_a_later_answer_is_stale(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("ls")))
        approval = await first_approval(turn)
        await harness.newest.emit(closed())
        await turn.outcome()
        await harness.newest.answered.wait()
        with pytest.raises(ApprovalStale) as stale:
            await approval.allow()
        assert stale.value.resolved_by == "harness"
        assert [sent for sent in harness.newest.sent if sent[0] == "answer"] == [
            ("answer", "q-1", "deny", "")
        ]


@pytest.mark.parametrize("ending", ["interrupt", "voided", "death"])
async def test_an_answer_after_the_question_is_gone_is_stale(
    opened: OpenSession, harness: EchoHarness, ending: str
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("ls")))
        approval = await first_approval(turn)
        match ending:
            case "interrupt":
                await turn.interrupt()
            case "voided":
                await harness.newest.emit(QuestionVoided(question_id="q-1"))
                await approval.resolved.wait()
            case _:
                await harness.newest.process.signal(9)
                await turn.outcome()
        with pytest.raises(ApprovalStale):
            await approval.allow()
        assert not [sent for sent in harness.newest.sent if sent[0] == "answer"]


async def test_always_answers_the_same_call_again_but_no_other(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("make", "q-1")))
        await (await first_approval(turn)).allow_always()
        await harness.newest.emit(
            Asked(question=question("make", "q-2")), Asked(question=question("make all", "q-3"))
        )
        other = await first_approval(turn)
        assert other.id == "q-3"
        await turn.asked[1].resolved.wait()
        assert turn.asked[1].resolved_by is ResolvedBy.POLICY


async def test_always_is_forgotten_with_the_turn_and_the_process_that_holds_it_is_renewed(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened() as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("make")))
        await (await first_approval(turn)).allow_always()
        harness.newest.grants = True
        await harness.newest.emit(closed())
        await turn.outcome()
        again = await session.start("again")
        assert len(harness.connections) == 2
        assert harness.newest.spec.origin.value == "resume"
        await harness.newest.emit(Asked(question=question("make")))
        assert (await first_approval(again)).resolved_by is None


async def test_under_auto_the_policy_allows(opened: OpenSession, harness: EchoHarness) -> None:
    async with opened(policy="auto") as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("ls")))
        async for _ in turn.events():
            if turn.asked and turn.asked[0].resolved_by is not None:
                break
        assert turn.asked[0].resolved_by is ResolvedBy.POLICY


async def test_an_unanswered_approval_is_denied_at_its_deadline(
    opened: OpenSession, harness: EchoHarness
) -> None:
    async with opened(approval_seconds=0.05) as session:
        turn = await session.start("go")
        await harness.newest.emit(Asked(question=question("ls")))
        approval = await first_approval(turn)
        with anyio.fail_after(5):
            await approval.resolved.wait()
        assert approval.resolved_by is ResolvedBy.TIMEOUT


def test_an_approval_waits_as_long_as_the_variable_says_and_ten_minutes_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(APPROVAL_SECONDS_VARIABLE, raising=False)
    assert approval_seconds_from_environment() == 600.0
    monkeypatch.setenv(APPROVAL_SECONDS_VARIABLE, "2.5")
    assert approval_seconds_from_environment() == 2.5


@pytest.mark.parametrize("text", ["soon", "0", "-3", "nan"])
def test_a_bad_timeout_variable_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(APPROVAL_SECONDS_VARIABLE, text)
    with pytest.raises(BadRequest) as error:
        approval_seconds_from_environment()
    assert error.value.where == APPROVAL_SECONDS_VARIABLE
