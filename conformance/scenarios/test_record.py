"""The record of a turn."""

from __future__ import annotations

from checkrein.adapters import Usage as TurnUsage
from checkrein.adapters.manifest import Capability
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import run
from checkrein.scripted_models import Usage, say, shell


@scenario("record.usage.per-turn")
async def test_usage_of_each_turn_alone(arena: Arena) -> None:
    arena.script.main([shell("true", id="call_true")], usage=Usage(input=1000, output=20, cached=300))
    arena.script.main([say("One.")], usage=Usage(input=1500, output=30, cached=400))
    arena.script.main([say("Two.")], usage=Usage(input=70, output=7))
    resumes = not arena.target.manifest.lacks(Capability.RESUME)
    if resumes:
        arena.script.main([say("Three.")], usage=Usage(input=4000, output=40, cached=1))
    async with arena.session(policy="auto") as session:
        used = [(await run(arena, session, prompt)).usage for prompt in ("first", "second")]
        session_id = session.id
    if resumes:
        async with arena.session(policy="auto", resume=session_id) as resumed:
            used.append((await run(arena, resumed, "third")).usage)
    tokens = [(usage.input_tokens, usage.cached_tokens, usage.output_tokens) for usage in used]
    expected = [(2500, 700, 50), (70, 0, 7), (4000, 1, 40)][: len(used)]
    arena.judge(
        "record.usage.per-turn",
        holds=tokens == expected and _costs_fit(used),
        expected=f"input, cached and output tokens {expected}; costs in proportion, or unknown",
        observed=f"{tokens}; costs {[usage.cost_usd for usage in used]}",
    )


def _costs_fit(used: list[TurnUsage]) -> bool:
    """Unknown for all turns; or each positive, the smallest turn the cheapest by far."""
    costs = [usage.cost_usd for usage in used]
    known = [cost for cost in costs if cost is not None]
    if not known:
        return True
    in_proportion = known[1] < known[0] / 5 and all(known[0] / 5 < cost for cost in known[2:])
    return len(known) == len(costs) and all(cost > 0 for cost in known) and in_proportion
