"""Records on disk: kept up from the prompt on, so that what a turn did outlives a driver that is killed at any moment.

While a turn runs, each thing that happens in it is one line appended to `records/TURN-ID.jsonl`; when it has ended, the
whole record is `records/TURN-ID.json` instead. `read_record` reads either. A line costs about 20 µs, where writing the
whole record each time would cost more with every tool call.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from checkrein.adapters.errors import CheckreinError
from checkrein.adapters.events import ApprovalChanged, Event, SteerChanged, TurnEnded, TurnStarted
from checkrein.adapters.native import TextDone, ToolFinished, ToolStarted
from checkrein.adapters.record import (
    ApprovalRecord,
    SteerRecord,
    ToolRecord,
    TurnRecord,
    approval_record,
    steer_record,
    tool_record,
)

if TYPE_CHECKING:
    from checkrein.adapters.turn import Turn

FOLDER = "records"


class RecordLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the record of a turn that runs: the record as it was at the prompt, or the part that has changed."""

    record: TurnRecord | None = None
    native_turn_id: str | None = None
    text: str | None = None
    tool: ToolRecord | None = None
    steer: SteerRecord | None = None
    approval: ApprovalRecord | None = None


class RecordKeeper:
    """Keeps the records of a session's turns.

    Args:
        directory: of this project's state; the records are in its folder `records`.
        record: the whole record of a turn as it stands.

    Attributes:
        fault: why records cannot be written; None while they can.
    """

    def __init__(self, directory: Path, record: Callable[[Turn], TurnRecord]) -> None:
        self.fault: CheckreinError | None = None
        self._folder = directory / FOLDER
        self._record = record

    def path(self, turn: Turn) -> Path:
        """Where the record of a turn is, as far as it has come."""
        return self._folder / f"{turn.id}.json" if turn.ended else self._running(turn)

    def begin(self, turn: Turn) -> None:
        """A turn is about to be sent to the harness."""
        # With its first line from the moment when it is there: a driver can be killed between any two steps.
        line = msgspec.json.encode(RecordLine(record=self._record(turn))) + b"\n"
        self._write(self._running(turn), line)

    def note(self, turn: Turn, event: Event) -> None:
        """Something has happened in a turn, or to one of its steers after its end."""
        match event:
            case TurnEnded():
                self._finish(turn)
            case _ if turn.ended:
                self._finish(turn)
            case TurnStarted():
                self._append(turn, RecordLine(native_turn_id=event.native_id))
            case TextDone():
                self._append(turn, RecordLine(text=event.text))
            case ToolStarted():
                self._append(turn, RecordLine(tool=tool_record(event, None)))
            case ToolFinished() if (started := turn.tools.get(event.call_id)) is not None:
                self._append(turn, RecordLine(tool=tool_record(started, event)))
            case SteerChanged():
                self._append(turn, RecordLine(steer=steer_record(event.steer)))
            case ApprovalChanged():
                self._append(turn, RecordLine(approval=approval_record(event.approval)))
            case _:
                pass

    def _running(self, turn: Turn) -> Path:
        return self._folder / f"{turn.id}.jsonl"

    def _append(self, turn: Turn, line: RecordLine) -> None:
        if self.fault is not None:
            return
        try:
            # Opened each time: a session may have any number of turns, and each a file.
            with self._running(turn).open("ab", buffering=0) as file:
                file.write(msgspec.json.encode(line) + b"\n")
        except OSError as fault:
            self._note_fault(self._running(turn), fault)

    def _finish(self, turn: Turn) -> None:
        path = self._folder / f"{turn.id}.json"
        if not self._write(path, msgspec.json.format(msgspec.json.encode(self._record(turn)), indent=2)):
            return
        try:
            self._running(turn).unlink(missing_ok=True)
        except OSError as fault:
            self._note_fault(path, fault)

    def _write(self, path: Path, data: bytes) -> bool:
        """Write a file whole or not at all; says whether it could."""
        if self.fault is not None:
            return False
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = path.with_suffix(".new")
            new.write_bytes(data)
            new.replace(path)
        except OSError as fault:
            self._note_fault(path, fault)
            return False
        return True

    def _note_fault(self, path: Path, fault: OSError) -> None:
        self.fault = CheckreinError(
            f"the record of the turn cannot be written: {fault.strerror}",
            where=str(path),
            advice="set CHECKREIN_STATE to a directory that can be written",
        )


def read_record(path: Path) -> TurnRecord:
    """Read the record of a turn that has ended, or of one that runs, or was running when its driver was killed.

    Args:
        path: `records/TURN-ID.json`, or `records/TURN-ID.jsonl`.

    Raises:
        CheckreinError: there is no record there, or it is none.
    """
    try:
        data = path.read_bytes()
        if path.suffix != ".jsonl":
            return msgspec.json.decode(data, type=TurnRecord)
        # What follows the last line end is a line that was not written whole.
        lines = data[: data.rfind(b"\n") + 1].splitlines()
        return _folded([msgspec.json.decode(line, type=RecordLine) for line in lines], path)
    except (OSError, msgspec.MsgspecError) as fault:
        raise CheckreinError(f"this is no record of a turn: {fault}", where=str(path)) from fault


def _folded(lines: list[RecordLine], path: Path) -> TurnRecord:
    record = lines[0].record if lines else None
    if record is None:
        raise CheckreinError("this is no record of a turn: it has no beginning", where=str(path))
    tools = {tool.call_id: tool for tool in record.tools}
    steers = {steer.id: steer for steer in record.steers}
    approvals = {approval.id: approval for approval in record.approvals}
    native_turn_id, text = record.native_turn_id, record.text
    for line in lines:
        if line.native_turn_id is not None:
            native_turn_id = line.native_turn_id
        if line.text is not None:
            text = line.text
        if line.tool is not None:
            tools[line.tool.call_id] = line.tool
        if line.steer is not None:
            steers[line.steer.id] = line.steer
        if line.approval is not None:
            approvals[line.approval.id] = line.approval
    return msgspec.structs.replace(
        record,
        native_turn_id=native_turn_id,
        text=text,
        tools=tuple(tools.values()),
        steers=tuple(steers.values()),
        approvals=tuple(approvals.values()),
    )
