"""The merged timeline of a scenario as lanes: who did what, when, in as many rows as a person reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import cast

import msgspec

from checkrein.adapters.acts import ActKind
from checkrein.adapters.shown import shown, visible
from checkrein.conformance.scrubbing import Json, Scrubber


class Lane(StrEnum):
    """In whose lane a row is drawn."""

    PERSON = "person"
    DRIVER = "driver"
    HARNESS = "harness"
    MODEL = "model"
    #: the kit's own remarks, across all lanes
    NOTE = "note"


#: Who speaks in the transcript, and in whose lane that is: the tools' processes are the harness's own.
_LANES = {
    "person": Lane.PERSON,
    "driver": Lane.DRIVER,
    "harness": Lane.HARNESS,
    "process": Lane.HARNESS,
    "model": Lane.MODEL,
    "note": Lane.NOTE,
}

#: What the person does, in words.
_ACTS = {
    ActKind.OPEN.value: "opens a session",
    ActKind.START.value: "gives a prompt",
    ActKind.STEER.value: "steers",
    ActKind.WITHDRAW.value: "withdraws a steer",
    ActKind.SEND.value: "sends a message",
    ActKind.INTERRUPT.value: "interrupts",
    ActKind.ALLOW.value: "allows",
    ActKind.DENY.value: "denies",
    ActKind.ALLOW_ALWAYS.value: "always allows",
    ActKind.CLOSE.value: "closes the session",
}

#: What sets a colour on a terminal.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

#: How many rows are kept at the beginning, at the end, and around a row that is evidence, when not all are.
_HEAD, _TAIL, _AROUND = 6, 10, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """How much of a timeline is shown.

    Args:
        rows: at most so many of them.
        characters: of each, at most so many.
    """

    rows: int
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRow:
    """One row.

    Args:
        n: its number in the transcript.
        at_ms: milliseconds since the scenario began.
        title: what it is, in a few words.
        text: its content, scrubbed and cut.
    """

    n: int
    at_ms: float
    lane: Lane
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneTimeline:
    """What is shown of one timeline.

    Args:
        rows: in their order; where numbers are missing, rows are not shown.
        total: how many rows the transcript has.
        missing: why there are none; "" when there are.
    """

    rows: tuple[LaneRow, ...]
    total: int
    missing: str = ""


class _Row(msgspec.Struct, frozen=True):
    """A line of a transcript."""

    n: int
    at_ms: float
    source: str
    kind: str
    data: dict[str, object]


def read_lanes(transcript: Path, evidence: Set[int], detail: Detail, scrubber: Scrubber) -> LaneTimeline:
    """Read a transcript; one that is gone or broken gives none, with the reason in words.

    Args:
        evidence: the rows that a check points at; they are shown before any other.
    """
    try:
        rows = [msgspec.json.decode(line, type=_Row) for line in transcript.read_bytes().splitlines()]
    except OSError as fault:
        return LaneTimeline(rows=(), total=0, missing=f"the transcript cannot be read: {fault.strerror}")
    except msgspec.MsgspecError as fault:
        return LaneTimeline(rows=(), total=0, missing=f"the transcript cannot be used: {fault}")
    person = [row.n for row in rows if row.source == Lane.PERSON.value]
    chosen = _chosen([row.n for row in rows], evidence, person, detail.rows)
    return LaneTimeline(
        rows=tuple(_lane_row(row, detail, scrubber) for row in rows if row.n in chosen), total=len(rows)
    )


def _chosen(numbers: list[int], evidence: Set[int], person: list[int], most: int) -> frozenset[int]:
    if len(numbers) <= most:
        return frozenset(numbers)
    ends = [*numbers[:_HEAD], *numbers[-_TAIL:]]
    around = [n for n in numbers if any(abs(n - one) <= _AROUND for one in evidence)]
    # In the order of importance; a dict keeps it and drops doubles.
    wanted = list(dict.fromkeys([*sorted(evidence & set(numbers)), *ends, *around, *person, *numbers]))
    return frozenset(wanted[:most])


def _lane_row(row: _Row, detail: Detail, scrubber: Scrubber) -> LaneRow:
    title, content = _told(row)
    text = content if isinstance(content, str) else _compact(scrubber.json(content))
    return LaneRow(
        n=row.n,
        at_ms=row.at_ms,
        lane=_LANES.get(row.source, Lane.NOTE),
        title=shown(scrubber.text(title), limit=80),
        text=_beginning(scrubber.text(text), detail.characters),
    )


def _beginning(text: str, limit: int) -> str:
    """The beginning of a text, with how much is left out: of a message the end tells least."""
    rest = len(text) - limit
    return visible(text) if rest <= 0 else f"{visible(text[:limit])}… ({rest} more characters)"


def _told(row: _Row) -> tuple[str, object]:
    """What a row is called, and its content."""
    data = {name: value for name, value in row.data.items() if name != "session"}
    match row.kind, data:
        case "to_harness" | "from_harness", {"message": dict()}:
            return _told_message(cast("Mapping[str, object]", data["message"]))
        case "to_harness" | "from_harness" | "stderr", {"text": str() as text}:
            return ("stderr" if row.kind == "stderr" else "a line"), _COLOUR.sub("", text)
        case "request", {"fresh": str() as fresh}:
            lane, number = data.get("lane"), data.get("number")
            return f"request {number}, lane {lane}", fresh
        case kind, _ if row.source == Lane.PERSON.value:
            said = [part for part in (data.get("about"), data.get("text")) if isinstance(part, str)]
            return _ACTS.get(kind, kind.replace("_", " ")), ", with: ".join(said)
        case "answered", _:
            return f"answered request {data.get('number')}", f"{data.get('events')} events"
        case "hung_up", _:
            return (
                f"the harness hung up on request {data.get('number')}",
                f"after {data.get('after_events')} events",
            )
        case _:
            return row.kind.replace("_", " "), " ".join(f"{name}={value}" for name, value in data.items())


def _told_message(message: Mapping[str, object]) -> tuple[str, object]:
    """A message on any of the wires: JSON-RPC's method, or the type and its subtype; then the rest of it."""
    match message:
        case {"method": str() as method, **rest}:
            return method, rest.get("params", rest)
        case {"id": key, "error": error}:
            return f"error to {key}", error
        case {"id": key, "result": result}:
            return f"answer to {key}", result
        case {"type": str() as kind, **rest}:
            inner = rest.get("request") or rest.get("response") or rest.get("event") or rest
            members = cast("Mapping[str, object]", inner if isinstance(inner, dict) else {})
            subtype = members.get("subtype") or members.get("type")
            return (f"{kind} {subtype}" if isinstance(subtype, str) else kind), rest
        case _:
            return "a message", message


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
