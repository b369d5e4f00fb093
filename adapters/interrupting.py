"""The interrupt ladder: from the harness's own interrupt down to SIGKILL. The turn ends on every rung."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import anyio

from checkrein.adapters.errors import CheckreinError, HarnessDied
from checkrein.adapters.link import Link
from checkrein.adapters.outcome import StoppedBy
from checkrein.adapters.transport import ProcessInfo, Rung
from checkrein.adapters.transport.gone import wait_gone


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderTimes:
    """How long each part of the ladder may take, in seconds.

    Args:
        harness: for the harness's own interrupt, from the call to the terminal event. Seen: 10 to 470 ms on
            Codex 0.171.0, 28 to 114 ms on Claude Code 2.1.332; the rest is for a busy machine.
        settle: for what the harness needs afterwards to be quiet.
        tools: for the processes of the turn's tools to die. Seen: up to 1.6 s for a tool that traps signals on
            Claude Code 2.1.332.
    """

    harness: float = 10.0
    settle: float = 5.0
    tools: float = 2.5


async def climb_down(
    link: Link,
    *,
    opened: anyio.Event,
    over: anyio.Event,
    times: LadderTimes,
    trouble: Callable[[CheckreinError], None],
) -> StoppedBy:
    """Stop the running turn, by the harness's own interrupt or, failing that, by ending its process.

    Args:
        opened: set when the harness runs the turn; before that Codex 0.171.0 refuses an interrupt.
        over: set when the harness ended the turn, or its process is gone.
        trouble: told what went wrong on the way.

    Returns:
        The rung on which the turn ended.
    """
    with anyio.move_on_after(times.harness):
        await opened.wait()
        try:
            await link.connection.interrupt()
        except HarnessDied:
            return StoppedBy.EXIT
        except CheckreinError as error:
            trouble(error)  # the terminal event decides, not the acknowledgement
        except Exception as error:
            # An adapter's own fault, of an outside package perhaps, must not keep the turn from ending.
            trouble(CheckreinError(f"the adapter failed to interrupt: {error!r}"))
        await over.wait()
    if over.is_set() and link.lost is None:
        await _settle(link, times.settle, trouble)
        return StoppedBy.HARNESS
    if link.lost is not None:
        return StoppedBy.EXIT
    ladder = await link.process.kill_ladder("the harness did not end the turn")
    return {
        Rung.EXITED: StoppedBy.EXIT,
        Rung.STDIN: StoppedBy.STDIN,
        Rung.TERM: StoppedBy.TERM,
        Rung.KILL: StoppedBy.KILL,
    }[ladder.rung]


async def _settle(link: Link, seconds: float, trouble: Callable[[CheckreinError], None]) -> None:
    with anyio.move_on_after(seconds):
        try:
            await link.connection.settle()
        except CheckreinError as error:
            trouble(error)
        except Exception as error:
            trouble(CheckreinError(f"the adapter failed to settle after an interrupt: {error!r}"))


async def end_tools(
    link: Link, *, before: frozenset[int], keep_jobs: bool, seconds: float
) -> tuple[ProcessInfo, ...]:
    """After an interrupted turn: no process of its foreground tools stays alive.

    Args:
        before: pids of the children that were there when the turn began.
        keep_jobs: the harness runs background jobs, which are not the turn's foreground: nothing is killed, all
            is listed.
        seconds: how long the processes get to die by themselves.

    Returns:
        What survives.
    """

    left = await _started_since(link, before)
    if left and not keep_jobs:
        await wait_gone({child.pid for child in left}, seconds)
        left = await _started_since(link, before)
        if left:
            ours = {child.pid for child in await link.process.children()} - {child.pid for child in left}
            await link.process.sweep(ours)
            left = await _started_since(link, before)
    return left


async def _started_since(link: Link, before: frozenset[int]) -> tuple[ProcessInfo, ...]:
    return tuple(
        child
        for child in await link.process.children()
        if child.pid not in before and not link.connection.is_own_process(child)
    )
