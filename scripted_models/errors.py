"""What can go wrong between a script and the harness that talks to it, as values with data."""

from dataclasses import dataclass
from enum import StrEnum


class ViolationKind(StrEnum):
    """The closed set of ways in which a run can depart from its script."""

    UNSCRIPTED_REQUEST = "unscripted_request"
    BAD_REQUEST = "bad_request"
    SEES_MISMATCH = "sees_mismatch"
    CALL_NOT_ANSWERED_ONCE = "call_not_answered_once"
    ORPHAN_RESULT = "orphan_result"
    HISTORY_CHANGED = "history_changed"
    BAD_EVENT = "bad_event"
    LEFTOVER_STEP = "leftover_step"
    UNFINISHED_STEP = "unfinished_step"
    GATE_NOT_OPENED = "gate_not_opened"
    GATE_NOT_REACHED = "gate_not_reached"
    TOOL_NOT_RELEASED = "tool_not_released"
    TOOL_NOT_STARTED = "tool_not_started"
    TOOL_STARTED_UNEXPECTEDLY = "tool_started_unexpectedly"
    KIT_ERROR = "kit_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One departure from the script: its kind, a sentence, when, and at which request if at one."""

    kind: ViolationKind
    message: str
    #: Milliseconds since the start of the timeline.
    at_ms: float
    lane: str | None = None
    request: int | None = None

    def __str__(self) -> str:
        place = "" if self.request is None else f" (request {self.request}, lane {self.lane})"
        return f"{self.kind}{place}: {self.message}"


class DeadlineExceeded(Exception):
    """Raised when a wait did not see what it waited for before its deadline; prints the merged timeline."""

    def __init__(self, *, waited_for: str, seconds: float, timeline: str) -> None:
        self.waited_for = waited_for
        self.seconds = seconds
        self.timeline = timeline
        super().__init__(f"waited {seconds:g} s in vain for {waited_for}\n{timeline}")


class ToolMissing(Exception):
    """Raised by a `Toolset` for what the harness has no tool for: a scenario that needs it is not testable.

    Args:
        what: such as `tool that edits files`.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"the harness has no {what}")
        self.what = what


class ScriptViolation(Exception):
    """Raised by `verify()` and `close()` when a run departed from its script; prints the merged timeline."""

    def __init__(self, *, violations: tuple[Violation, ...], timeline: str) -> None:
        self.violations = violations
        self.timeline = timeline
        lines = "\n".join(f"- {violation}" for violation in violations)
        super().__init__(f"the run departed from its script in {len(violations)} way(s)\n{lines}\n{timeline}")


class ScriptError(Exception):
    """Raised when a script itself is wrong: before anything runs, with file and line if it was read from YAML."""

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        self.message = message
        self.file = file
        self.line = line
        super().__init__(message if file is None else f"{file}, line {line}: {message}")


class HeldToolEnded(Exception):
    """Raised when a held tool's process is gone although a wait needs it to run."""

    def __init__(self, *, name: str, pid: int, timeline: str) -> None:
        self.name = name
        self.pid = pid
        self.timeline = timeline
        super().__init__(f"held tool {name!r} (pid {pid}) ended while it was needed\n{timeline}")
