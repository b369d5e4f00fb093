"""What a reader of `turn.events()` sees, in the order in which it happened."""

from __future__ import annotations

from dataclasses import dataclass

from checkrein.adapters.approvals import Approval
from checkrein.adapters.native import BackgroundJob, Notice, TextDelta, TextDone, ToolFinished, ToolStarted
from checkrein.adapters.outcome import Outcome
from checkrein.adapters.steering import Steer, SteerState

__all__ = [
    "ApprovalChanged",
    "BackgroundJob",
    "Event",
    "Notice",
    "SteerChanged",
    "TextDelta",
    "TextDone",
    "ToolFinished",
    "ToolStarted",
    "TurnEnded",
    "TurnStarted",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """The harness runs the turn.

    Args:
        native_id: the harness's id of the turn; "" when it has none.
    """

    turn_id: str
    native_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalChanged:
    """An approval was asked, or resolved."""

    approval: Approval


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerChanged:
    """A steer moved to `state`."""

    steer: Steer
    state: SteerState


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """The turn is over; no event follows."""

    outcome: Outcome


Event = (
    TurnStarted
    | TextDelta
    | TextDone
    | ToolStarted
    | ToolFinished
    | ApprovalChanged
    | SteerChanged
    | BackgroundJob
    | Notice
    | TurnEnded
)
