"""The interrupt ladder: from the harness's own interrupt down to SIGKILL. The turn ends on every rung."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import anyio

from checkrein.adapters.errors import CheckreinError, Unsupported
from checkrein.adapters.link import Link
from checkrein.adapters.outcome import StoppedBy
from checkrein.adapters.transport import ProcessInfo, Rung
from checkrein.adapters.transport.gone import wait_gone
from checkrein.adapters.transport.process import GRACE_SECONDS

#: How long the last output of a process that was ended may take to be read, in seconds.
READ_OUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderTimes:
    """How long each part of the ladder may take, in seconds.

    Args:
        harness: for the harness's own interrupt, from the call to the terminal event. Seen: 10 to 470 ms on
            Codex 0.171.0, 28 to 114 ms on Claude Code 2.1.332; the rest is for a busy machine.
        answer: for the answer to that call, once the turn is over. Codex 0.171.0 and Claude Code 2.1.332 answer before
            the terminal event, pi 1.6.0 in the same moment.
        settle: for what the harness needs afterwards to be quiet.
        tools: for the processes of the turn's tools to die. Seen: up to 1.6 s for a tool that traps signals on
            Claude Code 2.1.332.
        stdin: for a harness that did not answer to end when its input is closed.
        term: for it to end after SIGTERM.
    """

    harness: float = 10.0
    answer: float = 1.0
    settle: float = 5.0
    tools: float = 2.5
    stdin: float = GRACE_SECONDS
    term: float = GRACE_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """What the ladder came to.

    Args:
        by: the rung on which the turn ended.
        survivors: processes that the turn started and that are still alive.
        failure: what the ladder could not do, in words; "" when it went to its end.
        asked: the harness was asked to stop; one that takes no commands is not.
    """

    by: StoppedBy
    survivors: tuple[ProcessInfo, ...] = ()
    failure: str = ""
    asked: bool = True

    @property
    def reason(self) -> str:
        """The end in words, for a person."""
        because = "did not answer" if self.asked else "takes no interrupt"
        reason = f"interrupted by the driver; the harness{_ENDS[self.by].format(because=because)}"
        return f"{reason}; {self.failure}" if self.failure else reason


_ENDS = {
    StoppedBy.HARNESS: " stopped the turn",
    StoppedBy.EXIT: "'s process ended",
    StoppedBy.STDIN: " {because} and ended when its input closed",
    StoppedBy.TERM: " {because} and was ended by SIGTERM",
    StoppedBy.KILL: " {because} and was killed",
}


class InterruptLadder:
    """Stops one turn, once.

    Args:
        link: the process that runs the turn.
        opened: set when the harness runs the turn; before that Codex 0.171.0 refuses an interrupt.
        over: set when the harness ended the turn, or its process is gone.
        children_before: pids of the children that were there when the turn began.
        times: how long each part may take.
        trouble: told what went wrong on the way.
    """

    def __init__(
        self,
        link: Link,
        *,
        opened: anyio.Event,
        over: anyio.Event,
        children_before: frozenset[int],
        times: LadderTimes,
        trouble: Callable[[CheckreinError], None],
    ) -> None:
        self._link = link
        self._opened = opened
        self._over = over
        self._children_before = children_before
        self._times = times
        self._trouble = trouble

    async def climb_down(self, *, keeps_jobs: Callable[[], bool]) -> Stopped:
        """Stop the turn, by the harness's own interrupt or, failing that, by ending its process. Never raises.

        Args:
            keeps_jobs: the harness runs background jobs, which are not the turn's foreground: then nothing is
                killed, all is listed.
        """
        asked = await self._ask_the_harness()
        if self._link.lost is not None:
            return Stopped(by=StoppedBy.EXIT)
        if not self._over.is_set():
            return replace(await self._end_the_process(), asked=asked)
        await self._settle()
        try:
            survivors = await end_tools(
                self._link,
                before=self._children_before,
                keep_jobs=keeps_jobs(),
                seconds=self._times.tools,
            )
        except Exception as error:
            return Stopped(by=StoppedBy.HARNESS, failure=f"what it left behind is not known: {error}")
        return Stopped(by=StoppedBy.HARNESS, survivors=survivors)

    async def _ask_the_harness(self) -> bool:
        """Have the harness stop the turn by itself, if it can; returns whether it takes such a command."""
        takes_commands = True
        with anyio.move_on_after(self._times.harness):
            await self._opened.wait()
            answering = anyio.CancelScope()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._hurry_at_the_end, answering)
                with answering:
                    takes_commands = await self._send_interrupt()
                tasks.cancel_scope.cancel()
            if answering.cancelled_caught:
                self._trouble(CheckreinError("the harness ended the turn, and did not answer the interrupt"))
            if takes_commands:
                await self._over.wait()
        return takes_commands

    async def _hurry_at_the_end(self, answering: anyio.CancelScope) -> None:
        """The terminal event decides, not the acknowledgement: behind it that is not waited for much longer."""
        await self._over.wait()
        answering.deadline = anyio.current_time() + self._times.answer

    async def _send_interrupt(self) -> bool:
        try:
            await self._link.connection.interrupt()
        except Unsupported:
            return False
        except CheckreinError as error:
            self._trouble(error)
        except Exception as error:
            # An adapter's own fault, of an outside package perhaps, must not keep the turn from ending.
            self._trouble(CheckreinError(f"the adapter failed to interrupt: {error!r}"))
        return True

    async def _settle(self) -> None:
        with anyio.move_on_after(self._times.settle):
            try:
                await self._link.connection.settle()
            except CheckreinError as error:
                self._trouble(error)
            except Exception as error:
                self._trouble(CheckreinError(f"the adapter failed to settle after an interrupt: {error!r}"))

    async def _end_the_process(self) -> Stopped:
        try:
            ladder = await self._link.process.kill_ladder(
                "the harness did not end the turn",
                stdin_grace_seconds=self._times.stdin,
                term_grace_seconds=self._times.term,
            )
        except Exception as error:
            self._link.condemn(f"it did not end an interrupted turn: {error}")
            return Stopped(by=StoppedBy.KILL, failure=str(error))
        with anyio.move_on_after(READ_OUT_SECONDS):
            await self._link.wait_lost()
        by = {
            Rung.EXITED: StoppedBy.EXIT,
            Rung.STDIN: StoppedBy.STDIN,
            Rung.TERM: StoppedBy.TERM,
            Rung.KILL: StoppedBy.KILL,
        }[ladder.rung]
        return Stopped(by=by)


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
