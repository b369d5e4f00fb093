"""What can go wrong between a driver and a process, one class per condition.

The life of a process, and what each step can raise:

* start: `WorkingDirectoryMissing`, `ExecutableNotFound`, `NotExecutable`, `ProcessStartError`
* send: `BrokenTransport`, `SendTimedOut`
* reading: nothing; the end of the output is the end of the iteration
* children, sweep, signal: nothing; without the guard they fall back to the process table
* kill ladder, close: `ProcessSurvived`
"""

from __future__ import annotations

from checkrein.adapters.errors import CheckreinError


class TransportError(CheckreinError):
    """Raised when the process of a harness, or the pipes to it, cannot do what was asked."""


class ProcessStartError(TransportError):
    """Raised when the process could not be started; nothing of it is left."""

    exit_status = 3


class ExecutableNotFound(ProcessStartError):
    """Raised when there is no such program, neither as a path nor on the PATH that the process would get."""


class NotExecutable(ProcessStartError):
    """Raised when the program is there but the system refuses to run it."""


class WorkingDirectoryMissing(ProcessStartError):
    """Raised when the working directory does not exist, is no directory, or may not be entered."""


class BrokenTransport(TransportError):
    """Raised when a line could not be written whole; nothing more can be sent to this process."""


class SendTimedOut(TransportError):
    """Raised when the process did not read within the deadline; no byte of the line was written."""


class ProcessSurvived(TransportError):
    """Raised when a process is alive after SIGKILL: it belongs to another user, or hangs in the kernel."""
