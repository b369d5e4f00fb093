"""Claude Code's own protocol: the facts that its adapter stands on, judged from the wire alone."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import PATIENCE, deny_all, finish, next_approval, run, within
from checkrein.conformance.wire import WireRow
from checkrein.scripted_models import Usage, say, shell

#: Where an answer to a question holds what is granted beyond the call.
GRANTS = ("response", "response", "updatedPermissions")


def of_type(row: WireRow, kind: str) -> bool:
    """Whether the line is a message of that type."""
    return row.at("type") == kind


def questions(arena: Arena) -> list[str]:
    """The commands that were asked about, in order."""
    rows = arena.wire.received(lambda row: row.at("request", "subtype") == "can_use_tool")
    return [str(row.at("request", "input", "command")) for row in rows]


@scenario("native.claude-code.steer-lifecycle")
async def test_the_lifecycle_of_a_steer(arena: Arena) -> None:
    build = arena.script.held_tool("build")
    arena.script.main([shell(build, id="call_build")])
    arena.script.main([say("Adjusted.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("build it")
        await build.started(timeout=PATIENCE)
        steer = await turn.steer("the other way round")
        build.finish("built ok")
        await finish(arena, turn)
        states = [
            row.at("state") for row in arena.wire.received(lambda row: row.at("command_uuid") == steer.id)
        ]
        results = arena.wire.received(lambda row: of_type(row, "result"))
        uuids = results[-1].at("user_message_uuids") if results else None
        request = await arena.model.wait_requests(2, timeout=PATIENCE)
        arena.judge(
            "native.claude-code.steer-lifecycle",
            holds=states == ["queued", "started", "completed"]
            and uuids == [turn.id, steer.id]
            and request.view.count("the other way round") == 1,
            expected="queued, started, completed; both uuids in the result; the text in the next request",
            observed=f"{states}; uuids {uuids}; text {request.view.count('the other way round')} time(s)",
        )


@scenario("native.claude-code.can-use-tool")
async def test_allow_and_deny(arena: Arena) -> None:
    arena.script.main([shell("touch denied.txt", id="call_denied")])
    arena.script.main([shell("touch allowed.txt", id="call_allowed")])
    arena.script.main([say("Done.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("touch both")
        await (await next_approval(arena, turn)).deny("use the other file")
        await (await next_approval(arena, turn)).allow()
        await finish(arena, turn)
        blocks = [
            (row.at("message", "content", 0, "content"), row.at("message", "content", 0, "is_error"))
            for row in arena.wire.received(lambda row: of_type(row, "user"))
        ]
        files = [(arena.workspace / name).exists() for name in ("denied.txt", "allowed.txt")]
        ends = [row.at("terminal_reason") for row in arena.wire.received(lambda row: of_type(row, "result"))]
        arena.judge(
            "native.claude-code.can-use-tool",
            holds=len(questions(arena)) == 2
            and bool(blocks)
            and blocks[0] == ("use the other file", True)
            and files == [False, True]
            and ends == ["completed"],
            expected="two questions; an error result with the message, then a run; the turn completed",
            observed=f"{len(questions(arena))} question(s); results {blocks}; files {files}; {ends}",
        )


@scenario("native.claude-code.updated-permissions")
async def test_an_exact_rule_for_the_session(arena: Arena) -> None:
    for call in ("call_first", "call_again"):
        arena.script.main([shell("touch one.txt", id=call)])
    arena.script.main([shell("touch two.txt", id="call_other")])
    arena.script.main([say("Done.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("touch")
        await (await next_approval(arena, turn)).allow_always()
        await deny_all(arena, turn)
        grants = [
            (row.at(*GRANTS, number, "type"), row.at(*GRANTS, number, "destination"))
            for row in arena.wire.sent(lambda row: row.at(*GRANTS) is not None)
            for number in range(9)
            if row.at(*GRANTS, number) is not None
        ]
        asked = questions(arena)
        arena.judge(
            "native.claude-code.updated-permissions",
            holds=grants == [("addRules", "session")] and asked == ["touch one.txt", "touch two.txt"],
            expected="addRules for the session is all that is sent; asked once for the first, once for the other",
            observed=f"sent {grants}; asked {asked}",
        )


@scenario("native.claude-code.interrupt-process-lives")
async def test_an_interrupt_with_an_open_question(arena: Arena) -> None:
    arena.script.main([shell("touch forbidden.txt", id="call_touch")])
    arena.script.main([say("Left alone.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("touch it")
        approval = await next_approval(arena, turn)
        await within(arena, "the interrupt", turn.interrupt())
        withdrawn = [
            row.at("request_id")
            for row in arena.wire.received(lambda row: of_type(row, "control_cancel_request"))
        ]
        await run(arena, session, "leave it")
        results = arena.wire.received(lambda row: of_type(row, "result"))
        ends = [(row.at("terminal_reason"), row.at("result")) for row in results]
        handshakes = len(arena.wire.sent(lambda row: row.at("request", "subtype") == "initialize"))
        arena.judge(
            "native.claude-code.interrupt-process-lives",
            holds=withdrawn == [approval.id]
            and ends == [("aborted_tools", None), ("completed", "Left alone.")]
            and handshakes == 1,
            expected="the question is withdrawn; aborted_tools, then completed with its text, by one process",
            observed=f"withdrawn {withdrawn}; {ends}; {handshakes} process(es)",
        )


@scenario("native.claude-code.usage-split")
async def test_cumulative_cost_and_usage_of_the_turn(arena: Arena) -> None:
    arena.script.main([say("One.")], usage=Usage(input=1000, output=10))
    arena.script.main([say("Two.")], usage=Usage(input=500, output=40))
    async with arena.session(policy="auto") as session:
        for prompt in ("first", "second"):
            await run(arena, session, prompt)
        rows = arena.wire.received(lambda row: of_type(row, "result"))
        costs = [row.at("total_cost_usd") for row in rows]
        own = [(row.at("usage", "input_tokens"), row.at("usage", "output_tokens")) for row in rows]
        totals = [_model_totals(row) for row in rows]
        arena.judge(
            "native.claude-code.usage-split",
            holds=own == [(1000, 10), (500, 40)] and totals == [(1000, 10), (1500, 50)] and _grows(costs),
            expected="usage (1000, 10) and (500, 40); modelUsage (1000, 10) and (1500, 50); a cost that grows",
            observed=f"usage {own}; modelUsage {totals}; cost {costs}",
        )


def _model_totals(row: WireRow) -> tuple[int, int]:
    models = cast("dict[str, dict[str, int]]", row.at("modelUsage") or {}).values()
    return (sum(model["inputTokens"] for model in models), sum(model["outputTokens"] for model in models))


def _grows(costs: list[object]) -> bool:
    numbers = [cost for cost in costs if isinstance(cost, float | int)]
    return len(numbers) == len(costs) and all(before < after for before, after in pairwise(numbers))
