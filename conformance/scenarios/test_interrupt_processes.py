"""Interrupts and processes: what survives is in the record, and a harness that is frozen is replaced."""

from __future__ import annotations

import signal
import time

from checkrein.adapters import Turn
from checkrein.adapters.interrupting import LadderTimes
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import (
    BY_THE_HARNESS,
    OLD_ENOUGH,
    PATIENCE,
    in_a_session_of_its_own,
    run,
    stoppers,
    within,
)
from checkrein.scripted_models import say, shell, tool

#: For a harness that will not answer anyhow, in seconds.
SHORT = LadderTimes(harness=1.0, settle=1.0, tools=1.0, stdin=0.3, term=0.3)

#: How much longer than its ladder an interrupt may take, in seconds: for a busy machine.
LEEWAY = 5.0


@scenario("interrupt.survivors.listed", "interrupt.background.survives")
async def test_interrupt_turns_that_leave_processes(arena: Arena) -> None:
    stray, first = arena.script.held_tool("stray", ignore_signals=True), arena.script.held_tool("first build")
    job, second = arena.script.held_tool("job"), arena.script.held_tool("second build")
    line = f"{in_a_session_of_its_own(stray)} </dev/null >/dev/null 2>&1 & {first.command}"
    start_job = arena.known("background_call", arena.target.kit.background_call)(job.command)
    arena.script.main([shell(line, id="call_first")])
    arena.script.main([tool(start_job.name, start_job.input, id="call_job")])
    arena.script.main([shell(second, id="call_second")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("build it")
        await stray.started(timeout=PATIENCE)
        await first.running_for(OLD_ENOUGH, timeout=PATIENCE)
        await within(arena, "the interrupt", turn.interrupt())
        unlisted = await _unlisted(arena, turn)
        turn = await session.start("serve it, and build it again")
        await job.started(timeout=PATIENCE)
        await second.running_for(OLD_ENOUGH, timeout=PATIENCE)
        await within(arena, "the interrupt", turn.interrupt())
        unlisted += await _unlisted(arena, turn)
        listed = job.pid in {process.pid for process in (await turn.record()).survivors}
        lives = any(process.pid == job.pid for process in arena.processes())
        arena.judge(
            "interrupt.survivors.listed",
            holds=not unlisted,
            expected="every process that a turn started and that lives after its interrupt is in the turn's record",
            observed="; ".join(unlisted) or "all that lived were listed",
            enforced_by="adapter",
        )
        arena.judge(
            "interrupt.background.survives",
            holds=lives == listed,
            expected="the job goes on and is listed, or has ended and is not",
            observed=f"the background job {'goes on' if lives else 'was ended'}, and is {'' if listed else 'not '}"
            "listed",
            enforced_by=None,
        )


async def _unlisted(arena: Arena, turn: Turn) -> list[str]:
    listed = {process.pid for process in (await turn.record()).survivors}
    return [
        f"process {process.pid} is alive and not listed: {' '.join(process.cmdline)[:120]}"
        for process in arena.processes(without_harness=True)
        if process.pid not in listed
    ]


@scenario("interrupt.frozen.killed")
async def test_interrupt_a_harness_that_is_frozen(arena: Arena) -> None:
    build = arena.script.held_tool("build")
    arena.script.main([say("One.")])
    arena.script.main([shell(build, id="call_build")])
    arena.script.main([say("Three.")])
    async with arena.session(policy="auto", ladder=SHORT) as session:
        await run(arena, session, "first question")
        turn = await session.start("build it")
        await build.running_for(OLD_ENOUGH, timeout=PATIENCE)
        link = session.link
        assert link is not None
        frozen = link.process
        await frozen.signal(signal.SIGSTOP)
        begun = time.monotonic()
        outcome = await within(arena, "the interrupt", turn.interrupt())
        seconds = time.monotonic() - begun
        left = [f"{process.pid} ({process.name})" for process in arena.processes()]
        after = await run(arena, session, "third question")
        view = (await arena.model.wait_requests(3, timeout=PATIENCE)).view
        kept = (view.count("first question"), view.count("One."), view.count("build it"))
        stopped_by = outcome.stopped_by.value if outcome.stopped_by else None
        by = {"kill"} | (stoppers(arena) - BY_THE_HARNESS)
        arena.judge(
            "interrupt.frozen.killed",
            holds=(outcome.status.value, outcome.exit_status) == ("interrupted", 130)
            and stopped_by in by
            and seconds < SHORT.harness + SHORT.stdin + SHORT.term + LEEWAY
            and not left
            and (after.status.value, after.text) == ("completed", "Three.")
            and kept == (1, 1, 1),
            expected=f"interrupted, 130, stopped by {' or '.join(sorted(by))} within the grace; no process left; "
            "the next prompt is answered, by a process that knows what was said before",
            observed=f"{outcome.status.value}, {outcome.exit_status}, stopped by {stopped_by} after {seconds:.1f} s; "
            f"left: {', '.join(left) or 'nothing'}; the next turn {after.status.value} {after.text!r}; "
            f"first prompt, its answer and the stopped prompt {kept} time(s) in its request",
            enforced_by="adapter",
        )
