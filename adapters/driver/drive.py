"""One turn in a terminal: start it, show it, ask, and stop it by ctrl-c with exit status 130."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import anyio
from anyio.abc import TaskGroup

from checkrein.adapters.driver.keyboard import Keyboard, ask
from checkrein.adapters.driver.screen import Screen
from checkrein.adapters.errors import CheckreinError, NoActiveTurn
from checkrein.adapters.interface import HarnessBinary, ModelEndpoint
from checkrein.adapters.link import Link
from checkrein.adapters.opening import open_session
from checkrein.adapters.outcome import EXIT_STATUS, OutcomeStatus
from checkrein.adapters.policy import Policy
from checkrein.adapters.session import Session
from checkrein.adapters.turn import Turn

#: How long an output that nobody reads may keep a command from ending that was told to stop, in seconds.
PRINTING_SECONDS = 1.0

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
        project_memory: tell the model what the workspace's file for agents says.
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
    project_memory: bool = False


async def drive(order: DriveOrder, *, out: TextIO, keyboard: Keyboard | None) -> int:
    """Run one turn and show it.

    The first SIGINT, SIGTERM or SIGHUP, and an output that nobody reads any more, interrupt the turn by the harness's
    own means; another signal ends the harness's process at once.

    Args:
        out: where to show it.
        keyboard: who decides over approvals; None denies them.

    Returns:
        The exit status: 0 completed, 1 failed, 130 interrupted.

    Raises:
        CheckreinError: the turn could not be started.
    """
    drive = _Drive(order, Screen(out), keyboard)
    async with anyio.create_task_group() as tasks:
        stop = _Stop(tasks, drive)
        await tasks.start(stop.listen)
        tasks.start_soon(stop.when_nobody_looks)
        # What goes wrong is raised outside the task group, which would wrap it in a group.
        try:
            await drive.run()
            if drive.status != EXIT_STATUS[OutcomeStatus.INTERRUPTED]:
                await drive.screen.printed()
        except Exception as error:
            drive.failure = error
        tasks.cancel_scope.cancel()
    with anyio.move_on_after(PRINTING_SECONDS):
        await drive.screen.printed()
    if drive.failure is not None:
        raise drive.failure
    return drive.status


class _Drive:
    """One turn on its way, and what has come of it."""

    def __init__(self, order: DriveOrder, screen: Screen, keyboard: Keyboard | None) -> None:
        self.session: Session | None = None
        self.status = EXIT_STATUS[OutcomeStatus.INTERRUPTED]
        self.failure: Exception | None = None
        self.screen = screen
        self._order = order
        self._keyboard = keyboard
        self._recorded: set[str] = set()

    async def run(self) -> None:
        order = self._order
        try:
            async with open_session(
                order.harness,
                cwd=order.cwd,
                policy=order.policy,
                resume=order.resume,
                binary=order.binary,
                home=order.home,
                endpoint=order.endpoint,
                project_memory=order.project_memory,
                record_dir=order.state,
            ) as session:
                self.session = session
                self.screen.header(session.harness, session.id, order.policy.value)
                turn = await session.start(order.prompt)
                await self._follow(turn)
                outcome = await turn.outcome()
                self.status = outcome.exit_status
                self.screen.outcome(outcome)
                self._show_record(turn)
        finally:
            # Of a turn that was cut off while it was being started, too.
            if self.session is not None:
                for turn in self.session.turns:
                    self._show_record(turn)

    async def _follow(self, turn: Turn) -> None:
        async with anyio.create_task_group() as tasks:

            async def decide() -> None:
                async for approval in turn.approvals():
                    await ask(approval, self._keyboard, self.screen)

            tasks.start_soon(decide)
            async for event in turn.events():
                self.screen.event(event)
                await self.screen.room()

    def _show_record(self, turn: Turn) -> None:
        if turn.id in self._recorded or self.session is None:
            return
        self._recorded.add(turn.id)
        try:
            path = self.session.record_file(turn)
        except CheckreinError as error:
            self.screen.notice(f"! {error}")  # the outcome of the turn stays what it is
        else:
            self.screen.notice(f"record: {path}")


class _Stop:
    """What the stop signals do: leave, interrupt, or kill."""

    def __init__(self, tasks: TaskGroup, drive: _Drive) -> None:
        self._tasks = tasks
        self._drive = drive
        self._asked = False

    async def listen(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(*STOP_SIGNALS) as signals:
            task_status.started()
            async for number in signals:
                name = signal.Signals(number).name
                if self._asked:
                    self._kill(name)
                else:
                    self._stop(name)

    async def when_nobody_looks(self) -> None:
        await self._drive.screen.gone.wait()
        if not self._asked:
            self._stop("the output is closed")

    def _stop(self, why: str) -> None:
        self._asked = True
        self._drive.screen.hurry()
        session, screen = self._drive.session, self._drive.screen
        if session is None or session.turn is None:
            # Nothing runs that could be interrupted. The session closes itself on the way out.
            screen.notice(f"{why}: leaving (again to kill the harness)")
            self._tasks.cancel_scope.cancel()
        else:
            screen.notice(f"{why}: interrupting (again to kill the harness)")
            self._tasks.start_soon(self._interrupt, session.turn)

    async def _interrupt(self, turn: Turn) -> None:
        with suppress(NoActiveTurn):  # it has ended in this moment
            await turn.interrupt()

    def _kill(self, why: str) -> None:
        session = self._drive.session
        if session is not None and session.link is not None:
            self._drive.screen.notice(f"{why}: killing the harness")
            self._tasks.start_soon(self._kill_link, session.link)

    async def _kill_link(self, link: Link) -> None:
        with anyio.CancelScope(shield=True):
            await link.process.signal(signal.SIGKILL)
