"""The driver's side of the guard: start it, give it orders, hear its reports, see it end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

import anyio
import msgspec

from checkrein.adapters.transport.background import BackgroundTask
from checkrein.adapters.transport.errors import ProcessStartError
from checkrein.adapters.transport.gone import HAS_HANDLES
from checkrein.adapters.transport.pipes import ReadEnd, WriteEnd
from checkrein.adapters.transport.processes import MARKER_VARIABLE, ProcessInfo

#: Imported rather than run as a script, so that it is compiled once and not at every start (10 ms); the folder comes
#: last on the path, so that nothing in it can hide a standard module.
RUN_GUARD = "import sys; sys.path.append(sys.argv.pop(1)); from guard.watch import main; main()"
GUARD_FOLDER = Path(__file__).parent
#: the guard ends what is below it within 0.5 s + 5 s; past this it is killed itself
GUARD_END_SECONDS = 7.0
#: a sweep may take 5 s; a guard that answers nothing for longer was stopped by somebody, and is killed
COMMAND_SECONDS = 7.0


class SignalTarget(StrEnum):
    """Who gets a signal: the harness alone, its process group, or every process below the guard."""

    CLI = "cli"
    GROUP = "group"
    ALL = "all"


class Started(msgspec.Struct, frozen=True, tag_field="event", tag="started"):
    """The harness runs."""

    pid: int
    create_time: float


class Failed(msgspec.Struct, frozen=True, tag_field="event", tag="failed"):
    """The harness could not be started."""

    stage: Literal["chdir", "exec"]
    errno: int


class Exited(msgspec.Struct, frozen=True, tag_field="event", tag="exited"):
    """The harness ended; a negative code is a signal."""

    code: int


class Reply(msgspec.Struct, frozen=True, tag_field="event", tag="reply"):
    """The answer to a command."""

    id: int
    processes: tuple[ProcessInfo, ...]
    survivors: tuple[ProcessInfo, ...] = ()


class ListCommand(msgspec.Struct, frozen=True, tag_field="command", tag="list"):
    """Which processes are below the guard?"""

    id: int


class SweepCommand(msgspec.Struct, frozen=True, tag_field="command", tag="sweep"):
    """Kill what is below the guard, but for `keep` with all below them, and for the harness unless it is included."""

    id: int
    keep: tuple[int, ...]
    harness: bool


class SignalCommand(msgspec.Struct, frozen=True, tag_field="command", tag="signal"):
    """Send a signal."""

    id: int
    number: int
    to: SignalTarget


_encode = msgspec.json.Encoder().encode
_report = msgspec.json.Decoder(Started | Failed | Exited | Reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOrder:
    """What the guard is to start, and the ends of the pipes that the harness gets as its standard streams."""

    executable: str
    argv: Sequence[str]
    cwd: str
    environment: Mapping[str, str]
    marker: str
    stdin: int
    stdout: int
    stderr: int

    def encoded(self) -> bytes:
        """The order in the guard's format; see `guard.launch.read_order`."""
        fields = [os.fsencode(self.cwd), os.fsencode(self.executable), str(len(self.argv)).encode()]
        fields += [os.fsencode(argument) for argument in self.argv]
        fields += [os.fsencode(f"{name}={value}") for name, value in self.environment.items()]
        body = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
        return len(fields).to_bytes(4, "big") + body


class _Waiting:
    """A command whose reply is waited for."""

    __slots__ = ("answered", "reply")

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.reply: Reply | None = None


