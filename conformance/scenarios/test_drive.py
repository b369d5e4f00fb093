"""The driver command, in a real pseudo-terminal."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import anyio
import pexpect

from checkrein.adapters.acts import ActKind
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.driver_command import STARTING, drive_arguments, drive_environment
from checkrein.conformance.scenarios.moves import stoppers
from checkrein.scripted_models import HeldTool, say, shell

#: How long the command may take from ctrl-c to its end, in seconds.
UNTIL_EXIT = 15.0

#: How much of what the command said is told when it ends too early.
SHOWN_CHARACTERS = 300


@scenario("drive.ctrl-c.exit-130", seconds=120.0)
async def test_ctrl_c_on_the_driver_command(arena: Arena) -> None:
    prompt = "build it"
    build = arena.script.held_tool("build")
    arena.script.main([say("Building."), shell(build, id="call_build")])
    state = arena.folder.root / "state"
    arguments = drive_arguments(arena.target, arena.folder, prompt, base_url=arena.model.base_url)
    environment: dict[str, str] = drive_environment(state)
    shown = arena.folder.root / "screen.txt"
    screen = shown.open("w")
    arena.person(ActKind.START, text=prompt)
    terminal: pexpect.spawn[str] = pexpect.spawn(
        sys.executable, arguments, env=environment, encoding="utf-8", logfile=screen, timeout=None
    )  # type: ignore[arg-type]  # typeshed wants os._Environ
    try:
        pressed, late = await _press_ctrl_c(arena, terminal, build)
        left = [f"{process.pid} {process.name}" for process in arena.processes()]
    finally:
        if terminal.isalive():
            terminal.kill(signal.SIGKILL)
        terminal.close()
        screen.close()
    record, by = _record(state), stoppers(arena)
    native = (record.get("status"), record.get("stopped_by"))
    ended = f"still running after {UNTIL_EXIT:g} s" if late else f"exit status {terminal.exitstatus}"
    if not pressed:
        said = shown.read_text(errors="replace").strip()[-SHOWN_CHARACTERS:]
        ended = f"{ended} before the tool ran; it said: {said!r}"
    arena.judge(
        "drive.ctrl-c.exit-130",
        holds=ended == "exit status 130" and not left and native[0] == "interrupted" and native[1] in by,
        expected="exit status 130, no process left, a record that says interrupted, stopped by "
        f"{' or '.join(sorted(by))}",
        observed=f"{ended}, signal {terminal.signalstatus}; left: {left or 'nothing'}; record: {native}",
        enforced_by="adapter",
    )


async def _press_ctrl_c(arena: Arena, terminal: pexpect.spawn[str], tool: HeldTool) -> tuple[bool, bool]:
    """Press ctrl-c once the tool runs; whether it was pressed, and whether the command was late to end after that."""
    ended, pressed = anyio.Event(), False

    async def follow() -> None:
        await anyio.to_thread.run_sync(terminal.read, abandon_on_cancel=True)
        await anyio.to_thread.run_sync(terminal.wait, abandon_on_cancel=True)
        ended.set()
        before.cancel()

    async with anyio.create_task_group() as tasks:
        before = anyio.CancelScope()
        tasks.start_soon(follow)
        with before:
            await tool.running_for(0.5, timeout=STARTING)
        pressed = not before.cancelled_caught
        if pressed:
            arena.person(ActKind.INTERRUPT)
            terminal.sendintr()
            with anyio.move_on_after(UNTIL_EXIT):
                await ended.wait()
        tasks.cancel_scope.cancel()
    return pressed, not ended.is_set()


def _record(state: Path) -> dict[str, object]:
    found = sorted(state.glob("records/*.json"))
    return json.loads(found[0].read_bytes()) if found else {}
