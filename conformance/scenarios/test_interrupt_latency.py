"""How long an interrupt takes, beside a plain process that traps SIGINT."""

from __future__ import annotations

from checkrein.adapters import Session
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.interrupt_times import InterruptTimes, summary
from checkrein.conformance.scenarios.moves import OLD_ENOUGH, PATIENCE, text_seen, within
from checkrein.conformance.scenarios.plain_process import interrupt_a_plain_process
from checkrein.conformance.wire import WirePredicate, WireRow
from checkrein.scripted_models import Gate, HeldTool, hold, say, shell

#: How many turns are interrupted in each of the two windows, and how many plain processes beside them.
IN_TEXT, IN_TOOL, PLAIN = 8, 4, 8


@scenario("interrupt.latency")
async def test_how_long_interrupts_take(arena: Arena) -> None:
    gates = [arena.script.gate(f"gate {number}", never_opened=True) for number in range(IN_TEXT)]
    builds = [arena.script.held_tool(f"build {number}") for number in range(IN_TOOL)]
    for gate in gates:
        arena.script.main([say("On and on "), hold(gate)])
    for number, build in enumerate(builds):
        arena.script.main([shell(build, id=f"call_{number}")])
    async with arena.session(policy="auto") as session:
        taken = [await _in_text(arena, session, number, gate) for number, gate in enumerate(gates)]
        taken += [await _in_a_tool(arena, session, build) for build in builds]
    plain = [await interrupt_a_plain_process() for _ in range(PLAIN)]
    arena.judge(
        "interrupt.latency",
        holds=all(times.acknowledged is not None and times.ended is not None for times in taken),
        expected="an acknowledgement and a terminal event for each interrupt; the figures are for the record",
        observed=f"ms, p50/p95/max of {len(taken)} interrupts: {summary(taken)}; of {PLAIN} plain processes: "
        f"{summary(plain)}",
        enforced_by=None,
    )


async def _in_text(arena: Arena, session: Session, number: int, gate: Gate) -> InterruptTimes:
    turn = await session.start(f"talk {number}")
    await gate.reached(timeout=PATIENCE)
    await text_seen(arena, turn)
    called = arena.timeline.now_ms()
    await within(arena, "the interrupt", turn.interrupt())
    hang_up = await arena.model.step(number).hung_up(timeout=PATIENCE)
    return _times(arena, called, hung_up_ms=hang_up.at_ms)


async def _in_a_tool(arena: Arena, session: Session, build: HeldTool) -> InterruptTimes:
    turn = await session.start(f"run {build.name}")
    await build.running_for(OLD_ENOUGH, timeout=PATIENCE)
    called = arena.timeline.now_ms()
    await within(arena, "the interrupt", turn.interrupt())
    await build.ended(timeout=PATIENCE)
    ended = next(
        row.at_ms
        for row in arena.timeline.rows
        if row.kind == "tool_ended" and row.data.get("tool") == build.name
    )
    return _times(arena, called, tool_ended_ms=ended)


def _times(
    arena: Arena, called: float, *, hung_up_ms: float | None = None, tool_ended_ms: float | None = None
) -> InterruptTimes:
    """What the lines after the call tell. Quiet is the last of all ends."""
    signs = arena.known("interrupt_signs", arena.target.kit.interrupt_signs)
    later = arena.wire.rows
    asked = _first(later, lambda row: row.at_ms >= called and signs.asks(row.message))
    acknowledged = asked and _first(later, lambda row: signs.acknowledges(asked.message, row.message))
    ended = _first(later, lambda row: row.at_ms >= called and signs.ends_turn(row.message))
    ends = (hung_up_ms, tool_ended_ms, None if ended is None else ended.at_ms)
    return InterruptTimes(
        acknowledged=None if acknowledged is None else acknowledged.at_ms - called,
        hung_up=None if hung_up_ms is None else hung_up_ms - called,
        ended=None if ended is None else ended.at_ms - called,
        quiet=max(moment for moment in ends if moment is not None) - called,
    )


def _first(rows: tuple[WireRow, ...], wanted: WirePredicate) -> WireRow | None:
    return next((row for row in rows if wanted(row)), None)
