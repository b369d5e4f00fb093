"""How a turn ended, and what survives of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from checkrein.adapters.native import Usage
from checkrein.adapters.transport import ProcessInfo


class OutcomeStatus(StrEnum):
    """The terminal state of a turn."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    NEEDS_REVIEW = "needs_review"


#: Exit status of a driver command for each outcome. No harness gives 130 by itself (Claude Code 2.1.332 exits
#: with 0 or 1 after an interrupt, codex exec 0.171.0 with 1), so it is ours everywhere.
EXIT_STATUS = {
    OutcomeStatus.COMPLETED: 0,
    OutcomeStatus.FAILED: 1,
    OutcomeStatus.NEEDS_REVIEW: 3,
    OutcomeStatus.INTERRUPTED: 130,
}


class StoppedBy(StrEnum):
    """Which rung of the interrupt ladder ended the turn."""

    HARNESS = "harness"
    EXIT = "exit"
    STDIN = "stdin"
    TERM = "term"
    KILL = "kill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of a turn.

    Args:
        status: the terminal state.
        reason: in words, for a person.
        stopped_by: for an interrupted turn, the rung that ended it; else None.
        native_status: the harness's own word for the end; "" when its process was gone.
        text: the model's last finished text.
        usage: of this turn alone.
        survivors: processes that the turn started and that are still alive.
    """

    status: OutcomeStatus
    reason: str
    stopped_by: StoppedBy | None = None
    native_status: str = ""
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    survivors: tuple[ProcessInfo, ...] = ()

    @property
    def exit_status(self) -> int:
        """The exit status that a driver command gives for this outcome."""
        return EXIT_STATUS[self.status]
