"""Interrupting: the turn ends as interrupted, all is quiet, and the next prompt is answered by its own answer."""

from __future__ import annotations

import re
from collections.abc import Awaitable

from checkrein.adapters.errors import ApprovalStale, NoActiveTurn
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import (
    PATIENCE,
    finish,
    judge_outcome,
    judge_quiet,
    next_approval,
    result_seen,
    run,
    text_seen,
    watch_quiet,
    within,
)
from checkrein.scripted_models import (
    DeadlineExceeded,
    ItemKind,
    ModelRequest,
    ViolationKind,
    hold,
    say,
    shell,
)

#: How old a command must be before an interrupt of it proves anything, in seconds: Codex 0.171.0 lets one that is
#: younger than about 0.12 s die by itself.
OLD_ENOUGH = 0.5

#: A second interrupt must answer at once, in seconds: it waits for nothing, and the fault that is known is no answer.
AT_ONCE = 2.0

#: A mark is a short text; the instructions of a harness speak of interrupts too.
MARK_CHARACTERS = 1000

_MARK = re.compile(r"interrupt|abort", re.IGNORECASE)
_REFUSAL = re.compile(r"does(n't| not) want|rejected|refused|declined|denied", re.IGNORECASE)
_NO_REFUSAL = re.compile(r"(not|nobody|never) (been )?(rejected|refused|declined|denied)", re.IGNORECASE)
_ABORT = re.compile(r"abort|interrupt|stopped while running|cancel", re.IGNORECASE)


