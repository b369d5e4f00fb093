"""Codex's own protocol: the facts that its adapter stands on, judged from the wire alone."""

from __future__ import annotations

import msgspec

from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import (
    PATIENCE,
    deny_all,
    finish,
    next_approval,
    run,
    settle,
    within,
)
from checkrein.conformance.wire import WireRow
from checkrein.scripted_models import Usage, say, shell

ASKS = "item/commandExecution/requestApproval"


def received(arena: Arena, method: str) -> tuple[WireRow, ...]:
    """The notifications or requests of that method."""
    return arena.wire.received(lambda row: row.at("method") == method)


def answer_to(arena: Arena, method: str) -> WireRow | None:
    """The answer to our first call of that method."""
    calls = arena.wire.sent(lambda row: row.at("method") == method)
    call_id = calls[0].at("id") if calls else None
    answers = arena.wire.received(lambda row: row.at("id") == call_id and row.at("method") is None)
    return answers[0] if answers else None


@scenario("native.codex.turn-start")
async def test_from_initialize_to_the_first_turn(arena: Arena) -> None:
    arena.script.main([say("Hello.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("hello")
        await finish(arena, turn)
        answers = {
            method: answer_to(arena, method) for method in ("initialize", "thread/start", "turn/start")
        }
        client = str(answers["initialize"].at("result", "userAgent")) if answers["initialize"] else ""
        thread = answers["thread/start"].at("result", "thread", "id") if answers["thread/start"] else None
        begun = answers["turn/start"].at("result", "turn", "id") if answers["turn/start"] else None
        started = [row.at("params", "turn", "id") for row in received(arena, "turn/started")]
        ended = [
            (row.at("params", "turn", "id"), row.at("params", "turn", "status"))
            for row in received(arena, "turn/completed")
        ]
        wanted = arena.target.known_version or session.harness.version
        arena.judge(
            "native.codex.turn-start",
            holds=f"/{wanted} " in client
            and bool(thread)
            and bool(begun)
            and started == [begun]
            and ended == [(begun, "completed")],
            expected=f"version {wanted} in the user agent; a thread; one turn, started and completed",
            observed=f"{client!r}; thread {thread}; turn {begun}; started {started}; ended {ended}",
        )


@scenario("native.codex.steer-idle-refused")
async def test_a_steer_while_idle(arena: Arena) -> None:
    arena.script.main([say("Hello.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("hello")
        await finish(arena, turn)
        assert session.link is not None
        parameters = {
            "threadId": session.id,
            "expectedTurnId": turn.native_id,
            "input": [{"type": "text", "text": "steered while idle"}],
        }
        line = {"id": "kit-steer", "method": "turn/steer", "params": parameters}
        await session.link.process.send(msgspec.json.encode(line))
        answer = await arena.wire.wait(
            lambda row: row.at("id") == "kit-steer" and row.at("method") is None,
            PATIENCE,
            what="the answer to turn/steer",
        )
        await settle(arena)
        seen = sum(request.view.count("steered while idle") for request in arena.model.requests)
        arena.judge(
            "native.codex.steer-idle-refused",
            holds=answer.at("error", "code") == -32600 and seen == 0 and len(arena.model.main_requests) == 1,
            expected="error -32600, no request",
            observed=f"{answer.at('error') or answer.at('result')}; text seen {seen} time(s)",
        )


@scenario("native.codex.interrupt-status")
async def test_an_interrupt_with_an_open_approval(arena: Arena) -> None:
    arena.script.main([shell("touch forbidden.txt", id="call_touch")])
    arena.script.main([say("Left alone.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("touch it")
        await next_approval(arena, turn)
        await within(arena, "the interrupt", turn.interrupt())
        asked = [row.at("id") for row in received(arena, ASKS)]
        resolved = await arena.wire.wait(
            lambda row: row.at("method") == "serverRequest/resolved", PATIENCE, what="serverRequest/resolved"
        )
        ended = [row.at("params", "turn", "status") for row in received(arena, "turn/completed")]
        after = await run(arena, session, "leave it")
        arena.judge(
            "native.codex.interrupt-status",
            holds=ended == ["interrupted"]
            and asked == [resolved.at("params", "requestId")]
            and after.text == "Left alone.",
            expected="turn/completed with status interrupted, the approval resolved, the next turn answered",
            observed=f"{ended}; asked {asked}, resolved {resolved.at('params', 'requestId')}; {after.text!r}",
        )


@scenario("native.codex.clean-ends-the-command")
async def test_cleaning_after_an_interrupt(arena: Arena) -> None:
    build = arena.script.held_tool("build")
    arena.script.main([shell(build, id="call_build")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("build it")
        await build.running_for(0.5, timeout=PATIENCE)
        await within(arena, "the interrupt", turn.interrupt())
        await build.ended(timeout=PATIENCE)
        cleaned = answer_to(arena, "thread/backgroundTerminals/clean")
        ends = [
            (row.n, row.at("params", "item", "status"))
            for row in received(arena, "item/completed")
            if row.at("params", "item", "id") == "call_build"
        ]
        turn_ends = [row.n for row in received(arena, "turn/completed")]
        arena.judge(
            "native.codex.clean-ends-the-command",
            holds=cleaned is not None
            and cleaned.at("error") is None
            and [status for _, status in ends] == ["failed"]
            and len(turn_ends) == 1
            and ends[0][0] > turn_ends[0],
            expected="thread/backgroundTerminals/clean is answered; the command's item is completed after the turn",
            observed=f"answer {cleaned.text[:200] if cleaned else 'none'}; items {ends}, turn completed at {turn_ends}",
        )


@scenario("native.codex.accept-decline")
async def test_accept_and_decline(arena: Arena) -> None:
    arena.script.main([shell("touch declined.txt", id="call_declined")])
    arena.script.main([shell("touch accepted.txt", id="call_accepted")])
    arena.script.main([say("Done.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("touch both")
        await (await next_approval(arena, turn)).deny()
        await (await next_approval(arena, turn)).allow()
        outcome = await finish(arena, turn)
        asked = {row.at("id") for row in received(arena, ASKS)}
        decisions = [
            row.at("result", "decision")
            for row in arena.wire.sent(lambda row: row.at("id") in asked and row.at("method") is None)
        ]
        files = [(arena.workspace / name).exists() for name in ("declined.txt", "accepted.txt")]
        arena.judge(
            "native.codex.accept-decline",
            holds=decisions == ["decline", "accept"] and files == [False, True] and outcome.text == "Done.",
            expected="decline, then accept; only the accepted command ran; the turn went on to its end",
            observed=f"{decisions}; files {files}; {outcome.status.value} {outcome.text!r}",
        )


@scenario("native.codex.token-totals")
async def test_token_totals(arena: Arena) -> None:
    arena.script.main([say("One.")], usage=Usage(input=1000, output=10))
    arena.script.main([say("Two.")], usage=Usage(input=500, output=40))
    async with arena.session(policy="auto") as session:
        for prompt in ("first", "second"):
            await run(arena, session, prompt)
        rows = received(arena, "thread/tokenUsage/updated")
        place = ("params", "tokenUsage", "total")
        totals = [(row.at(*place, "inputTokens"), row.at(*place, "outputTokens")) for row in rows]
        arena.judge(
            "native.codex.token-totals",
            holds=totals == [(1000, 10), (1500, 50)],
            expected="totals (1000, 10), then (1500, 50)",
            observed=str(totals),
        )


@scenario("native.codex.session-grant-ends-with-process")
async def test_a_grant_for_the_session(arena: Arena) -> None:
    for call in ("call_first", "call_again"):
        arena.script.main([shell("touch one.txt", id=call)])
    arena.script.main([say("Done.")])
    arena.script.main([shell("touch one.txt", id="call_later")])
    arena.script.main([say("Denied.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("touch")
        await (await next_approval(arena, turn)).allow_always()
        within_process = await deny_all(arena, turn)
        later = await deny_all(arena, await session.start("again"))
        asked = [row.at("params", "itemId") for row in received(arena, ASKS)]
        decisions = {
            row.at("result", "decision") for row in arena.wire.sent(lambda row: row.at("result") is not None)
        }
        handshakes = len(arena.wire.sent(lambda row: row.at("method") == "initialize"))
        arena.judge(
            "native.codex.session-grant-ends-with-process",
            holds="acceptForSession" in decisions
            and asked == ["call_first", "call_later"]
            and (within_process, later) == ([], ["call_later"])
            and handshakes == 2,
            expected="acceptForSession covers the like call in its process; a second process, resumed, asks again",
            observed=f"decisions {sorted(map(str, decisions))}; asked for {asked}; {handshakes} process(es)",
        )
