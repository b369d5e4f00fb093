"""A scenario as it was recorded: its transcript and its model requests, read strictly from a bundle."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from checkrein.adapters.record import TurnRecord
from checkrein.conformance.certificates.certificate import BadBundle
from checkrein.conformance.judgements import Entry
from checkrein.conformance.run_folder import RunFolder
from checkrein.scripted_models import Source, View, ViolationKind
from checkrein.scripted_models.dialects import dialect_named

T = TypeVar("T")

#: The rows of a transcript that are lines on the wire.
WIRE_KINDS = frozenset({"to_harness", "from_harness"})

_ENTRIES = frozenset({"judged", "settled", "overturned"})


class RecordedRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of a transcript."""

    n: int
    at_ms: float
    source: Source
    kind: str
    data: dict[str, object]


class RecordedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A model request, as `requests/NNN.json` has it."""

    number: int
    lane: str
    step: int | None
    path: str
    news: str
    body: dict[str, object]


class RequestRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the transcript says of a model request."""

    session: str
    number: int
    lane: str
    step: int | None
    path: str
    fresh: str


class ViolationRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the transcript says of a departure from the script."""

    violation: ViolationKind
    request: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A scenario as it was recorded.

    Args:
        folder: where.
        rows: the transcript, by number.
        requests: by number.
        views: the conversation of each request, read from its body.
    """

    folder: RunFolder
    rows: Mapping[int, RecordedRow]
    requests: Mapping[int, RecordedRequest]
    views: Mapping[int, View]

    def place(self, row: RecordedRow) -> str:
        """Where a row is, for a person."""
        return f"{self.folder.transcript}, line {row.n}"

    def of_kind(self, *kinds: str) -> list[RecordedRow]:
        """The rows of these kinds, in order."""
        return [row for row in self.rows.values() if row.kind in kinds]

    def entries(self) -> list[tuple[RecordedRow, Entry]]:
        """What was said on the bench.

        Raises:
            BadBundle: such a row cannot be read.
        """
        return [
            (row, self._read(row, lambda row: msgspec.convert({"entry": row.kind, **row.data}, Entry)))
            for row in self.of_kind(*_ENTRIES)
        ]

    def turns(self) -> list[tuple[RecordedRow, TurnRecord]]:
        """What the driver reported of the turns; raises as `entries`."""
        return self._all("turn_record", TurnRecord)

    def request_rows(self) -> list[tuple[RecordedRow, RequestRow]]:
        """What the transcript says of the model requests; raises as `entries`."""
        return self._all("request", RequestRow)

    def violations(self) -> list[tuple[RecordedRow, ViolationRow]]:
        """How the run departed from its script; raises as `entries`."""
        return self._all("violation", ViolationRow)

    def _all(self, kind: str, type: type[T]) -> list[tuple[RecordedRow, T]]:
        rows = self.of_kind(kind)
        return [(row, self._read(row, lambda row: msgspec.convert(row.data, type))) for row in rows]

    def _read(self, row: RecordedRow, read: Callable[[RecordedRow], T]) -> T:
        try:
            return read(row)
        except msgspec.ValidationError as fault:
            raise BadBundle(f"the row is no {row.kind!r} row: {fault}", where=self.place(row)) from fault


def read_recorded(folder: RunFolder, dialect: str) -> Recorded:
    """Read what was recorded of a scenario.

    Args:
        dialect: what the harness spoke with its model.

    Raises:
        BadBundle: something is missing, or is not what a run writes; names file and line.
    """
    requests = {request.number: request for request in map(_request, sorted(folder.requests.glob("*")))}
    reader = dialect_named(dialect)
    return Recorded(
        folder=folder,
        rows={row.n: row for row in _rows(folder.transcript)},
        requests=requests,
        views={number: reader.read(request.body) for number, request in requests.items()},
    )


def _rows(transcript: Path) -> list[RecordedRow]:
    try:
        # Not splitlines: what other characters end is not a line of JSON Lines.
        lines = transcript.read_bytes().split(b"\n")
    except OSError as fault:
        raise BadBundle(f"the transcript cannot be read: {fault.strerror}", where=str(transcript)) from fault
    if lines.pop() != b"":
        raise BadBundle("the last line of the transcript is not whole", where=f"{transcript}, at the end")
    rows: list[RecordedRow] = []
    for number, line in enumerate(lines, start=1):
        where = f"{transcript}, line {number}"
        try:
            row = _decode(line, RecordedRow)
        except (ValueError, msgspec.ValidationError) as fault:
            raise BadBundle(f"the line is no row: {fault}", where=where) from fault
        if row.n != number or (rows and row.at_ms < rows[-1].at_ms):
            raise BadBundle(f"row {row.n} at {row.at_ms} ms is not the next one", where=where)
        rows.append(row)
    return rows


def _request(path: Path) -> RecordedRequest:
    try:
        request = _decode(path.read_bytes(), RecordedRequest)
    except (OSError, ValueError, msgspec.ValidationError) as fault:
        raise BadBundle(f"the model request cannot be read: {fault}", where=str(path)) from fault
    if path.name != f"{request.number:03}.json":
        raise BadBundle(f"the file holds request {request.number}", where=str(path))
    return request


def _decode(text: bytes, type: type[T]) -> T:
    """Not by msgspec's decoder: it refuses a lone surrogate, which JSON may hold as an escape."""
    return msgspec.convert(json.loads(text), type)
