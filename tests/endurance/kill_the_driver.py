"""SIGKILL for the driver command at random moments: nothing of the harness lives on, and the record can be read.

    python -m tests.endurance.kill_the_driver --kills 200 --results /tmp/driver.jsonl

Offline but for loopback; each kill has a driver, a harness and a scripted model of its own. A moment counts from when
the driver has started the guard of the harness, in every fifth kill from the start of the driver itself.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from checkrein.adapters.errors import CheckreinError
from checkrein.adapters.record_keeping import read_record
from checkrein.adapters.transport.gone import wait_until_ended
from checkrein.conformance.arena_processes import kill_with_home, processes_with_home
from checkrein.conformance.run_folder import RunFolder
from checkrein.conformance.scenarios.driver_command import drive_arguments, drive_environment
from checkrein.conformance.target import Target
from checkrein.scripted_models import HeldTool, ModelServer, ModelSession, Script, pause, say, shell
from tests.endurance.campaign import Campaign, Kill

#: How long the harness and its tools may live on, in seconds.
UNTIL_GONE = 5.0

PROMPT = "build it"

#: Every so many kills the moment counts from the start of the driver, else from the start of its guard.
FROM_THE_DRIVER = 5

#: How long the driver may take to start the guard, in seconds.
DRIVER_SECONDS = 60.0


def kill_the_driver(number: int, target: Target, moment: float) -> Kill:
    """One driver, killed at a moment."""
    with tempfile.TemporaryDirectory(prefix="ckr-kill-", ignore_cleanup_errors=True) as place:
        folder = RunFolder(root=Path(place))
        folder.prepare()
        script = Script(side="ok")
        tool = script.held_tool("tool", ignore_signals=True)
        script.main([pause(0.2), say("Looking."), shell("echo looked", id="call_look")])
        script.main([say("Building."), pause(0.2), shell(tool, id="call_build")])
        with ModelServer() as server:
            model = server.open_session(script, target.profile)
            try:
                return _kill(number, target, moment, folder, model, tool)
            finally:
                model.close(verify=False)
                kill_with_home(folder.home)


def _kill(
    number: int, target: Target, moment: float, folder: RunFolder, model: ModelSession, tool: HeldTool
) -> Kill:
    state = folder.root / "state"
    with subprocess.Popen(
        [sys.executable, *drive_arguments(target, folder, PROMPT, base_url=model.base_url)],
        env=drive_environment(state),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as driver:
        if number % FROM_THE_DRIVER:
            _wait_for_the_guard(driver)
        with suppress(subprocess.TimeoutExpired):
            driver.wait(timeout=moment)
        running = driver.poll() is None
        known = _below(driver)
        stage = _stage(known, model, tool)
        driver.kill()
        begun = time.monotonic()
        driver.wait()
    alive = _alive_after(driver.pid, folder.home, known, begun + UNTIL_GONE)
    seconds = time.monotonic() - begun
    misses = [f"alive after {UNTIL_GONE:g} s: {words}" for words in alive]
    if not running:
        misses.append("the driver had ended by itself")
    misses += _record_faults(state, tool_ran=tool.starts > 0)
    return Kill(
        number=number,
        harness=target.label,
        moment=round(moment, 3),
        stage=stage,
        seconds=round(seconds, 3),
        misses=tuple(misses),
    )


def _wait_for_the_guard(driver: subprocess.Popen[bytes]) -> None:
    """Wait until the driver has started a guard. No system tells of it, so this looks again and again."""
    deadline = time.monotonic() + DRIVER_SECONDS
    while not _guards_of(driver.pid) and driver.poll() is None and time.monotonic() < deadline:
        with suppress(subprocess.TimeoutExpired):
            driver.wait(timeout=0.05)


def _below(driver: subprocess.Popen[bytes]) -> set[int]:
    """The processes that the driver has started, and those that these have."""
    if driver.poll() is not None:
        return set[int]()
    return {child.pid for child in psutil.Process(driver.pid).children(recursive=True)}


def _stage(known: set[int], model: ModelSession, tool: HeldTool) -> str:
    if tool.starts:
        return "tool running"
    if model.main_requests:
        return "turn running"
    return "harness starting" if known else "driver starting"


def _alive_after(driver: int, home: Path, known: set[int], deadline: float) -> list[str]:
    """What is alive at the deadline, in words; returns as soon as nothing is.

    A process that was started between the look and the kill is found by its HOME, or as the driver's guard.
    """
    while True:
        wait_until_ended(known, max(deadline - time.monotonic(), 0.0))
        found = {process.pid: " ".join(process.cmdline)[:120] for process in processes_with_home(home)}
        found |= _guards_of(driver)
        known = set(found)
        if not found or time.monotonic() >= deadline:
            return [f"{pid} {words}" for pid, words in found.items()]


def _guards_of(driver: int) -> dict[int, str]:
    """The guards that a driver has started: its process id is the last of their arguments."""
    found: dict[int, str] = {}
    for process in psutil.process_iter(["cmdline", "status"]):
        words: list[str] = process.info["cmdline"] or []
        mine = bool(words) and words[-1] == str(driver) and any("guard.watch" in word for word in words)
        if mine and process.info["status"] != psutil.STATUS_ZOMBIE:
            found[process.pid] = "its guard"
    return found


def _record_faults(state: Path, *, tool_ran: bool) -> list[str]:
    paths = sorted(state.glob("records/*.json*"))
    if not paths:
        return ["there is no record, and a tool ran"] if tool_ran else []
    try:
        records = [read_record(path) for path in paths]
    except CheckreinError as error:
        return [str(error)]
    if len(records) != 1 or records[0].prompt != PROMPT or records[0].ended_at is not None:
        return [f"the records are {[path.name for path in paths]}, {records}"[:400]]
    looked = {call.call_id: call.output_tail for call in records[0].tools}.get("call_look", "")
    return ["the finished call is not in the record"] if tool_ran and "looked" not in looked else []


if __name__ == "__main__":
    sys.exit(Campaign(__doc__ or "", window=4.0).run(kill_the_driver))
