"""Interrupting in every window of a turn: it ends as interrupted, and all is quiet."""

from __future__ import annotations

import anyio

from checkrein.adapters import Outcome, Session, Turn
from checkrein.adapters.errors import ApprovalStale
from checkrein.adapters.native import Notice, NoticeKind
from checkrein.adapters.steering import SteerState
from checkrein.adapters.transport import Direction
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.interruption_traces import (
    TranscriptAtTheEnd,
    judge_mark,
    judge_receipts,
)
from checkrein.conformance.scenarios.moves import (
    OLD_ENOUGH,
    PATIENCE,
    event_seen,
    judge_outcome,
    judge_quiet,
    next_approval,
    result_seen,
    run,
    text_seen,
    times_anywhere,
    watch_quiet,
    within,
)
from checkrein.scripted_models import (
    DeadlineExceeded,
    HeldTool,
    ViolationKind,
    fail,
    hold,
    say,
    shell,
    silence,
)

STEER = "keep the public signature, but only if you come to it"


async def _stop(arena: Arena, turn: Turn, window: str, *tools: HeldTool) -> None:
    """Interrupt, and judge outcome and quiet of that window."""
    outcome = await within(arena, "the interrupt", turn.interrupt())
    judge_outcome(arena, f"interrupt.{window}.outcome", outcome)
    judge_quiet(arena, f"interrupt.{window}.quiet", await watch_quiet(arena, *tools))


@scenario(
    "interrupt.before-request.outcome",
    "interrupt.before-request.quiet",
    # Whether the first request gets out before the interrupt is the harness's affair.
    allow_violations=(ViolationKind.LEFTOVER_STEP, ViolationKind.GATE_NOT_REACHED),
)
async def test_interrupt_right_behind_the_prompt(arena: Arena) -> None:
    over = arena.script.gate("over")
    arena.script.main([silence()], until=over)
    arena.script.main([say("Begun again.")])
    async with arena.session(policy="auto") as session:
        outcomes = [await _interrupted_while_it_starts(arena, session)]
        turn = await within(arena, "the start of a turn", session.start("rewrite it now"))
        outcomes.append(await within(arena, "the interrupt right after the start", turn.interrupt()))
        judge_outcome(arena, "interrupt.before-request.outcome", *outcomes)
        judge_quiet(arena, "interrupt.before-request.quiet", await watch_quiet(arena))
        over.open()
        await run(arena, session, "begin again")


async def _interrupted_while_it_starts(arena: Arena, session: Session) -> Outcome:
    """Start a turn, and interrupt it as soon as its prompt is on the wire."""
    told = arena.wire.rows[-1].n if arena.wire.rows else 0
    outcomes: list[Outcome] = []

    async def interrupt() -> None:
        await arena.wire.wait(
            lambda row: row.direction is Direction.TO_HARNESS,
            PATIENCE,
            what="the prompt to be sent",
            after=told,
        )
        outcomes.append(await session.interrupt())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(interrupt)
        await within(arena, "the start of a turn that is interrupted", session.start("rewrite it"))
    return outcomes[0]


