"""Interrupts and the conversation: none without a turn, one per turn, and what is said afterwards is answered."""

from __future__ import annotations

from collections.abc import Awaitable

from checkrein.adapters.errors import NoActiveTurn
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import PATIENCE, finish, run, text_seen, within
from checkrein.scripted_models import hold, say

#: A second interrupt must answer at once, in seconds: it waits for nothing, and the fault that is known is no answer.
AT_ONCE = 2.0

MESSAGE = "write the failing test first"


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
            and answers == ["One.", "Two."],
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


# Ten starts, where each turn is a process of its own.
@scenario("interrupt.next-turn.right-answer", seconds=180.0)
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
            holds=answers == [f"Answer {number}." for number in rounds] and own == [True] * 5,
            expected="five times its own answer to its own question, nothing of the interrupted answer in it, ten "
            "requests in all",
            observed=f"{answers}; asked about their own question: {own}; {len(arena.model.main_requests)} requests",
        )


@scenario("interrupt.with-message.carries-on")
async def test_interrupt_with_a_message(arena: Arena) -> None:
    middle = arena.script.gate("middle", never_opened=True)
    arena.script.main([say("I will now rewrite "), hold(middle), say("everything.")])
    arena.script.main([say("Test first.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("rewrite it")
        await middle.reached(timeout=PATIENCE)
        await text_seen(arena, turn)
        stopped = await within(arena, "the interrupt and the start of the next turn", turn.interrupt(MESSAGE))
        went_on = turn.continued_by
        after = None if went_on is None else await finish(arena, went_on)
        request = await arena.model.wait_requests(2, timeout=PATIENCE)
        hang_up = await arena.model.step(0).hung_up(timeout=PATIENCE)
        counts = (request.view.count(MESSAGE), request.view.count("rewrite it"))
        answered = None if after is None else (after.status.value, after.text)
        in_order = hang_up.at_ms < request.at_ms
        arena.judge(
            "interrupt.with-message.carries-on",
            holds=stopped.exit_status == 130
            and answered == ("completed", "Test first.")
            and counts == (1, 1)
            and in_order,
            expected="the turn interrupted, then one request of the same conversation with the message as its news, "
            "whose answer is that of the next turn",
            observed=f"{stopped.status.value}, then {answered}; message and first prompt {counts} time(s) in request 2 "
            f"of {len(arena.model.main_requests)}, sent {'after' if in_order else 'before'} the stop",
            enforced_by="adapter",
        )
