"""The end of a turn, where messages get lost or run twice."""

from __future__ import annotations

from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.steer_race import sweep, write_script
from checkrein.scripted_models import ViolationKind

#: How many turns the sweep has, each with one steer.
TURNS = 100

#: How many disagreements are shown.
SHOWN = 5


@scenario(
    "steer.turn-end-race.exactly-once",
    seconds=240.0,
    # How many requests it takes depends on what becomes of the steers.
    allow_violations=(ViolationKind.LEFTOVER_STEP,),
)
async def test_steers_around_the_end_of_turns(arena: Arena) -> None:
    write_script(arena.script, TURNS)
    async with arena.session(policy="auto") as session:
        found = await sweep(arena, session, TURNS)
        shown = "; ".join(found.faults[:SHOWN])
        arena.judge(
            "steer.turn-end-race.exactly-once",
            holds=not found.faults,
            expected=f"{TURNS} steers: delivered ones come in a request of their turn, queued ones in one of the next, "
            "once; rejected ones in none",
            observed=f"{found.words}; {len(found.faults)} disagreement(s){': ' if shown else ''}{shown}",
        )
