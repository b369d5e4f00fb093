"""A harness's own one-shot run, without an adapter: started with or without a terminal, and sent a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from threading import Thread

import pexpect

from checkrein.adapters.interface import Launch, Origin, SessionSpec
from checkrein.adapters.policy import Policy
from checkrein.adapters.transport import clean_environment
from checkrein.adapters.transport.gone import wait_gone
from checkrein.conformance.scenario import Arena

#: How long a program may take to end after a signal, in seconds; past it, it counts as ignoring the signal.
ENDS_WITHIN = 5.0

#: Becomes the program with the signals as a shell at a terminal would leave them.
_PLAIN_SIGNALS = (
    "import os, signal, sys\n"
    "for name in ('SIGINT', 'SIGHUP', 'SIGTERM', 'SIGPIPE'):\n"
    "    signal.signal(getattr(signal, name), signal.SIG_DFL)\n"
    "os.execv(sys.argv[1], sys.argv[1:])\n"
)


class BareRun:
    """One run.

    Args:
        pid: of the program.
        terminal: the terminal that it runs in; None without one.
        process: the program, without a terminal.
    """

    def __init__(
        self, pid: int, terminal: pexpect.spawn[bytes] | None, process: subprocess.Popen[bytes] | None
    ) -> None:
        self._pid = pid
        self._terminal = terminal
        self._process = process

    async def stopped_by(self, number: signal.Signals) -> str:
        """Send a signal (in a terminal SIGINT by ctrl-c); how the program ended, and how soon, in words."""
        begun = time.monotonic()
        if self._terminal is not None and number is signal.SIGINT:
            self._terminal.sendintr()
        else:
            os.kill(self._pid, number)
        await wait_gone({self._pid}, ENDS_WITHIN)
        milliseconds = (time.monotonic() - begun) * 1000
        status = self._status()
        return "runs on" if status is None else f"{_words(status)} after {milliseconds:.0f} ms"

    def _status(self) -> int | None:
        """As `Popen.returncode`; None while it runs."""
        if self._process is not None:
            return self._process.poll()
        assert self._terminal is not None
        if self._terminal.isalive():
            return None
        killed = self._terminal.signalstatus
        return self._terminal.exitstatus if killed is None else -killed


@contextmanager
def bare_run(arena: Arena, launch: Launch, *, in_terminal: bool) -> Generator[BareRun]:
    """Run a program; at the end of the block it is killed if it still runs."""
    argv = [sys.executable, "-I", "-S", "-c", _PLAIN_SIGNALS, *launch.argv]
    environment, cwd = dict(launch.environment), str(launch.cwd)
    if not in_terminal:
        with (
            (arena.folder.root / "bare.txt").open("ab") as output,
            subprocess.Popen(
                argv,
                env=environment,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            try:
                yield BareRun(process.pid, None, process)
            finally:
                process.kill()
        return
    terminal: pexpect.spawn[bytes] = pexpect.spawn(argv[0], argv[1:], env=environment, cwd=cwd, echo=False)
    assert terminal.pid is not None
    terminal.delayafterclose = terminal.delayafterterminate = 0
    # A program that is not read from stands still; what holds the terminal open at the end is killed with the arena.
    Thread(target=_drain, args=(terminal.child_fd,), daemon=True).start()
    try:
        yield BareRun(terminal.pid, terminal, None)
    finally:
        terminal.kill(signal.SIGKILL)
        terminal.wait()


def _drain(fd: int) -> None:
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        return  # the terminal is closed


def spec_of(arena: Arena) -> SessionSpec:
    """A new conversation of the target, for its own program."""
    return SessionSpec(
        binary=arena.target.binary,
        cwd=arena.workspace,
        policy=Policy.AUTO,
        origin=Origin.NEW,
        session_id=str(uuid.uuid4()),
        home=arena.home,
        endpoint=arena.endpoint,
        environment=clean_environment(arena.environment),
    )


def _words(status: int) -> str:
    return f"exit status {status}" if status >= 0 else f"signal {-status}"
