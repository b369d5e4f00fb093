"""Answers to approvals: each hits its own call, the first one counts, and none in time is a deny."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

import anyio

from checkrein.adapters import Approval, Turn
from checkrein.adapters.approvals import APPROVAL_SECONDS_VARIABLE
from checkrein.adapters.errors import ApprovalStale
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import finish, next_approval, settle, times_anywhere
from checkrein.conformance.scenarios.wire_questions import question_about
from checkrein.scripted_models import read_file, say, shell

#: Calls that the model makes at once.
CALLS = tuple(f"call_{number}" for number in range(3))

#: How long the next question may take while others are open, in seconds, before the harness counts as one that asks
#: one after another; they came within 0.1 s of each other.
UNTIL_ASKED = 5.0

#: How long a question may wait in the scenario about the limit, in seconds, and how long its deny may take then.
LIMIT, UNTIL_DENIED = 1.0, 10.0


@scenario("approve.parallel.matched", "approve.twice.refused")
async def test_several_approvals_answered_in_another_order(arena: Arena) -> None:
    for number, call_id in enumerate(CALLS):
        (arena.outside / f"{call_id}.txt").write_text(f"the-content-{number}\n")
    arena.script.main([read_file(str(arena.outside / f"{call_id}.txt"), id=call_id) for call_id in CALLS])
    arena.script.main([say("Read what I may.")])
    refusals: list[str] = []
    late_lines, most_open, allowed = 0, 0, ""
    async with arena.session(policy="ask") as session:
        turn = await session.start("read all three")
        left = len(CALLS)
        while left:
            waiting = await _open_approvals(arena, turn, left)
            left -= len(waiting)
            most_open = max(most_open, len(waiting))
            # The first question is allowed, and answered last.
            allowed = allowed or waiting[0].call.call_id
            for approval in reversed(waiting):
                await _answer(approval, allow=approval.call.call_id == allowed)
                sent = len(arena.wire.sent())
                refusals.append(await _answer_again(approval, allow=approval.call.call_id != allowed))
                late_lines += len(arena.wire.sent()) - sent
        outcome = await finish(arena, turn)
        await settle(arena)
        read = [n for n in range(len(CALLS)) if times_anywhere(arena, f"the-content-{n}")]
        results = arena.model.main_requests[-1].view.results
        own = CALLS.index(allowed)
        arena.judge(
            "approve.parallel.matched",
            holds=read == [own]
            and f"the-content-{own}" in results[allowed].text
            and outcome.status.value == "completed",
            expected=f"{allowed} alone was allowed, and it alone has its result; the others have the result of a deny",
            observed=f"{most_open} open at once, answered in reverse order; read: {[CALLS[n] for n in read]}; "
            f"results of {sorted(results)}; {outcome.status.value}",
            enforced_by="adapter",
        )
        arena.judge(
            "approve.twice.refused",
            holds=refusals == ["refused as stale, resolved by person"] * len(CALLS)
            and late_lines == 0
            and read == [own],
            expected="each second answer, the opposite of the first, is refused as stale (resolved by person), nothing "
            "is sent, and the first one stands",
            observed=f"{refusals}; {late_lines} line(s) sent; read: {[CALLS[n] for n in read]}",
            enforced_by="adapter",
        )


async def _open_approvals(arena: Arena, turn: Turn, most: int) -> list[Approval]:
    """The approvals that are open together, up to `most`."""
    waiting = [await next_approval(arena, turn)]
    with anyio.move_on_after(UNTIL_ASKED):
        while len(waiting) < most:
            waiting.append(await next_approval(arena, turn))
    return waiting


async def _answer(approval: Approval, *, allow: bool) -> None:
    await (approval.allow() if allow else approval.deny())


async def _answer_again(approval: Approval, *, allow: bool) -> str:
    try:
        await _answer(approval, allow=allow)
    except ApprovalStale as stale:
        return f"refused as stale, resolved by {stale.resolved_by}"
    return "accepted"


@scenario("approve.timeout.denied")
async def test_an_approval_that_nobody_answers(arena: Arena) -> None:
    arena.script.main([shell("touch forbidden.txt", id="call_touch")])
    arena.script.main([say("Nobody was there.")])
    with _limit_in_environment(LIMIT):
        async with arena.session(policy="ask", approval_seconds=None) as session:
            turn = await session.start("touch it")
            approval = await next_approval(arena, turn)
            outcome = await finish(arena, turn)
            await settle(arena)
            waited = _waited(arena, approval.call.call_id)
            sent = len(arena.wire.sent())
            late = await _answer_again(approval, allow=True)
            late_lines = len(arena.wire.sent()) - sent
            record = (await turn.record()).approvals[0]
    ran = (arena.workspace / "forbidden.txt").exists()
    answered = "call_touch" in arena.model.main_requests[-1].view.results
    arena.judge(
        "approve.timeout.denied",
        holds=(record.decision, record.resolved_by) == ("deny", "timeout")
        and waited is not None
        and LIMIT <= waited < LIMIT + UNTIL_DENIED
        and not ran
        and (outcome.status.value, outcome.text) == ("completed", "Nobody was there.")
        and (late, late_lines) == ("refused as stale, resolved by timeout", 0),
        expected=f"denied on the wire once {LIMIT:g} s have passed ({APPROVAL_SECONDS_VARIABLE}), resolved by timeout; "
        "the call does not run, the turn goes on and completes; a late answer is stale and not sent",
        observed=f"{record.decision}, resolved by {record.resolved_by}, after "
        f"{'no time that can be told' if waited is None else f'{waited:.1f} s'}; the call "
        f"{'ran' if ran else 'did not run'}, result: {answered}; {outcome.status.value}, {outcome.text!r}; late "
        f"answer {late}, {late_lines} line(s)",
        enforced_by="adapter",
    )


@contextmanager
def _limit_in_environment(seconds: float) -> Generator[None]:
    before = os.environ.get(APPROVAL_SECONDS_VARIABLE)
    os.environ[APPROVAL_SECONDS_VARIABLE] = f"{seconds:g}"
    try:
        yield
    finally:
        del os.environ[APPROVAL_SECONDS_VARIABLE]
        if before is not None:
            os.environ[APPROVAL_SECONDS_VARIABLE] = before


def _waited(arena: Arena, call_id: str) -> float | None:
    """The seconds from the question about a call to the first line that was sent after it."""
    question = question_about(arena, call_id)
    if question is None:
        return None
    after = arena.wire.sent(lambda row: row.n > question.n)
    return (after[0].at_ms - question.at_ms) / 1000 if after else None
