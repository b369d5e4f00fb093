"""Scenarios for the fake harness, run by `checkrein run --scenarios`."""

from __future__ import annotations

from checkrein.conformance.scenario import Arena, scenario
from checkrein.scripted_models import say, shell


@scenario("steer.mid-tool.delivered")
async def test_steer_while_a_tool_runs(arena: Arena) -> None:
    tool = arena.script.held_tool("tool")
    arena.script.main([shell(tool)])
    arena.script.main([say("done")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("work")
        await tool.started(timeout=5)
        await turn.steer("faster")
        tool.finish("worked")
        await turn.outcome()
        seen = arena.model.main_requests[-1].view.count("faster")
        arena.judge("steer.mid-tool.delivered", holds=seen == 1, expected="once", observed=f"{seen} time(s)")


@scenario("interrupt.tool-running.outcome", "interrupt.tool-running.quiet", seconds=20)
async def test_interrupt_while_a_tool_runs(arena: Arena) -> None:
    tool = arena.script.held_tool("tool")
    arena.script.main([shell(tool)])
    async with arena.session(policy="auto") as session:
        turn = await session.start("work")
        await tool.started(timeout=5)
        outcome = await turn.interrupt()
        arena.judge(
            "interrupt.tool-running.outcome",
            holds=outcome.exit_status == 130,
            expected="130",
            observed=str(outcome.exit_status),
            enforced_by="adapter",
        )
        await tool.ended(timeout=5)
        arena.judge("interrupt.tool-running.quiet", holds=True, expected="gone", observed="gone")


@scenario("session.fork.original-untouched")
async def test_a_fork(arena: Arena) -> None:
    raise AssertionError("the fake harness cannot fork")
