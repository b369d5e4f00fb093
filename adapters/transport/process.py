"""One harness process: started, spoken with in lines, watched, and ended with everything that it started."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import anyio

from checkrein.adapters.transport.background import BackgroundTask
from checkrein.adapters.transport.environment import clean_environment
from checkrein.adapters.transport.errors import ProcessStartError, ProcessSurvived
from checkrein.adapters.transport.executable import (
    check_texts,
    find_executable,
    start_error,
    working_directory,
)
from checkrein.adapters.transport.link import Failed, GuardLink, LaunchOrder, SignalTarget, Started
from checkrein.adapters.transport.pipes import ReadEnd, WriteEnd, widen
from checkrein.adapters.transport.processes import (
    MARKER_VARIABLE,
    ExitStatus,
    ProcessInfo,
    kill_marked,
    processes_of,
)
from checkrein.adapters.transport.streams import STDERR_KEPT_BYTES, ErrorTail, InputLines, OutputLines
from checkrein.adapters.transport.tap import Tap

_log = logging.getLogger("checkrein.transport")

#: how long a process may take to end after its standard input was closed, and after SIGTERM
GRACE_SECONDS = 1.0
#: how long the kernel may take to remove a process that was sent SIGKILL
KILL_SECONDS = 6.0
#: what the standard error may take to be read to its end after the process has ended
DRAIN_SECONDS = 1.0


class Rung(StrEnum):
    """Which step of the kill ladder ended the process."""

    #: it had ended before
    EXITED = "exited"
    #: its standard input was closed
    STDIN = "stdin"
    TERM = "term"
    KILL = "kill"


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderResult:
    """How a process was ended.

    Args:
        rung: the step that did it.
        reason: why it was ended, as given by the caller.
        seconds: how long it took.
        status: how it ended.
        swept: the processes that it left behind, which were killed.
    """

    rung: Rung
    reason: str
    seconds: float
    status: ExitStatus
    swept: tuple[ProcessInfo, ...]


class HarnessProcess:
    """A harness CLI as a child whose whole tree ends with the driver. Made by `HarnessProcess.start`."""

    def __init__(
        self,
        *,
        link: GuardLink,
        marker: str,
        streams: tuple[WriteEnd, ReadEnd, ReadEnd],
        tap: Tap | None,
        stdin_grace_seconds: float,
        term_grace_seconds: float,
    ) -> None:
        self.marker = marker
        self.pid = 0
        self.create_time = 0.0
        self._link = link
        self._pipes = streams
        self._input = InputLines(streams[0], tap)
        self._output = OutputLines(streams[1], tap)
        self._errors = ErrorTail(streams[2], tap, log_failure=_log.error)
        self._draining = BackgroundTask(self._errors.drain, name="checkrein standard error")
        self._stdin_grace = stdin_grace_seconds
        self._term_grace = term_grace_seconds
        self._status: ExitStatus | None = None
        self._exited = anyio.Event()
        self._laddering = anyio.Lock()
        self._closing = anyio.Lock()
        self._closed = False

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: str | os.PathLike[str],
        env: Mapping[str, str] | None = None,
        tap: Tap | None = None,
        stdin_grace_seconds: float = GRACE_SECONDS,
        term_grace_seconds: float = GRACE_SECONDS,
    ) -> HarnessProcess:
        """Start a program in its own process session, below a guard.

        Args:
            argv: the program and its arguments.
            cwd: its working directory.
            env: its whole environment; None for `clean_environment(os.environ)`. A marker is added to it.
            tap: called with every line sent and received.
            stdin_grace_seconds: how long the kill ladder waits after closing the standard input.
            term_grace_seconds: how long it waits after SIGTERM.

        Raises:
            ExecutableNotFound, NotExecutable, WorkingDirectoryMissing, ProcessStartError: it could not be started;
                nothing is left of it.
        """
        marker = uuid.uuid4().hex
        directory = working_directory(cwd)
        environment = {
            **(clean_environment(os.environ) if env is None else env),
            MARKER_VARIABLE: marker,
        }
        check_texts(argv, environment)
        executable = find_executable(argv[0], cwd=directory, environment=environment)
        stdin_read, stdin_write = os.pipe()
        stdout_read, stdout_write = os.pipe()
        stderr_read, stderr_write = os.pipe()
        widen(stdout_read)
        order = LaunchOrder(
            executable=executable,
            argv=argv,
            cwd=directory,
            environment=environment,
            marker=marker,
            stdin=stdin_read,
            stdout=stdout_write,
            stderr=stderr_write,
        )
        try:
            link = GuardLink.spawn(order)
        except BaseException:
            for fd in (stdin_write, stdout_read, stderr_read):
                os.close(fd)
            raise
        finally:
            for fd in (stdin_read, stdout_write, stderr_write):
                os.close(fd)
        process = cls(
            link=link,
            marker=marker,
            streams=(WriteEnd(stdin_write), ReadEnd(stdout_read), ReadEnd(stderr_read)),
            tap=tap,
            stdin_grace_seconds=stdin_grace_seconds,
            term_grace_seconds=term_grace_seconds,
        )
        try:
            await process._launch(order)
        except BaseException:
            await process._abandon()
            raise
        return process

    async def _launch(self, order: LaunchOrder) -> None:
        match await self._link.launch(order):
            case Started(pid=pid, create_time=create_time):
                self.pid = pid
                self.create_time = create_time
                self._link.listen(self._on_exit)
            case Failed(stage=stage, errno=number):
                raise start_error(stage=stage, number=number, executable=order.executable, cwd=order.cwd)
            case None:
                with anyio.move_on_after(DRAIN_SECONDS):
                    await self._errors.drained.wait()
                raise ProcessStartError(
                    "the guard process ended before it could start the harness",
                    where=self.stderr_tail(400) or sys.executable,
                    advice="check that the Python interpreter runs with -I -S and has ctypes",
                )

    async def _abandon(self) -> None:
        """Undo a start that did not come to its end."""
        with anyio.CancelScope(shield=True):
            await self._link.end()
            self._on_ended(ExitStatus(unseen=True))
            await self._release()
        self._closed = True

    async def _on_exit(self, code: int | None) -> None:
        if code is None:
            status = ExitStatus(unseen=True)
            if not self._closed:
                # The guard was killed: the harness has its parent-death signal, its tools have nobody left but us.
                kill = partial(kill_marked, self.marker, keep=frozenset(), timeout_seconds=KILL_SECONDS)
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(kill)
        else:
            status = ExitStatus(code=code) if code >= 0 else ExitStatus(signal=-code)
        self._output.writer_gone()
        self._errors.writer_gone()
        with anyio.move_on_after(DRAIN_SECONDS):
            await self._errors.drained.wait()
        self._on_ended(status)

    def _on_ended(self, status: ExitStatus) -> None:
        if self._status is None:
            self._status = status
            self._exited.set()

    @property
    def exit_status(self) -> ExitStatus | None:
        """How the process ended; None while it runs."""
        return self._status

    @property
    def output_torn(self) -> bool:
        """Whether the output ended inside a line; that unfinished line was the last one delivered."""
        return self._output.torn

    @property
    def stderr_total_bytes(self) -> int:
        """How much the process has written on its standard error in all."""
        return self._errors.total_bytes

    async def batches(self) -> AsyncIterator[list[bytes]]:
        """Deliver the output: per read of the system the lines that it completed, without their ends.

        Ends when the process has ended and all of its output was delivered. An unterminated last line is delivered
        too, and `output_torn` is then true. While the consumer works on a batch nothing is read, so that a slow
        consumer makes the process wait. One consumer at a time; another may go on where it stopped.
        """
        while (batch := await self._output.next_batch()) is not None:
            yield batch

    async def send(self, line: bytes, *, deadline_seconds: float | None = None) -> None:
        """Write one line, whole; several senders take turns.

        Args:
            line: the data, with or without its line feed.
            deadline_seconds: how long the process may take to read it; None to wait until it does.

        Raises:
            BrokenTransport: the process has ended or closed its standard input, or this line or an earlier one was
                cut (by a deadline or a cancellation in the middle): nothing more can be sent.
            SendTimedOut: the deadline passed before a byte was written; the transport is intact.
            ValueError: there is a line feed inside the data.
        """
        await self._input.send(line, deadline_seconds)

    async def close_stdin(self) -> None:
        """Close the standard input of the process; a send that waits raises `BrokenTransport`."""
        self._input.close()

    def stderr_tail(self, max_bytes: int = STDERR_KEPT_BYTES) -> str:
        """Return the end of what the process wrote on its standard error (64 KiB are kept)."""
        return self._errors.tail(max_bytes)

    async def wait_exit(self, timeout_seconds: float | None = None) -> ExitStatus:
        """Wait until the process has ended and its standard error is read.

        A process that writes more than a pipe holds ends only if somebody takes its `batches`.

        Raises:
            TimeoutError: it has not ended within `timeout_seconds`.
        """
        with anyio.fail_after(timeout_seconds):
            await self._exited.wait()
        assert self._status is not None
        return self._status

    async def children(self) -> list[ProcessInfo]:
        """Return every live process that the harness started, whatever session it moved to."""
        found = await self._link.processes()
        if found is None:
            marked = await anyio.to_thread.run_sync(processes_of, self.marker)
            found = tuple(process for process in marked if process.pid not in (self.pid, self._link.pid))
        return list(found)

    async def signal(self, number: int, *, to: SignalTarget = SignalTarget.CLI) -> None:
        """Send a signal to the harness, its process group, or everything below the guard; the dead get none."""
        await self._link.signal(number, to)

    async def sweep(self, keep: Set[int] = frozenset()) -> list[ProcessInfo]:
        """SIGKILL what the harness started, wait until it is gone, and return it. The harness itself is spared.

        Args:
            keep: ids of processes to spare, with everything below them.

        Raises:
            ProcessSurvived: one of them is alive after SIGKILL.
        """
        reply = await self._link.sweep(keep, harness=False)
        if reply is None:
            return await self._sweep_by_marker(frozenset({*keep, self.pid, self._link.pid}))
        if reply.survivors:
            raise _survived(*(f"{process.pid} ({process.name})" for process in reply.survivors))
        return list(reply.processes)

    async def _sweep_by_marker(self, keep: frozenset[int]) -> list[ProcessInfo]:
        kill = partial(kill_marked, self.marker, keep=keep, timeout_seconds=KILL_SECONDS)
        return await anyio.to_thread.run_sync(kill, abandon_on_cancel=True)

    async def kill_ladder(
        self,
        reason: str,
        *,
        stdin_grace_seconds: float | None = None,
        term_grace_seconds: float | None = None,
    ) -> LadderResult:
        """End the process: close its standard input, then SIGTERM, then SIGKILL to all; then kill what it left.

        SIGTERM goes to the harness alone, since its own way down deals with its tools; a stopped (SIGSTOP) process
        ends at the last step. Output that nobody reads meanwhile is kept for `batches`, up to 16 MiB.

        Args:
            reason: why, for the record.
            stdin_grace_seconds: how long to wait after closing the standard input; None for the value of `start`.
            term_grace_seconds: how long to wait after SIGTERM; None for the value of `start`.

        Raises:
            ProcessSurvived: it, or something that it started, is alive after SIGKILL.
        """
        begun = time.monotonic()
        stdin_grace = self._stdin_grace if stdin_grace_seconds is None else stdin_grace_seconds
        term_grace = self._term_grace if term_grace_seconds is None else term_grace_seconds
        async with self._laddering:
            reader = BackgroundTask(self._output.drain, name="checkrein last output")
            try:
                rung = await self._climb(stdin_grace, term_grace)
            finally:
                with anyio.CancelScope(shield=True):
                    await reader.stop()
        swept = await self.sweep()
        assert self._status is not None
        seconds = time.monotonic() - begun
        return LadderResult(
            rung=rung, reason=reason, seconds=seconds, status=self._status, swept=tuple(swept)
        )

    async def _climb(self, stdin_grace: float, term_grace: float) -> Rung:
        if self._status is not None:
            return Rung.EXITED
        # Closed before, its end was no sign to stop.
        if not self._input.closed:
            self._input.close()
            if await self._ends_within(stdin_grace):
                return Rung.STDIN
        await self._link.signal(signal.SIGTERM, SignalTarget.CLI)
        if await self._ends_within(term_grace):
            return Rung.TERM
        await self._link.sweep(frozenset(), harness=True)
        if await self._ends_within(KILL_SECONDS):
            return Rung.KILL
        raise _survived(f"{self.pid} (the harness)")

    async def _ends_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._exited.wait()
        return self._status is not None

    async def aclose(self) -> None:
        """End the process with everything that it started, and give back every descriptor.

        Cannot be cancelled, and bounded: the two graces and 20 s at the utmost. A second call waits for the first
        and does nothing.

        Raises:
            ProcessSurvived: something is alive after SIGKILL; everything else is done nevertheless.
        """
        with anyio.CancelScope(shield=True):
            async with self._closing:
                if self._closed:
                    return
                try:
                    with anyio.move_on_after(self._stdin_grace + self._term_grace + KILL_SECONDS):
                        await self.kill_ladder("close")
                finally:
                    self._closed = True
                    await self._link.end()
                    if sys.platform != "linux":
                        await self._sweep_by_marker(frozenset())
                    await self._release()

    async def _release(self) -> None:
        await self._draining.stop()
        for pipe in self._pipes:
            pipe.close()


def _survived(*processes: str) -> ProcessSurvived:
    return ProcessSurvived(
        "a process is alive after SIGKILL",
        where=", ".join(processes),
        advice="it hangs in the kernel or belongs to another user; end it by hand",
    )