@scenario(
    "interrupt.mid-text.outcome",
    "interrupt.mid-text.quiet",
    "interrupt.mid-text.hang-up",
    "interrupt.mark.visible",
)
async def test_interrupt_while_the_model_streams_text(arena: Arena) -> None:
    middle = arena.script.gate("middle", never_opened=True)
    arena.script.main([say("I will now rewrite "), hold(middle), say("everything.")])
    arena.script.main([say("Test first, then.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("rewrite it")
        await middle.reached(timeout=PATIENCE)
        await text_seen(arena, turn)
        outcome = await within(arena, "the interrupt", turn.interrupt())
        judge_outcome(arena, "interrupt.mid-text.outcome", outcome)
        quiet = await watch_quiet(arena)
        judge_quiet(arena, "interrupt.mid-text.quiet", quiet)
        try:
            hang_up = await arena.model.step(0).hung_up(timeout=1.0)
            observed = f"the client closed the stream after event {hang_up.after_events}"
        except DeadlineExceeded:
            hang_up, observed = None, "the client still holds the stream open"
        arena.judge(
            "interrupt.mid-text.hang-up",
            holds=hang_up is not None,
            expected="the client closes the stream that the model holds open",
            observed=observed,
        )
        await run(arena, session, "write the failing test first")
        request = await arena.model.wait_requests(2, timeout=PATIENCE)
        marks = _marks(arena, request, arena.model.main_requests[0])
        arena.judge(
            "interrupt.mark.visible",
            holds=bool(marks),
            expected="a text in the next request, and not in the one before, that says that the turn was interrupted",
            observed="; ".join(marks) or "no such text",
        )


def _marks(arena: Arena, request: ModelRequest, before: ModelRequest) -> list[str]:
    """New texts that speak of an interruption, of neither the model nor a prompt; paths of this run do not count."""
    sides = (ItemKind.USER, ItemKind.SYSTEM, ItemKind.RESULT)
    old = {item.text for item in before.view.history}
    said = (item.text for item in request.view.history if item.kind in sides and item.text not in old)
    texts = (text.replace(str(arena.folder.root), "") for text in said)
    return [text[:160] for text in texts if len(text) < MARK_CHARACTERS and _MARK.search(text)]


@scenario(
    "interrupt.tool-running.outcome",
    "interrupt.tool-running.quiet",
    "interrupt.finished-results.kept",
    "interrupt.open-calls.receipt",
    "interrupt.receipt.honest",
    # Judged here by its own clause, so that a lost receipt is not blamed on the others.
    allow_violations=(ViolationKind.CALL_NOT_ANSWERED_ONCE,),
)
async def test_interrupt_while_a_tool_runs(arena: Arena) -> None:
    build = arena.script.held_tool("build")
    # Quoted apart, so that the output is no part of the command.
    arena.script.main([shell("echo the-finished-'out'put", id="call_done"), shell(build, id="call_open")])
    arena.script.main([say("Picked up again.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("build it")
        await build.running_for(OLD_ENOUGH, timeout=PATIENCE)
        await result_seen(arena, turn, "call_done")
        outcome = await within(arena, "the interrupt", turn.interrupt())
        judge_outcome(arena, "interrupt.tool-running.outcome", outcome)
        quiet = await watch_quiet(arena, build)
        judge_quiet(arena, "interrupt.tool-running.quiet", quiet)
        await run(arena, session, "go on")
        request = await arena.model.wait_requests(2, timeout=PATIENCE)
        _judge_receipts(arena, request)


def _judge_receipts(arena: Arena, request: ModelRequest) -> None:
    results = [item for item in request.view.history if item.kind is ItemKind.RESULT]
    done = [item.text for item in results if item.id == "call_done"]
    arena.judge(
        "interrupt.finished-results.kept",
        holds=len(done) == 1 and "the-finished-output" in done[0],
        expected="the finished call has its real output, once",
        observed=f"{len(done)} result(s): {done}",
    )
    receipts = [item.text for item in results if item.id == "call_open"]
    arena.judge(
        "interrupt.open-calls.receipt",
        holds=len(receipts) == 1,
        expected="exactly one receipt for the call that was stopped",
        observed=f"{len(receipts)} receipt(s): {[text[:200] for text in receipts]}",
    )
    text = receipts[0].replace(str(arena.folder.root), "") if receipts else ""
    honest = bool(_ABORT.search(text)) and (not _REFUSAL.search(text) or bool(_NO_REFUSAL.search(text)))
    arena.judge(
        "interrupt.receipt.honest",
        holds=honest,
        expected="the receipt says that the call was stopped, and does not leave it at a person's refusal",
        observed=text[:600] or "no receipt",
    )


@scenario("interrupt.approval-open.outcome", "interrupt.approval-open.quiet", "approve.stale.refused")
async def test_interrupt_while_an_approval_is_open(arena: Arena) -> None:
    arena.script.main([shell("touch forbidden.txt", id="call_touch")])
    arena.script.main([say("Left alone.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("touch it")
        approval = await next_approval(arena, turn)
        outcome = await within(arena, "the interrupt", turn.interrupt())
        judge_outcome(arena, "interrupt.approval-open.outcome", outcome)
        sent = len(arena.wire.sent())
        try:
            await approval.allow()
            answer = "accepted"
        except ApprovalStale as stale:
            answer = f"refused as stale, resolved by {stale.resolved_by}"
        quiet = await watch_quiet(arena)
        ran = (arena.workspace / "forbidden.txt").exists()
        judge_quiet(arena, "interrupt.approval-open.quiet", quiet)
        late_lines = len(arena.wire.sent()) - sent
        arena.judge(
            "approve.stale.refused",
            holds=answer == "refused as stale, resolved by interrupt" and late_lines == 0 and not ran,
            expected="the late answer is refused as stale (resolved by interrupt), nothing is sent, no call runs",
            observed=f"{answer}; {late_lines} line(s) sent; the call {'ran' if ran else 'did not run'}",
            enforced_by="adapter",
        )
        await run(arena, session, "leave it")


@scenario("interrupt.idle.rejected")
async def test_interrupt_with_no_active_turn(arena: Arena) -> None:
    arena.script.main([say("One.")])
    arena.script.main([say("Two.")])
    async with arena.session(policy="auto") as session:
        refusals, lines = 0, 0
        for prompt in ("first", "second"):
            sent = len(arena.wire.sent())
            refusals += await _is_refused(session.interrupt())
            lines += len(arena.wire.sent()) - sent
            turn = await session.start(prompt)
            await finish(arena, turn)
            sent = len(arena.wire.sent())
            refusals += await _is_refused(turn.interrupt())
            lines += len(arena.wire.sent()) - sent
        outcomes = [(await turn.outcome()).status.value for turn in session.turns]
        answers = [(await turn.outcome()).text for turn in session.turns]
        arena.judge(
            "interrupt.idle.rejected",
            holds=(refusals, lines) == (4, 0)
            and outcomes == ["completed"] * 2
            and answers == ["One.", "Two."]
            and len(arena.model.main_requests) == 2,
            expected="four typed refusals, before and after each of two turns, and no line sent for them; the turns "
            "complete with their own answers",
            observed=f"{refusals} refusal(s), {lines} line(s) sent, outcomes {outcomes}, answers {answers}",
            enforced_by="adapter",
        )


async def _is_refused(interrupting: Awaitable[object]) -> bool:
    try:
        await interrupting
    except NoActiveTurn:
        return True
    return False


@scenario("interrupt.twice.idempotent")
async def test_interrupt_a_turn_twice(arena: Arena) -> None:
    middle = arena.script.gate("middle", never_opened=True)
    arena.script.main([say("On and on "), hold(middle)])
    arena.script.main([say("Next.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("talk")
        await middle.reached(timeout=PATIENCE)
        first = await within(arena, "the interrupt", turn.interrupt())
        second = await within(arena, "the second interrupt, at once", turn.interrupt(), AT_ONCE)
        after = await run(arena, session, "next")
        arena.judge(
            "interrupt.twice.idempotent",
            holds=first == second
            and first.exit_status == 130
            and (after.status.value, after.text) == ("completed", "Next."),
            expected=f"the same outcome within {AT_ONCE:g} s; the next turn untouched",
            observed=f"first {first.status.value}, second {second.status.value}, next {after.status.value} "
            f"{after.text!r}",
            enforced_by="adapter",
        )


@scenario("interrupt.next-turn.right-answer")
async def test_five_prompts_after_five_interrupts(arena: Arena) -> None:
    rounds = range(1, 6)
    gates = {number: arena.script.gate(f"gate {number}", never_opened=True) for number in rounds}
    for number in rounds:
        arena.script.main([say(f"Stopped answer {number} "), hold(gates[number]), say("never said.")])
        arena.script.main([say(f"Answer {number}.")])
    answers: list[str] = []
    async with arena.session(policy="auto") as session:
        for number in rounds:
            turn = await session.start(f"long question {number}")
            await gates[number].reached(timeout=PATIENCE)
            await within(arena, "the interrupt", turn.interrupt())
            answers.append((await run(arena, session, f"next question {number}")).text)
        asked = [request.view.fresh_text for request in arena.model.main_requests[1::2]]
        own = [f"next question {number}" in text for number, text in zip(rounds, asked, strict=False)]
        arena.judge(
            "interrupt.next-turn.right-answer",
            holds=answers == [f"Answer {number}." for number in rounds]
            and own == [True] * 5
            and len(arena.model.main_requests) == 10,
            expected="five times its own answer to its own question, nothing of the interrupted answer in it, ten "
            "requests in all",
            observed=f"{answers}; asked about their own question: {own}; {len(arena.model.main_requests)} requests",
        )
