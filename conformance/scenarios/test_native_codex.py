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


def result_of(arena: Arena, method: str, *keys: str) -> object:
    """What the result of our first call of that method has under these keys; None without."""
    calls = arena.wire.sent(lambda row: row.at("method") == method)
    call_id = calls[0].at("id") if calls else None
    answers = arena.wire.received(lambda row: row.at("id") == call_id and row.at("method") is None)
    return answers[0].at("result", *keys) if answers else None


@scenario("native.codex.turn-start")
async def test_from_initialize_to_the_first_turn(arena: Arena) -> None:
    arena.script.main([say("Hello.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("hello")
        await finish(arena, turn)
        client = str(result_of(arena, "initialize", "userAgent"))
        thread = result_of(arena, "thread/start", "thread", "id")
        told = [("turn/start", result_of(arena, "turn/start", "turn", "id"))]
        for method in ("turn/started", "turn/completed"):
            told += [(method, row.at("params", "turn", "id")) for row in received(arena, method)]
        ended = [row.at("params", "turn", "status") for row in received(arena, "turn/completed")]
        wanted = arena.target.known_version or session.harness.version
        arena.judge(
            "native.codex.turn-start",
            holds=f"/{wanted} " in client
            and thread == session.id
            and told
            == [(method, turn.native_id) for method in ("turn/start", "turn/started", "turn/completed")]
            and ended == ["completed"],
            expected=f"version {wanted} in the user agent; the thread of the session; one turn, started and completed",
            observed=f"{client!r}; thread {thread} of {session.id}; turn {turn.native_id} in {told}; ended {ended}",
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
        seen = [request.view.count("steered while idle") for request in arena.model.requests]
        arena.judge(
            "native.codex.steer-idle-refused",
            holds=answer.at("error", "code") == -32600 and seen == [0],
            expected="error -32600; no second request, and the text in none",
            observed=f"{answer.at('error') or answer.at('result')}; text seen in each request, times: {seen}",
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
        cleaned = result_of(arena, "thread/backgroundTerminals/clean")
        ends = [end for row in arena.wire.received() if (end := _end(row)) is not None]
        arena.judge(
            "native.codex.clean-ends-the-command",
            holds=cleaned == {} and ends == [("the turn", "interrupted"), ("the command", "failed")],
            expected="thread/backgroundTerminals/clean is answered; the command ends as failed, after the turn",
            observed=f"result {cleaned}; ends {ends}",
        )


def _end(row: WireRow) -> tuple[str, object] | None:
    """Of what a line tells the end, and how it ended; None for any other line."""
    match row.at("method"), row.at("params", "item", "id"):
        case "turn/completed", _:
            return "the turn", row.at("params", "turn", "status")
        case "item/completed", "call_build":
            return "the command", row.at("params", "item", "status")
        case _:
            return None


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
        await deny_all(arena, turn)
        await deny_all(arena, await session.start("again"))
        asked = [row.at("params", "itemId") for row in received(arena, ASKS)]
        decisions = [
            row.at("result", "decision") for row in arena.wire.sent(lambda row: row.at("result") is not None)
        ]
        handshakes = len(arena.wire.sent(lambda row: row.at("method") == "initialize"))
        arena.judge(
            "native.codex.session-grant-ends-with-process",
            holds=decisions == ["acceptForSession", "decline"]
            and asked == ["call_first", "call_later"]
            and handshakes == 2,
            expected="acceptForSession covers the like call in its process; a second process, resumed, asks again",
            observed=f"decisions {decisions}; asked for {asked}; {handshakes} process(es)",
        )
