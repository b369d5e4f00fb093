"""Defects of what outlives an interrupt: queued messages, processes, a frozen harness, what is on disk."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from typing import Any

import anyio

from checkrein.adapters import interrupting as interrupt_ladder
from checkrein.adapters.claude_code.connection import ClaudeCodeConnection
from checkrein.adapters.interrupting import InterruptLadder
from checkrein.conformance.scenarios import interruption_traces
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute

#: Longer than the leeway of the scenario, in seconds.
DAWDLING = 6.0


def keep_the_queue() -> None:
    """Claude Code is not told to cancel what is queued."""

    def make(call: Any) -> Any:
        async def called(self: Any, subtype: str, call_id: str = "", **fields: object) -> Any:
            fields.pop("cancel_queued", None)
            return await call(self, subtype, call_id, **fields)

        return called

    replace_attribute(ClaudeCodeConnection, "_call", make)


def list_no_survivors() -> None:
    """What lives on after an interrupt is not in the record."""

    def make(end_tools: Any) -> Any:
        async def ended(*arguments: Any, **named: Any) -> tuple[()]:
            await end_tools(*arguments, **named)
            return ()

        return ended

    replace_attribute(interrupt_ladder, "end_tools", make)


def take_time_to_kill() -> None:
    """A harness that does not answer is ended, but not within the grace."""

    def make(end_the_process: Any) -> Any:
        async def ended(self: Any) -> Any:
            with anyio.move_on_after(DAWDLING):
                await anyio.Event().wait()
            return await end_the_process(self)

        return ended

    replace_attribute(InterruptLadder, "_end_the_process", make)


def write_the_transcript_late() -> None:
    """The transcript has nothing new yet when the end of the turn is told."""
    replace_attribute(interruption_traces, "_behind", lambda _: lambda path, size: b"")


DEFECTS: dict[str, Defect] = {
    "runs what is queued after an interrupt": Defect(
        harness="claude-code",
        # Not among them: whether its request comes before or after the watch for quiet begins is a matter of luck.
        red=("interrupt.queued-steers.not-run",),
        among=("interrupt.steer-queued.outcome", "interrupt.queued-steers"),
        install=keep_the_queue,
    ),
    "lists no survivors": Defect(
        harness="claude-code",
        red=("interrupt.survivors.listed",),
        among=("interrupt.survivors",),
        install=list_no_survivors,
    ),
    "takes its time to kill a frozen harness": Defect(
        harness="codex",
        red=("interrupt.frozen.killed",),
        among=("interrupt.frozen",),
        install=take_time_to_kill,
    ),
    "writes its transcript late": Defect(
        harness="codex",
        red=("interrupt.record.on-disk-first",),
        among=("interrupt.record", "interrupt.mid-text"),
        install=write_the_transcript_late,
    ),
}
