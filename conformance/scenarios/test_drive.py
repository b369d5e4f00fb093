"""The driver command, in a real pseudo-terminal."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import anyio
import pexpect

from checkrein.conformance.arena import DUMMY_KEY
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import PATIENCE
from checkrein.scripted_models import say, shell

#: How long the command may take from ctrl-c to its end, in seconds.
UNTIL_EXIT = 15.0


@scenario("drive.ctrl-c.exit-130")
async def test_ctrl_c_on_the_driver_command(arena: Arena) -> None:
    build = arena.script.held_tool("build")
    arena.script.main([say("Building."), shell(build, id="call_build")])
    arguments = [
        "-m", "checkrein.conformance", "drive", arena.target.label, "build it",
        "--cwd", str(arena.workspace), "--home", str(arena.home), "--policy", "auto",
        "--model-base-url", arena.model.base_url,
    ]  # fmt: skip
    state = arena.folder.root / "state"
    environment = {**os.environ, "CHECKREIN_MODEL_API_KEY": DUMMY_KEY, "CHECKREIN_STATE": str(state)}
    screen = (arena.folder.root / "screen.txt").open("w")
    terminal: pexpect.spawn[str] = pexpect.spawn(
        sys.executable, arguments, env=environment, encoding="utf-8", logfile=screen, timeout=PATIENCE
    )  # type: ignore[arg-type]  # typeshed wants os._Environ
    try:
        await build.running_for(0.5, timeout=2 * PATIENCE)
        terminal.sendintr()
        # Its last words are read to the end, and the process is waited for, or else it is late.
        with anyio.move_on_after(UNTIL_EXIT):
            await anyio.to_thread.run_sync(terminal.read, abandon_on_cancel=True)
            await anyio.to_thread.run_sync(terminal.wait, abandon_on_cancel=True)
        late = terminal.isalive()
        left = [f"{process.pid} {process.name}" for process in arena.processes()]
    finally:
        if terminal.isalive():
            terminal.kill(signal.SIGKILL)
        terminal.close()
        screen.close()
    record = _record(state)
    native = (record.get("status"), record.get("stopped_by"))
    ended = f"still running after {UNTIL_EXIT:g} s" if late else f"exit status {terminal.exitstatus}"
    arena.judge(
        "drive.ctrl-c.exit-130",
        holds=not late and terminal.exitstatus == 130 and not left and native == ("interrupted", "harness"),
        expected="exit status 130, no process left, a record that says interrupted, stopped by the harness itself",
        observed=f"{ended}, signal {terminal.signalstatus}; left: {left or 'nothing'}; record: {native}",
        enforced_by="adapter",
    )


def _record(state: Path) -> dict[str, object]:
    found = sorted(state.glob("records/*.json"))
    return json.loads(found[0].read_bytes()) if found else {}
