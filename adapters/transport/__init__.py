"""Transport: a harness CLI as a child process, spoken with in lines, that never outlives its driver."""

from checkrein.adapters.transport.environment import clean_environment
from checkrein.adapters.transport.errors import (
    BrokenTransport,
    ExecutableNotFound,
    NotExecutable,
    ProcessStartError,
    ProcessSurvived,
    SendTimedOut,
    TransportError,
    WorkingDirectoryMissing,
)
from checkrein.adapters.transport.framing import LineFramer
from checkrein.adapters.transport.link import SignalTarget
from checkrein.adapters.transport.process import HarnessProcess, LadderResult, Rung
from checkrein.adapters.transport.processes import (
    MARKER_VARIABLE,
    ExitStatus,
    ProcessInfo,
    describe_process,
    processes_of,
)
from checkrein.adapters.transport.tap import Direction, Tap

__all__ = [
    "MARKER_VARIABLE",
    "BrokenTransport",
    "Direction",
    "ExecutableNotFound",
    "ExitStatus",
    "HarnessProcess",
    "LadderResult",
    "LineFramer",
    "NotExecutable",
    "ProcessInfo",
    "ProcessStartError",
    "ProcessSurvived",
    "Rung",
    "SendTimedOut",
    "SignalTarget",
    "Tap",
    "TransportError",
    "WorkingDirectoryMissing",
    "clean_environment",
    "describe_process",
    "processes_of",
]
