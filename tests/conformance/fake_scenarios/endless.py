"""A scenario that goes on until somebody presses ctrl-c."""

from __future__ import annotations

from checkrein.conformance.scenario import Arena, scenario
from checkrein.scripted_models import shell


@scenario("session.close.nothing-left")
async def test_endless(arena: Arena) -> None:
    tool = arena.script.held_tool("tool", ignore_signals=True)
    arena.script.main([shell(tool)])
    async with arena.session(policy="auto") as session:
        turn = await session.start("work")
        await tool.started(timeout=20)
        await turn.outcome()
