"""SIGKILL for the harness at random moments of a turn: a definite outcome, and the conversation goes on when resumed.

    python -m tests.endurance.kill_the_harness --kills 200 --results /tmp/harness.jsonl

Offline but for loopback. The turn calls three tools and then falls silent, so that it runs until it is killed.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio

from checkrein.adapters import Outcome, Session, Turn, open_session
from checkrein.adapters.errors import CheckreinError
from checkrein.adapters.interface import ModelEndpoint
from checkrein.conformance.arena import DUMMY_KEY
from checkrein.conformance.arena_processes import kill_with_home, processes_with_home
from checkrein.conformance.run_folder import RunFolder
from checkrein.conformance.target import Target
from checkrein.scripted_models import ModelServer, ModelSession, Script, pause, say, shell
from tests.endurance.campaign import Campaign, Kill

#: How soon the turn must have an outcome, and how long another turn may take, in seconds.
UNTIL_OUTCOME, PATIENCE = 10.0, 60.0

FIRST, BACK = "The first answer.", "Back again."


def kill_the_harness(number: int, target: Target, moment: float) -> Kill:
    """One conversation whose second turn is killed at a moment after its start."""
    with tempfile.TemporaryDirectory(prefix="ckr-kill-", ignore_cleanup_errors=True) as place:
        folder = RunFolder(root=Path(place))
        folder.prepare()
        with ModelServer() as server:
            before = server.open_session(_until_killed(), target.profile)
            again = Script(side="ok")
            again.main([say(BACK)])
            after = server.open_session(again, target.profile)
            try:
                return anyio.run(_Kill(number, target, moment, folder, before, after).make)
            finally:
                before.close(verify=False)
                after.close(verify=False)
                kill_with_home(folder.home)


def _until_killed() -> Script:
    """A first answer, then a turn that does one thing after the other and never ends."""
    script = Script(side="ok")
    script.main([say(FIRST)])
    script.main([pause(0.2), say("Looking."), pause(0.2), shell("sleep 0.3; echo one", id="call_one")])
    script.main([say("Again."), shell("sleep 0.1; echo two", id="call_two")])
    script.main([pause(0.1), shell("sleep 0.5; echo three", id="call_three"), say("and")])
    script.main([say("Nearly."), pause(600)])
    return script


class _Kill:
    """One kill on its way."""

    def __init__(
        self,
        number: int,
        target: Target,
        moment: float,
        folder: RunFolder,
        before: ModelSession,
        after: ModelSession,
    ) -> None:
        self._number = number
        self._target = target
        self._moment = moment
        self._folder = folder
        self._before = before
        self._after = after
        self._misses: list[str] = []

    async def make(self) -> Kill:
        session_id, stage, seconds = await self._kill()
        left = processes_with_home(self._folder.home)
        self._misses += [f"alive after the close: {process.pid} {process.name}" for process in left]
        if session_id:
            await self._resume(session_id)
        return Kill(
            number=self._number,
            harness=self._target.label,
            moment=round(self._moment, 3),
            stage=stage,
            seconds=round(seconds, 3),
            misses=tuple(self._misses),
        )

    async def _kill(self) -> tuple[str, str, float]:
        """The conversation's id, how far the turn was, and how long the outcome took."""
        async with self._open(self._before) as session:
            first = await self._outcome(await session.start("the first prompt"), PATIENCE)
            if first is None or first.text != FIRST:
                self._misses.append(f"the first turn: {first}")
                return "", "first turn", 0.0
            killed_at: list[float] = []
            stages: list[str] = []
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._strike, session, killed_at, stages)
                try:
                    await session.start("the second prompt")
                except CheckreinError as error:
                    stages.append(f"start of the turn ({type(error).__name__})")
            turn = session.turns[-1]
            ended = await self._outcome(turn, UNTIL_OUTCOME) if len(session.turns) > 1 else None
            seconds = time.monotonic() - killed_at[0]
            if ended is None:
                self._misses.append(f"no outcome {UNTIL_OUTCOME:g} s after the kill")
            elif ended.status.value != "failed" or "signal 9" not in ended.reason:
                self._misses.append(f"the outcome is {ended.status.value}: {ended.reason[:200]}")
            return session.id, stages[-1], seconds

    async def _strike(self, session: Session, killed_at: list[float], stages: list[str]) -> None:
        with anyio.move_on_after(self._moment):
            await anyio.Event().wait()
        assert session.link is not None
        turn = session.turns[-1]
        running = [name for name in turn.tools if name not in turn.results]
        requests = len(self._before.main_requests) - 1
        stages.append(f"{running[0]} running" if running else f"after {requests} request(s)")
        await session.link.process.signal(signal.SIGKILL)
        killed_at.append(time.monotonic())

    async def _resume(self, session_id: str) -> None:
        try:
            async with self._open(self._after, resume=session_id) as session:
                outcome = await self._outcome(await session.start("go on"), PATIENCE)
        except CheckreinError as error:
            self._misses.append(f"it cannot be resumed: {type(error).__name__}: {error}")
            return
        requests = self._after.main_requests
        kept = requests[-1].view.count(FIRST) if requests else 0
        if outcome is None or (outcome.status.value, outcome.text) != ("completed", BACK):
            self._misses.append(f"resumed, the next turn is {outcome}")
        if kept != 1:
            self._misses.append(f"resumed, the request holds the first answer {kept} times")

    async def _outcome(self, turn: Turn, seconds: float) -> Outcome | None:
        with anyio.move_on_after(seconds):
            return await turn.outcome()
        return None

    def _open(
        self, model: ModelSession, *, resume: str | None = None
    ) -> AbstractAsyncContextManager[Session]:
        return open_session(
            self._target.adapter,
            cwd=self._folder.workspace,
            policy="auto",
            resume=resume,
            binary=self._target.binary,
            home=self._folder.home,
            endpoint=ModelEndpoint(base_url=model.base_url, api_key=DUMMY_KEY),
            environment={name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
        )


if __name__ == "__main__":
    sys.exit(Campaign(__doc__ or "", window=4.0).run(kill_the_harness))