class GuardLink:
    """One running guard.

    Args:
        process: the guard.
        control: where commands go.
        status: where reports come from.
    """

    def __init__(self, process: subprocess.Popen[bytes], control: WriteEnd, status: ReadEnd) -> None:
        self._process = process
        self._control = control
        self._status = status
        self._unread = b""
        self._waiting: dict[int, _Waiting] = {}
        self._last_id = 0
        self._commanding = anyio.Lock(fast_acquire=True)
        self._reader: BackgroundTask | None = None
        #: the guard reports no more: it has ended, or was killed
        self.lost = False

    @property
    def pid(self) -> int:
        """The process id of the guard."""
        return self._process.pid

    @classmethod
    def spawn(cls, order: LaunchOrder) -> GuardLink:
        """Start the guard, without an order yet.

        It is done without a thread and without a wait, so that a cancellation cannot come in between.

        Raises:
            ProcessStartError: the Python interpreter cannot be started.
        """
        control_read, control_write = os.pipe()
        status_read, status_write = os.pipe()
        # The guard gets no secret: the harness's environment reaches it through the pipe alone.
        environment = {MARKER_VARIABLE: order.marker}
        if "LD_LIBRARY_PATH" in os.environ:
            environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        numbers = (control_read, status_write, os.getpid())
        argv = [sys.executable, "-I", "-S", "-c", RUN_GUARD, str(GUARD_FOLDER), *map(str, numbers)]
        try:
            process = subprocess.Popen(
                argv,
                stdin=order.stdin,
                stdout=order.stdout,
                stderr=order.stderr,
                cwd="/",
                env=environment,
                pass_fds=(control_read, status_write),
                start_new_session=True,
            )
        except OSError as error:
            os.close(control_write)
            os.close(status_read)
            raise ProcessStartError(
                f"the guard process could not be started: {error.strerror}",
                where=sys.executable or "sys.executable is empty",
                advice="check that the Python interpreter is there and that more processes may be started",
            ) from None
        finally:
            os.close(control_read)
            os.close(status_write)
        return cls(process, WriteEnd(control_write), ReadEnd(status_read))

    async def launch(self, order: LaunchOrder) -> Started | Failed | None:
        """Give the order and wait for the first report; None when the guard ended without one."""
        try:
            await self._write(order.encoded())
        except OSError:
            return None
        match await self._next_report():
            case Started() | Failed() as report:
                return report
            case _:
                return None

    def listen(self, on_exit: Callable[[int | None], Awaitable[None]]) -> None:
        """Read reports from now on; `on_exit` is told the code once, None when the guard was lost before."""

        async def read() -> None:
            exited = False
            while (report := await self._next_report()) is not None:
                match report:
                    case Reply():
                        if (waiting := self._waiting.pop(report.id, None)) is not None:
                            waiting.reply = report
                            waiting.answered.set()
                    case Exited():
                        exited = True
                        await on_exit(report.code)
                    case Started() | Failed():
                        continue
            self.lost = True
            for waiting in self._waiting.values():
                waiting.answered.set()
            if not exited:
                await on_exit(None)

        self._reader = BackgroundTask(read, name="checkrein guard reports")

    async def processes(self) -> tuple[ProcessInfo, ...] | None:
        """Every live process below the guard but the harness; None when the guard is lost."""
        reply = await self._command(lambda number: ListCommand(number))
        return None if reply is None else reply.processes

    async def sweep(self, keep: Set[int], *, harness: bool) -> Reply | None:
        """Kill what is below the guard; returns what was killed and what survived, None when the guard is lost."""
        return await self._command(lambda number: SweepCommand(number, tuple(keep), harness))

    async def signal(self, number: int, to: SignalTarget) -> bool:
        """Have a signal sent; False when the guard is lost."""
        return await self._command(lambda command: SignalCommand(command, number, to)) is not None

    async def end(self) -> None:
        """Let the guard end everything below it and itself, wait for that, and close the pipes. Bounded."""
        self._control.close()
        with anyio.move_on_after(GUARD_END_SECONDS):
            if sys.platform == "linux" and HAS_HANDLES:
                await self._wait_by_handle()
            else:
                await anyio.to_thread.run_sync(self._process.wait, abandon_on_cancel=True)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._reader is not None:
            await self._reader.stop()
        self.lost = True
        self._status.close()

    async def _wait_by_handle(self) -> None:
        if sys.platform != "linux" or self._process.poll() is not None:
            return
        try:
            handle = os.pidfd_open(self._process.pid)
        except ProcessLookupError:
            return  # reaped by somebody else in this program
        try:
            await anyio.wait_readable(handle)
        finally:
            os.close(handle)

    async def _command(
        self, build: Callable[[int], ListCommand | SweepCommand | SignalCommand]
    ) -> Reply | None:
        if self.lost:
            return None
        self._last_id += 1
        number = self._last_id
        waiting = self._waiting[number] = _Waiting()
        try:
            with anyio.move_on_after(COMMAND_SECONDS) as scope:
                async with self._commanding:
                    # A torn command would spoil those after it.
                    with anyio.move_on_after(COMMAND_SECONDS, shield=True):
                        await self._write(_encode(build(number)) + b"\n")
                await waiting.answered.wait()
        except OSError:
            return None
        finally:
            self._waiting.pop(number, None)
        if scope.cancelled_caught:
            # Its end ends the harness (parent-death signal), and the reader then sweeps by the marker.
            self._process.kill()
        return waiting.reply

    async def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self._control.write_now(left) :]
            if left:
                await self._control.wait()

    async def _next_report(self) -> Started | Failed | Exited | Reply | None:
        while (end := self._unread.find(b"\n")) < 0:
            data = self._status.read_now()
            if data is None:
                await self._status.wait()
            elif data:
                self._unread += data
            else:
                return None
        line, self._unread = self._unread[:end], self._unread[end + 1 :]
        return _report.decode(line)
