"""Harnesses that run one prompt and end: what they refuse, and what the bare program does on a signal."""

from __future__ import annotations

import signal

from checkrein.adapters.errors import Unsupported
from checkrein.adapters.policy import Policy
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.bare_run import bare_run, spec_of
from checkrein.conformance.scenarios.moves import OLD_ENOUGH, PATIENCE, run
from checkrein.scripted_models import DeadlineExceeded, HeldTool, ViolationKind, say, shell

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: How long a tool may take to end after the program, in seconds; past it, it counts as left alive.
TOOL_ENDS_WITHIN = 1.0


@scenario(
    "approve.no-prompts.fails-closed",
    # Only a session that is opened after all uses the script.
    allow_violations=(ViolationKind.LEFTOVER_STEP,),
)
async def test_policies_that_need_somebody_to_ask(arena: Arena) -> None:
    arena.script.main([shell("touch ran.txt", id="call_touch")])
    arena.script.main([say("Touched.")])
    arena.script.main([say("Nothing more.")], times=len(Policy))
    before = arena.tree()
    faults: list[str] = []
    for policy in Policy:
        if policy is Policy.AUTO:
            continue
        try:
            async with arena.session(policy=policy) as session:
                outcome = await run(arena, session, "touch it")
                faults.append(f"{policy.value} ran a turn: {outcome.status.value}")
        except Unsupported:
            continue
    if requests := arena.model.requests:
        faults.append(f"{len(requests)} model request(s)")
    if rows := arena.wire.rows:
        faults.append(f"{len(rows)} line(s) on the wire")
    if changes := arena.difference(before, arena.tree(), ignore=()):
        faults.append(f"{len(changes)} file(s) changed")
    arena.judge(
        "approve.no-prompts.fails-closed",
        holds=not faults,
        expected="each policy but auto is refused as unsupported; no model request, no line on the wire, no file",
        observed="; ".join(faults) or "all refused; no request, no line, no file",
        enforced_by="adapter",
    )


@scenario(
    "oneshot.sigint.exit-status",
    seconds=180.0,
    # What the program asks its model after a signal is not what this is about.
    allow_violations=(ViolationKind.UNSCRIPTED_REQUEST, ViolationKind.TOOL_NOT_RELEASED),
)
async def test_signals_to_the_bare_program_while_a_tool_runs(arena: Arena) -> None:
    places = [(number, in_terminal) for in_terminal in (False, True) for number in SIGNALS]
    tools = [arena.script.held_tool(f"tool {place}") for place in range(len(places))]
    for place, tool in enumerate(tools):
        arena.script.main([shell(tool, id=f"call_{place}")])
    seen: list[str] = []
    for (number, in_terminal), tool in zip(places, tools, strict=True):
        place = " in a terminal" if in_terminal else ""
        seen.append(f"{number.name}{place}: {await _stop(arena, number, tool, in_terminal)}")
    arena.judge(
        "oneshot.sigint.exit-status",
        holds=True,
        expected="figures for the record",
        observed="; ".join(seen),
        enforced_by=None,
    )


async def _stop(arena: Arena, number: signal.Signals, tool: HeldTool, in_terminal: bool) -> str:
    make = arena.known("bare_run", arena.target.kit.bare_run)
    with bare_run(arena, make(spec_of(arena), "build it"), in_terminal=in_terminal) as program:
        await tool.running_for(OLD_ENOUGH, timeout=PATIENCE)
        end = await program.stopped_by(number)
        try:
            await tool.ended(timeout=TOOL_ENDS_WITHIN)
        except DeadlineExceeded:
            tool.finish()
            return f"{end}, the tool lives on"
    return f"{end}, the tool has ended"
