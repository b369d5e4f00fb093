"""Held tools: a tool call that is a waiting process, so that "while the tool runs" is a state and not a sleep."""

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from checkrein.scripted_models import held_process
from checkrein.scripted_models.errors import HeldToolEnded, ScriptError
from checkrein.scripted_models.stage import Stage
from checkrein.scripted_models.timeline import Source


class HeldTool:
    """A named process that a scripted shell call starts and that waits until `finish` releases it.

    `command` is one line for the harness's shell. `ignore_signals` makes the process trap INT and TERM.
    `never_started` says that it must not run at all (a denied call). If the process is started again, the
    state is that of the newest run.

    The process links up over a Unix socket, which Codex 0.171.0's sandboxes `workspace-write` and `read-only`
    forbid: there it says so and exits. It runs under `danger-full-access`, and under Claude Code.
    """

    def __init__(
        self,
        name: str,
        stage: Stage,
        socket_path: str,
        *,
        ignore_signals: bool = False,
        never_started: bool = False,
    ) -> None:
        self.name = name
        self.never_started = never_started
        self.ignore_signals = ignore_signals
        self._stage = stage
        words = [sys.executable, "-I", "-S", str(Path(held_process.__file__).resolve()), socket_path, name]
        self.command = shlex.join([*words, "ignore-signals"] if ignore_signals else words)
        self._starts = 0
        self._pid: int | None = None
        self._create_time: float | None = None
        self._linked_at = 0.0
        self._running = False
        self._order: tuple[str, int] | None = None
        self._release: Callable[[str, int], None] | None = None

    def __repr__(self) -> str:
        return f"HeldTool({self.name!r})"

    @property
    def starts(self) -> int:
        """How many times the process has been started."""
        return self._starts

    @property
    def is_running(self) -> bool:
        """Whether the newest run's process holds its link to the kit, so is alive."""
        return self._running

    @property
    def is_finished(self) -> bool:
        """Whether `finish` has been called."""
        return self._order is not None

    @property
    def pid(self) -> int:
        """The newest run's process id, as this system counts; raises ScriptError before the first start."""
        if self._pid is None:
            raise ScriptError(f"held tool {self.name!r} has not started; await started() first")
        return self._pid

    @property
    def create_time(self) -> float:
        """When that process was created (psutil's `create_time`): tells it from a later one with the same pid."""
        if self._create_time is None:
            raise ScriptError(f"held tool {self.name!r} has not started; await started() first")
        return self._create_time

    async def started(self, *, timeout: float) -> None:
        """Wait until the process really runs; raises DeadlineExceeded after `timeout` seconds."""
        await self._stage.wait(lambda: self._starts > 0 or None, f"held tool {self.name!r} to start", timeout)

    async def ended(self, *, timeout: float) -> None:
        """Wait until the started process is gone, however it ended; raises DeadlineExceeded."""
        await self._stage.wait(
            lambda: (self._starts > 0 and not self._running) or None,
            f"held tool {self.name!r} to end",
            timeout,
        )

    async def running_for(self, seconds: float, *, timeout: float) -> None:
        """Wait until the running process is older than `seconds`, counted from when it linked up.

        Raises HeldToolEnded if it ends before that, DeadlineExceeded after `timeout` seconds. Codex 0.171.0
        lets an interrupted command that is younger than about 120 ms die by itself, so a scenario that
        proves anything about interrupting one waits for 0.5 s of age first.
        """
        deadline = time.monotonic() + timeout
        await self.started(timeout=timeout)
        # Not by create_time: on Linux that is only right to about a second.
        while (left := self._linked_at + seconds - time.monotonic()) > 0:
            gone = await self._stage.watch.until(
                lambda: not self._running or None, min(left, max(deadline - time.monotonic(), 0))
            )
            if gone:
                raise HeldToolEnded(
                    name=self.name, pid=self.pid, timeline=self._stage.timeline.render(last=80)
                )
            if time.monotonic() >= deadline:
                await self._stage.wait(
                    lambda: None, f"held tool {self.name!r} to be {seconds:g} s old", timeout=0
                )
        if not self._running:
            raise HeldToolEnded(name=self.name, pid=self.pid, timeline=self._stage.timeline.render(last=80))

    def finish(self, output: str = "", *, exit_status: int = 0) -> None:
        """Let the process print `output` (a newline is added if it lacks one) and exit with `exit_status`.

        Called before the start, it applies as soon as the process starts. Callable from any thread.
        """
        text = output if not output or output.endswith("\n") else f"{output}\n"
        with self._stage.watch:
            self._order = (text, exit_status)
            release = self._release
            self._stage.record("tool_finish", source=Source.PROCESS, tool=self.name, exit_status=exit_status)
            self._stage.watch.changed()
        if release is not None:
            release(text, exit_status)

    def process_started(self, pid: int, release: Callable[[str, int], None]) -> None:
        """For the server: the process `pid` has linked up and can be released with `release`."""
        try:
            created = psutil.Process(pid).create_time()
        except psutil.NoSuchProcess:
            created = time.time()
        with self._stage.watch:
            self._starts += 1
            self._pid, self._create_time, self._running, self._release = pid, created, True, release
            self._linked_at = time.monotonic()
            order = self._order
            self._stage.record("tool_started", source=Source.PROCESS, tool=self.name, pid=pid)
            self._stage.watch.changed()
        if order is not None:
            release(*order)

    def process_ended(self, pid: int) -> None:
        """For the server: the link of process `pid` is closed, so it is gone."""
        with self._stage.watch:
            self._stage.record("tool_ended", source=Source.PROCESS, tool=self.name, pid=pid)
            if pid == self._pid:
                self._running = False
                self._release = None
            self._stage.watch.changed()
