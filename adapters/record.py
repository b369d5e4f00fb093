"""What survives a turn, good enough for a reviewer: one JSON document."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from checkrein.adapters.approvals import Approval
from checkrein.adapters.interface import HarnessIdentity
from checkrein.adapters.native import ToolFinished, ToolStarted, Usage
from checkrein.adapters.steering import Steer
from checkrein.adapters.transport import ProcessInfo

if TYPE_CHECKING:
    from checkrein.adapters.turn import Turn

#: Characters kept of what a tool printed: its end, where errors stand.
OUTPUT_KEPT = 2000


class ToolRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call; `status` is None when it has no result."""

    call_id: str
    name: str
    kind: str
    command: str | None
    paths: tuple[str, ...]
    status: str | None
    exit_status: int | None
    output_tail: str


class SteerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One steer, with every state that it went through and why."""

    id: str
    text: str
    state: str
    reason: str | None
    steps: tuple[tuple[str, str], ...]


class ApprovalRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One approval, as it was shown, and who resolved it.

    Args:
        real_paths: where its paths really lead, when a link leads elsewhere.
        outside: where it goes that is outside the workspace.
    """

    id: str
    call_id: str
    shown: str
    real_paths: tuple[str, ...]
    outside: tuple[str, ...]
    reason: str
    decision: str | None
    message: str
    resolved_by: str | None


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One turn. Fields that are not known are null, never 0.

    Args:
        workspace: absolute path.
        ended_at: null while the turn runs, as are `status`, `exit_status`, `reason` and `stopped_by`.
        survivors: processes that the turn started and that were alive after an interrupt.
    """

    harness: str
    version: str
    binary_sha256: str
    session_id: str
    turn_id: str
    native_turn_id: str
    workspace: str
    policy: str
    prompt: str
    opened_by: str
    started_at: datetime
    ended_at: datetime | None
    status: str | None
    exit_status: int | None
    reason: str | None
    stopped_by: str | None
    native_status: str | None
    text: str
    usage: Usage
    tools: tuple[ToolRecord, ...]
    steers: tuple[SteerRecord, ...]
    approvals: tuple[ApprovalRecord, ...]
    survivors: tuple[ProcessInfo, ...]


def record_of(
    turn: Turn, *, harness: HarnessIdentity, session_id: str, workspace: Path, policy: str
) -> TurnRecord:
    """The record of a turn as it stands now."""
    outcome = turn.ended
    return TurnRecord(
        harness=harness.name,
        version=harness.version,
        binary_sha256=harness.sha256,
        session_id=session_id,
        turn_id=turn.id,
        native_turn_id=turn.native_id,
        workspace=str(workspace),
        policy=policy,
        prompt=turn.prompt,
        opened_by=turn.opened_by,
        started_at=turn.started_at,
        ended_at=turn.ended_at,
        status=outcome.status.value if outcome else None,
        exit_status=outcome.exit_status if outcome else None,
        reason=outcome.reason if outcome else None,
        stopped_by=outcome.stopped_by.value if outcome and outcome.stopped_by else None,
        native_status=outcome.native_status if outcome else None,
        text=turn.text,
        usage=outcome.usage if outcome else Usage(),
        tools=tuple(tool_record(started, turn.results.get(name)) for name, started in turn.tools.items()),
        steers=tuple(steer_record(steer) for steer in turn.steers),
        approvals=tuple(approval_record(approval) for approval in turn.asked),
        survivors=outcome.survivors if outcome else (),
    )


def tool_record(started: ToolStarted, result: ToolFinished | None) -> ToolRecord:
    """The record of a call, with its result if it has one."""
    call = started.call
    return ToolRecord(
        call_id=call.call_id,
        name=call.name,
        kind=call.kind.value,
        command=call.command,
        paths=call.paths,
        status=result.status.value if result else None,
        exit_status=result.exit_status if result else None,
        output_tail=result.output[-OUTPUT_KEPT:] if result else "",
    )


def steer_record(steer: Steer) -> SteerRecord:
    """The record of a steer as it stands now."""
    return SteerRecord(
        id=steer.id,
        text=steer.text,
        state=steer.state.value,
        reason=steer.reason.value if steer.reason else None,
        steps=tuple((step.state.value, step.evidence) for step in steer.steps),
    )


def approval_record(approval: Approval) -> ApprovalRecord:
    """The record of an approval as it stands now."""
    decision = approval.decision
    return ApprovalRecord(
        id=approval.id,
        call_id=approval.call.call_id,
        shown=approval.shown,
        real_paths=approval.real_paths,
        outside=approval.outside,
        reason=approval.reason,
        decision=decision.kind.value if decision else None,
        message=decision.message if decision else "",
        resolved_by=approval.resolved_by.value if approval.resolved_by else None,
    )


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where this project keeps records: `$CHECKREIN_STATE`, else `checkrein` in the user's XDG state directory."""
    if own := environment.get("CHECKREIN_STATE"):
        return Path(own)
    base = environment.get("XDG_STATE_HOME") or str(
        Path(environment.get("HOME", "~")).expanduser() / ".local/state"
    )
    return Path(base) / "checkrein"
