"""The driver dies: nothing of the harness lives on, and what had happened is on disk."""

from __future__ import annotations

import time

import psutil

from checkrein.adapters.errors import CheckreinError
from checkrein.adapters.record import TurnRecord
from checkrein.adapters.record_keeping import read_record
from checkrein.adapters.transport.gone import wait_gone
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.driver_command import STARTING, driver
from checkrein.conformance.scenarios.moves import PATIENCE, in_a_session_of_its_own
from checkrein.scripted_models import ViolationKind, say, shell

#: How long the harness and its tools may live on, in seconds.
UNTIL_GONE = 5.0


# That its tools live on is no departure from the script: it is judged.
@scenario(
    "fault.driver-dies",
    "record.survives-crash",
    seconds=120.0,
    allow_violations=(ViolationKind.TOOL_NOT_RELEASED,),
)
async def test_the_driver_is_killed(arena: Arena) -> None:
    build = arena.script.held_tool("build", ignore_signals=True)
    # Out of reach of a harness that ends its command when its input closes.
    stray = arena.script.held_tool("stray", ignore_signals=True)
    line = f"{in_a_session_of_its_own(stray)} </dev/null >/dev/null 2>&1 & {build.command}"
    arena.script.main([say("Looking."), shell("echo the-'first'-output", id="call_first")])
    arena.script.main([say("Building."), shell(line, id="call_build")])
    state = arena.folder.root / "state"
    with driver(arena, "build it", state=state) as process:
        await stray.started(timeout=STARTING)
        await build.started(timeout=PATIENCE)
        # The call is known to the driver a moment after the process runs, at the latest.
        await build.running_for(0.5, timeout=PATIENCE)
        below = {child.pid for child in psutil.Process(process.pid).children(recursive=True)}
        lived = {build.pid, stray.pid} | {found.pid for found in arena.processes()} | below
        process.kill()
        killed_at = time.monotonic()
        await wait_gone(lived, UNTIL_GONE)
        seconds = time.monotonic() - killed_at
        # One that was started after the others had been counted has its HOME, too.
        left = {pid for pid in lived if _is_alive(pid)} | {found.pid for found in arena.processes()}
    arena.judge(
        "fault.driver-dies",
        holds=not left,
        expected=f"none of {len(lived)} processes is alive {UNTIL_GONE:g} s after the driver was killed",
        observed=f"alive: {sorted(left)}" if left else f"all gone after {seconds:.2f} s",
        enforced_by="adapter",
    )
    record = _record(arena)
    calls = {} if isinstance(record, str) else {call.call_id: call for call in record.tools}
    ids = ("call_first", "call_build") if arena.target.kit.tells_call_ids else (*calls, "", "")[:2]
    first, second = (calls.get(call_id) for call_id in ids)
    arena.judge(
        "record.survives-crash",
        holds=not isinstance(record, str)
        and (record.prompt, record.status, record.ended_at) == ("build it", None, None)
        and record.text == "Building."
        and first is not None
        and "the-first-output" in first.output_tail
        and second is not None
        and build.command in (second.command or "")
        and second.status is None,
        expected="one record: the prompt, the newest text, the finished call with its output, the running call without "
        "a result, no outcome",
        observed=record
        if isinstance(record, str)
        else f"{record.prompt!r}, {record.text!r}, status {record.status}; "
        f"first call: {first and first.output_tail!r}; second call: {second and (second.command, second.status)}",
        enforced_by="adapter",
    )


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _record(arena: Arena) -> TurnRecord | str:
    found = sorted((arena.folder.root / "state").glob("records/*.json*"))
    if len(found) != 1:
        return f"{len(found)} records: {[path.name for path in found]}"
    try:
        return read_record(found[0])
    except CheckreinError as error:
        return str(error)
