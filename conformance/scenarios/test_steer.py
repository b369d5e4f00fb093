"""Steering: a message added to the running turn is delivered once, or refused."""

from __future__ import annotations

from collections.abc import Awaitable

import anyio
from anyio.lowlevel import checkpoint

from checkrein.adapters import Turn, TurnState
from checkrein.adapters.errors import SteerReason, SteerRejected
from checkrein.adapters.steering import Steer, SteerState
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import (
    PATIENCE,
    finish,
    next_approval,
    run,
    settle,
    text_seen,
    times_anywhere,
    watch,
    within,
)
from checkrein.scripted_models import ModelRequest, hold, say, shell

#: How long an approval must stay open after a steer, in seconds.
STILL_OPEN = 1.0

STEER = "keep the public signature “exactly” as it is — naïve\tcafé \\n 𝛼"


def times_in(request: ModelRequest, text: str) -> int:
    """How often the model saw a text in one request."""
    return request.view.count(text)


@scenario("steer.mid-tool.delivered")
async def test_steer_while_a_tool_runs(arena: Arena) -> None:
    build = arena.script.held_tool("build")
    arena.script.main([say("Building."), shell(build, id="call_build")])
    arena.script.main([say("Adjusted.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("move the retry logic into the client")
        await build.started(timeout=PATIENCE)
        steer = await turn.steer(STEER)
        build.finish("built ok")
        outcome = await finish(arena, turn)
        after = (await arena.model.wait_requests(2, timeout=PATIENCE)).view
        await settle(arena)
        arena.judge(
            "steer.mid-tool.delivered",
            holds=after.count(STEER) == 1
            and STEER in after.fresh_text
            and outcome.status.value == "completed"
            and steer.state is SteerState.DELIVERED
            and len(session.turns) == 1,
            expected="once, byte for byte, in the request behind the result, within the one turn; reported delivered",
            observed=f"{after.count(STEER)} time(s) in request 2 of {len(arena.model.main_requests)}, reported "
            f"{steer.state.value}, {len(session.turns)} turn(s), {outcome.status.value}",
        )


@scenario("steer.order.kept")
async def test_several_steers_while_a_tool_runs(arena: Arena) -> None:
    texts = [f"steer number {word}" for word in ("one", "two", "three")]
    build = arena.script.held_tool("build")
    arena.script.main([shell(build, id="call_build")])
    arena.script.main([say("All three.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("build it")
        await build.started(timeout=PATIENCE)
        for text in texts:
            await turn.steer(text)
        build.finish("built ok")
        await finish(arena, turn)
        view = (await arena.model.wait_requests(2, timeout=PATIENCE)).view
        await settle(arena)
        places = [view.fresh_text.find(text) for text in texts]
        counts = [view.count(text) for text in texts]
        arena.judge(
            "steer.order.kept",
            holds=counts == [1, 1, 1] and -1 not in places and places == sorted(places),
            expected="each of the three once in the second request, in the order in which they were sent; no third",
            observed=f"counts {counts}, places {places}, {len(arena.model.main_requests)} requests",
        )


@scenario("steer.mid-stream.delivered")
async def test_steer_while_the_model_streams(arena: Arena) -> None:
    middle = arena.script.gate("middle")
    arena.script.main([say("I will now rewrite "), hold(middle), say("everything.")])
    arena.script.main([say("Understood.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("rewrite it")
        await text_seen(arena, turn)
        await middle.reached(timeout=PATIENCE)
        steer = await turn.steer(STEER)
        middle.open()
        state = await within(arena, "the steer to be settled", steer.settled())
        request = await arena.model.wait_requests(2, timeout=PATIENCE)
        for each in session.turns:
            await finish(arena, each)
        await settle(arena)
        arena.judge(
            "steer.mid-stream.delivered",
            holds=times_in(request, STEER) == 1 and _agrees(state, len(session.turns)),
            expected="once in the second request; reported delivered within the turn, or queued for the next one",
            observed=f"{times_in(request, STEER)} time(s) in request 2 of {len(arena.model.main_requests)}, reported "
            f"{state.value}, {len(session.turns)} turn(s)",
        )


def _agrees(state: SteerState, turns: int) -> bool:
    match state:
        case SteerState.DELIVERED:
            return turns == 1
        case SteerState.QUEUED:
            return turns == 2
        case _:
            return False


@scenario("steer.idle.rejected")
async def test_steer_with_no_active_turn(arena: Arena) -> None:
    arena.script.main([say("One.")])
    arena.script.main([say("Two.")])
    async with arena.session(policy="auto") as session:
        reasons = [await _refusal(session.steer("steered before any turn"))]
        await settle(arena)
        before_any_turn = len(arena.model.main_requests)
        await run(arena, session, "first")
        reasons.append(await _refusal(session.steer("steered between turns")))
        await settle(arena)
        between = len(arena.model.main_requests)
        await run(arena, session, "second")
        seen = sum(
            times_anywhere(arena, text) for text in ("steered before any turn", "steered between turns")
        )
        arena.judge(
            "steer.idle.rejected",
            holds=reasons == [SteerReason.NO_ACTIVE_TURN.value] * 2 and seen == 0 and len(session.turns) == 2,
            expected="rejected with no_active_turn twice; no request of its own; the text in no request",
            observed=f"{reasons}; {before_any_turn} request(s) of the conversation after the first, {between} after "
            f"the second; the text in {seen} request(s)",
            enforced_by="adapter",
        )


async def _refusal(steering: Awaitable[Steer]) -> str:
    """The reason of a rejection, or what happened instead."""
    try:
        steer = await steering
    except SteerRejected as rejected:
        return rejected.reason.value
    return f"not rejected: {steer.state.value}"


@scenario("steer.ended-turn.rejected")
async def test_steer_to_a_turn_that_has_ended(arena: Arena) -> None:
    middle = arena.script.gate("middle")
    arena.script.main([say("One.")])
    arena.script.main([say("Two is "), hold(middle), say("long.")])
    arena.script.main([say("Three.")])
    async with arena.session(policy="auto") as session:
        first = await session.start("first")
        await finish(arena, first)
        reasons = [await _refusal(first.steer("for the first turn, idle"))]
        second = await session.start("second")
        await middle.reached(timeout=PATIENCE)
        reasons.append(await _refusal(first.steer("for the first turn, while the second runs")))
        middle.open()
        await finish(arena, second)
        await run(arena, session, "third")
        seen = times_anywhere(arena, "for the first turn")
        arena.judge(
            "steer.ended-turn.rejected",
            holds=reasons == [SteerReason.TURN_ENDED.value] * 2 and seen == 0,
            expected="rejected with turn_ended twice, the text in no request",
            observed=f"{reasons}; the text in {seen} of {len(arena.model.main_requests)} requests",
            enforced_by="adapter",
        )


@scenario("steer.interrupting.rejected")
async def test_steer_while_the_turn_is_being_interrupted(arena: Arena) -> None:
    middle = arena.script.gate("middle", never_opened=True)
    arena.script.main([say("I will now rewrite "), hold(middle)])
    arena.script.main([say("Two.")])
    text = "steered while it is being stopped"
    reasons: list[str] = []
    async with arena.session(policy="auto") as session:
        turn = await session.start("rewrite it")
        await text_seen(arena, turn)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.interrupt)
            await within(arena, "the interrupt to be asked for", _interrupting(turn))
            reasons.append(await _refusal(turn.steer(text)))
        await finish(arena, turn)
        await run(arena, session, "second")
        signs = arena.known("interrupt_signs", arena.target.kit.interrupt_signs)
        asked = arena.wire.sent(lambda row: signs.asks(row.message))
        sent = arena.wire.sent(lambda row: text in row.text)
        seen = times_anywhere(arena, text)
        arena.judge(
            "steer.interrupting.rejected",
            holds=reasons == [SteerReason.INTERRUPTING.value] and (len(asked), len(sent)) == (1, 0),
            expected="one interrupt; the steer rejected with interrupting, never sent, and in no request",
            observed=f"{len(asked)} interrupt(s); {reasons}, sent {len(sent)} time(s); the text in {seen} of "
            f"{len(arena.model.main_requests)} requests",
            enforced_by="adapter",
        )


async def _interrupting(turn: Turn) -> None:
    while turn.state is TurnState.RUNNING:
        await checkpoint()


@scenario("steer.approval-open.delivered")
async def test_steer_while_an_approval_is_open(arena: Arena) -> None:
    tool = arena.script.held_tool("tool")
    tool.finish("ran")
    arena.script.main([shell(tool, id="call_run")])
    arena.script.main([say("Done as you say.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("run it")
        approval = await next_approval(arena, turn)
        steer = await turn.steer(STEER)
        await watch(arena, STILL_OPEN)
        open_still, starts, requests = (
            approval.resolved_by is None,
            tool.starts,
            len(arena.model.main_requests),
        )
        await approval.allow()
        outcome = await finish(arena, turn)
        after = (await arena.model.wait_requests(2, timeout=PATIENCE)).view
        await settle(arena)
        arena.judge(
            "steer.approval-open.delivered",
            holds=(open_still, starts) == (True, 0)
            and after.count(STEER) == 1
            and "ran" in after.results["call_run"].text
            and tool.starts == 1
            and steer.state is SteerState.DELIVERED
            and (outcome.status.value, len(session.turns)) == ("completed", 1),
            expected=f"for {STILL_OPEN:g} s after the steer the question is open and nothing runs; once answered, the "
            "call runs once, and the text is once in the next request of the turn; reported delivered",
            observed=f"after the steer: open {open_still}, {starts} process(es), {requests} request(s); in the end "
            f"{after.count(STEER)} time(s) in request 2 of {len(arena.model.main_requests)}, {tool.starts} "
            f"process(es), reported {steer.state.value}, {outcome.status.value}",
        )
