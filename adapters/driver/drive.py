"""One turn in a terminal: start it, show it, ask, and stop it by ctrl-c with exit status 130."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import anyio
from anyio.abc import TaskGroup

from checkrein.adapters.driver.keyboard import Keyboard, ask
from checkrein.adapters.driver.screen import Screen
from checkrein.adapters.interface import HarnessBinary, ModelEndpoint
from checkrein.adapters.opening import open_session
from checkrein.adapters.outcome import EXIT_STATUS, OutcomeStatus
from checkrein.adapters.policy import Policy
from checkrein.adapters.record import write_record
from checkrein.adapters.session import Session
from checkrein.adapters.turn import Turn

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveOrder:
    """What to drive.

    Args:
        harness: name of the adapter.
        binary: what to run.
        cwd: the workspace.
        prompt: what the agent is to do.
        policy: who decides over calls.
        state: directory for the record of the turn.
        resume: id of the conversation to continue.
        home: HOME of the harness; None leaves the user's own.
        endpoint: where the model is; None leaves the harness's own.
    """

    harness: str
    binary: HarnessBinary
    cwd: Path
    prompt: str
    policy: Policy
    state: Path
    resume: str | None = None
    home: Path | None = None
    endpoint: ModelEndpoint | None = None


async def drive(order: DriveOrder, *, out: TextIO, keyboard: Keyboard | None) -> int:
    """Run one turn and show it.

    The first SIGINT, SIGTERM or SIGHUP interrupts the turn by the harness's own means; a second one ends the
    harness's process at once.

    Args:
        out: where to show it.
        keyboard: who decides over approvals; None denies them.

    Returns:
        The exit status: 0 completed, 1 failed, 130 interrupted.

    Raises:
        CheckreinError: the turn could not be started.
    """
    screen = Screen(out)
    status = EXIT_STATUS[OutcomeStatus.INTERRUPTED]
    async with anyio.create_task_group() as tasks:
        stop = _Stop(tasks, screen)
        await tasks.start(stop.listen)
        async with open_session(
            order.harness,
            cwd=order.cwd,
            policy=order.policy,
            resume=order.resume,
            binary=order.binary,
            home=order.home,
            endpoint=order.endpoint,
        ) as session:
            stop.session = session
            screen.header(session.harness, session.id, order.policy.value)
            turn = await session.start(order.prompt)
            await _follow(turn, screen, keyboard)
            outcome = await turn.outcome()
            screen.outcome(outcome)
            path = write_record(await turn.record(), order.state)
            screen.notice(f"record: {path}")
            status = outcome.exit_status
        tasks.cancel_scope.cancel()
    return status


async def _follow(turn: Turn, screen: Screen, keyboard: Keyboard | None) -> None:
    async with anyio.create_task_group() as tasks:

        async def decide() -> None:
            async for approval in turn.approvals():
                await ask(approval, keyboard, screen)

        tasks.start_soon(decide)
        async for event in turn.events():
            screen.event(event)


class _Stop:
    """What the stop signals do: nothing yet, interrupt, or kill."""

    def __init__(self, tasks: TaskGroup, screen: Screen) -> None:
        self.session: Session | None = None
        self._tasks = tasks
        self._screen = screen
        self._asked = False

    async def listen(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(*STOP_SIGNALS) as signals:
            task_status.started()
            async for number in signals:
                self._signalled(signal.Signals(number).name)

    def _signalled(self, name: str) -> None:
        session = self.session
        if session is None or session.turn is None:
            # Nothing runs that could be interrupted: leave. The session closes itself on the way out.
            self._tasks.cancel_scope.cancel()
        elif not self._asked:
            self._asked = True
            self._screen.notice(f"{name}: interrupting (again to kill the harness)")
            self._tasks.start_soon(session.turn.interrupt)
        elif session.link is not None:
            self._screen.notice(f"{name}: killing the harness")
            self._tasks.start_soon(session.link.process.signal, signal.SIGKILL)
