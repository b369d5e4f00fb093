"""One running process of a harness with the connection that speaks to it: starting, reading, losing."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from checkrein.adapters.errors import CheckreinError, HarnessDied, PolicyNotEffective
from checkrein.adapters.interface import Connection, HarnessAdapter, Opened, SessionSpec
from checkrein.adapters.native import NativeEvent
from checkrein.adapters.transport import ExitStatus, HarnessProcess, Tap

#: How long the handshake and the opening of a conversation may take, in seconds. Claude Code 2.1.332 takes 0.6 to
#: 0.9 s on a quiet machine, Codex 0.171.0 less.
OPEN_SECONDS = 60.0

#: How long a process may live after the end of its output, in seconds.
EXIT_SECONDS = 5.0

#: How long a process that has said all may take to end by itself, in seconds: `claude -p` (2.1.332) takes 0.1 to 0.5 s,
#: or stays for the commands that it runs in the background.
LINGER_SECONDS = 1.0

#: How long what a dead process left behind may take to end before the turn is told, in seconds.
SWEEP_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSink:
    """Where a link delivers.

    Args:
        event: takes each native event, in order.
        room: waits while the consumer of the events lags.
        gone: called once, when the process has ended and everything it wrote was delivered.
    """

    event: Callable[[NativeEvent], None]
    room: Callable[[], anyio.Event | None]
    gone: Callable[[HarnessDied], None]


class Link:
    """A process and its connection.

    Attributes:
        connection: to send commands with.
        process: to end it with, and to look at its children.
        lost: None while the process lives; then why not.
        condemned: why the process is being ended although no turn asked for it; "" otherwise.
        heard_at: when it said something last, by `time.monotonic`.
    """

    def __init__(
        self, connection: Connection, process: HarnessProcess, sink: LinkSink, tasks: TaskGroup
    ) -> None:
        self.connection = connection
        self.process = process
        self.lost: HarnessDied | None = None
        self.condemned = ""
        self.heard_at = time.monotonic()
        self._sink = sink
        self._tasks = tasks
        self._read_out = anyio.Event()
        self._closing = False
        self._ending = False

    @classmethod
    async def start(
        cls, adapter: HarnessAdapter, spec: SessionSpec, *, sink: LinkSink, tasks: TaskGroup, tap: Tap | None
    ) -> tuple[Link, Opened]:
        """Start the process, open its conversation, and make sure that it runs under the policy that was asked for.

        Raises:
            PolicyNotEffective: the harness says that it runs under another one.
            CheckreinError: whatever the transport or the connection raises; the process is gone then.
        """
        launch = adapter.launch(spec)
        process = await HarnessProcess.start(launch.argv, cwd=launch.cwd, env=launch.environment, tap=tap)
        try:
            link = cls(adapter.connect(spec, process), process, sink, tasks)
        except BaseException:
            await process.aclose()
            raise
        tasks.start_soon(link._read)
        try:
            opened = await link._open()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await link.aclose()
            raise
        return link, opened

    async def _open(self) -> Opened:
        try:
            with anyio.fail_after(OPEN_SECONDS):
                opened = await self.connection.open()
        except TimeoutError:
            raise HarnessDied(
                f"the harness did not open a conversation within {OPEN_SECONDS:g} s",
                status="still running",
                stderr=self.process.stderr_tail(),
            ) from None
        asked, effective = dict(opened.policy_asked), dict(opened.policy_effective)
        if asked != effective:
            different = {key for key in asked | effective if asked.get(key) != effective.get(key)}
            raise PolicyNotEffective(
                "the harness runs under another policy than the one asked for",
                where=", ".join(
                    f"{key}: asked {asked.get(key)!r}, effective {effective.get(key)!r}"
                    for key in sorted(different)
                ),
                advice="nothing was sent to the model; look for settings that override the launch options",
            )
        return opened

    async def _read(self) -> None:
        # Shielded: a driver that is cancelled still interrupts the turn by the harness's own means, and for that
        # somebody must read. It ends with the process, which `aclose` ends in any case.
        with anyio.CancelScope(shield=True):
            try:
                async for lines in self.process.batches():
                    await self._take(lines)
            except Exception as fault:
                # A fault of the adapter, of an outside package perhaps: nobody can follow this process any more.
                self.condemned = f"the adapter could not read its output: {fault!r}"
                await self._kill()
            try:
                status = await self._exit_status()
                await self._sweep()
                self._tell_end(status)
                self._lose(status)
            finally:
                self._read_out.set()

    async def _exit_status(self) -> ExitStatus | None:
        """How the process ended; one that closed its output and lives on is ended. None when that failed."""
        with anyio.move_on_after(EXIT_SECONDS):
            return await self.process.wait_exit()
        self.condemned = self.condemned or "it closed its output and did not end"
        await self._kill()
        return self.process.exit_status

    async def _sweep(self) -> None:
        """End what a harness that died left behind: a tool that Claude Code 2.1.332 had started lives on."""
        if self._closing:
            return  # the close does it
        with anyio.move_on_after(SWEEP_SECONDS), suppress(CheckreinError):  # the close tells what survives
            await self.process.sweep()

    async def _kill(self) -> None:
        try:
            await self.process.kill_ladder(self.condemned)
        except CheckreinError as survived:
            self.condemned = f"{self.condemned}; {survived}"

    async def _take(self, lines: list[bytes]) -> None:
        self.heard_at = time.monotonic()
        for event in self.connection.decode(lines):
            self._sink.event(event)
        replies = self.connection.take_replies()
        if replies:
            # In a task of its own: a harness that reads nothing while it writes must not stop our reading.
            self._tasks.start_soon(self._send_replies, replies)
        if self.connection.said_all and not self._ending:
            self._ending = True
            self._tasks.start_soon(self._end_the_last)
        while (room := self._sink.room()) is not None:
            await room.wait()

    async def _send_replies(self, replies: list[bytes]) -> None:
        for reply in replies:
            try:
                await self.process.send(reply)
            except CheckreinError:
                return  # the process is gone; the reader reports that

    async def _end_the_last(self) -> None:
        with anyio.CancelScope(shield=True):
            try:
                await self.process.wait_exit(LINGER_SECONDS)
            except TimeoutError:
                with suppress(CheckreinError):  # the reader and the close tell what survives
                    await self.process.kill_ladder("it had said all")

    def _tell_end(self, status: ExitStatus | None) -> None:
        try:
            for event in self.connection.ended(status, self.process.stderr_tail()):
                self._sink.event(event)
        except Exception as fault:
            # Of an outside package perhaps: the turn then fails with its process.
            self.condemned = self.condemned or f"the adapter could not tell its end: {fault!r}"

    def _lose(self, status: ExitStatus | None) -> None:
        words = "still running" if status is None else str(status)
        what = (
            f"the harness's process was ended: {self.condemned}"
            if self.condemned
            else "the harness's process ended"
        )
        self.lost = HarnessDied(what, status=words, stderr=self.process.stderr_tail())
        try:
            self.connection.fail_calls(self.lost)
        finally:
            self._sink.gone(self.lost)

    @property
    def usable(self) -> bool:
        """Whether another turn may run on it."""
        return self.lost is None and not self.condemned and self.process.exit_status is None

    def condemn(self, why: str) -> None:
        """End the process, in a task of its own; the turn that runs fails for that reason."""
        if not self.condemned and self.lost is None:
            self.condemned = why
            self._tasks.start_soon(self._end_condemned)

    async def _end_condemned(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._kill()

    async def wait_lost(self) -> None:
        """Wait until the process has ended and everything that it wrote was delivered."""
        await self._read_out.wait()

    async def aclose(self) -> None:
        """End the process and everything it started; returns when nothing of it is left."""
        self._closing = True
        try:
            await self.process.aclose()
        finally:
            with anyio.CancelScope(shield=True):
                await self._read_out.wait()