@scenario("interrupt.before-byte.outcome", "interrupt.before-byte.quiet")
async def test_interrupt_before_the_model_has_said_anything(arena: Arena) -> None:
    begin = arena.script.gate("begin", never_opened=True)
    arena.script.main([hold(begin), say("I will now rewrite everything.")])
    arena.script.main([say("Begun again.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("rewrite it")
        await begin.reached(timeout=PATIENCE)
        await _stop(arena, turn, "before-byte")
        await run(arena, session, "begin again")


@scenario(
    "interrupt.mid-text.outcome",
    "interrupt.mid-text.quiet",
    "interrupt.mid-text.hang-up",
    "interrupt.mark.visible",
    "interrupt.record.on-disk-first",
)
async def test_interrupt_while_the_model_streams_text(arena: Arena) -> None:
    middle = arena.script.gate("middle", never_opened=True)
    arena.script.main([say("I will now rewrite "), hold(middle), say("everything.")])
    arena.script.main([say("Test first, then.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("rewrite it")
        await middle.reached(timeout=PATIENCE)
        await text_seen(arena, turn)
        transcript = TranscriptAtTheEnd(arena)
        await _stop(arena, turn, "mid-text")
        transcript.judge()
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
        judge_mark(arena, request, arena.model.main_requests[0])


@scenario(
    "interrupt.mid-tool-call.outcome",
    "interrupt.mid-tool-call.quiet",
    "interrupt.late-tool-call.not-run",
)
async def test_interrupt_in_the_middle_of_a_tool_call(arena: Arena) -> None:
    half = arena.script.gate("half of the call")
    arena.script.main([say("Now."), shell("touch called.txt", id="call_late", hold_in_arguments=half)])
    arena.script.main([say("Left alone.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("touch it")
        await half.reached(timeout=PATIENCE)
        await text_seen(arena, turn)
        outcome = await within(arena, "the interrupt", turn.interrupt())
        judge_outcome(arena, "interrupt.mid-tool-call.outcome", outcome)
        half.open()  # a harness that still listens gets the rest of the call now
        judge_quiet(arena, "interrupt.mid-tool-call.quiet", await watch_quiet(arena))
        ran = (arena.workspace / "called.txt").exists()
        listens = "heard the rest of it" if arena.model.step(0).answered else "had hung up"
        arena.judge(
            "interrupt.late-tool-call.not-run",
            holds=not ran,
            expected="a call whose second half comes after the end of the turn does not run",
            observed=f"the call {'ran' if ran else 'did not run'}; the harness {listens}",
        )
        await run(arena, session, "leave it")


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
        await _stop(arena, turn, "tool-running", build)
        await run(arena, session, "go on")
        judge_receipts(arena, await arena.model.wait_requests(2, timeout=PATIENCE))


@scenario("interrupt.after-tool-result.outcome", "interrupt.after-tool-result.quiet")
async def test_interrupt_when_the_model_has_the_result_and_says_nothing_yet(arena: Arena) -> None:
    answer = arena.script.gate("answer to the result", never_opened=True)
    arena.script.main([shell("true", id="call_true")])
    arena.script.main([hold(answer), say("It is done.")])
    arena.script.main([say("Picked up again.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("do it")
        await answer.reached(timeout=PATIENCE)
        await _stop(arena, turn, "after-tool-result")
        await run(arena, session, "go on")


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


@scenario("interrupt.retry-backoff.outcome", "interrupt.retry-backoff.quiet")
async def test_interrupt_while_the_harness_waits_to_try_again(arena: Arena) -> None:
    repaired = arena.script.gate("repaired")
    arena.script.main([fail(500, until=repaired)])
    arena.script.main([say("Up again.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("try it")
        if arena.target.kit.tells_retries:
            await event_seen(
                arena,
                turn,
                "word that it tries the request again",
                lambda event: isinstance(event, Notice) and event.kind is NoticeKind.RETRY,
            )
        else:
            await arena.model.wait_requests(2, timeout=PATIENCE)  # it does try again
        await _stop(arena, turn, "retry-backoff")
        repaired.open()
        await run(arena, session, "try again")


@scenario(
    "interrupt.steer-queued.outcome",
    "interrupt.steer-queued.quiet",
    "interrupt.queued-steers.not-run",
    # The reply to a queued message that is run after all: none is to be.
    allow_violations=(ViolationKind.LEFTOVER_STEP, ViolationKind.GATE_NOT_REACHED),
)
async def test_interrupt_with_a_steer_that_waits(arena: Arena) -> None:
    build = arena.script.held_tool("build")
    over = arena.script.gate("over")
    arena.script.main([shell(build, id="call_build")])
    arena.script.main([silence()], until=over)
    arena.script.main([say("Picked up again.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("build it")
        await build.running_for(OLD_ENOUGH, timeout=PATIENCE)
        steer = await within(arena, "the steer to be taken", turn.steer(STEER))
        arena.require(steer.state is SteerState.ACCEPTED, "the steer was accepted and is not delivered")
        await _stop(arena, turn, "steer-queued", build)
        begun = len(arena.model.main_requests) - 1
        over.open()
        await run(arena, session, "go on")
        seen = times_anywhere(arena, STEER)
        own_turns = len(session.turns) + len(session.foreign_turns) - 2
        arena.judge(
            "interrupt.queued-steers.not-run",
            holds=(begun, own_turns, seen) == (0, 0, 0) and steer.state is SteerState.CANCELLED,
            expected="no request and no turn but those of the prompts; the text in no request; reported cancelled",
            observed=f"{begun} request(s) before the next prompt, {own_turns} turn(s) that nobody asked for, the text "
            f"in {seen} request(s), reported {steer.state.value}",
        )
