"""One screen per red check: the clause, what was expected, what was seen, and the last things that happened."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from checkrein.adapters.shown import shown
from checkrein.conformance.clauses import Contract
from checkrein.conformance.matrix import verdict_text
from checkrein.conformance.results import Check

#: How much of one line or request is shown, in characters.
_LINE_CHARACTERS = 300

_WIRE_KINDS = {"to_harness": "→", "from_harness": "←", "stderr": "!"}


def render_failure(check: Check, contract: Contract) -> RenderableType:
    """Everything that a person needs to see what went wrong; files that are gone are said to be gone."""
    clause = contract.by_id.get(check.clause)
    parts: list[RenderableType] = [
        Rule(
            Text.assemble(f"{check.clause} on {check.harness}@{check.version}: ", verdict_text(check)),
            align="left",
        ),
        Text(clause.text if clause is not None else "(this version has no such clause)"),
    ]
    if clause is None or check.expected != clause.text:
        parts.append(_field("expected", check.expected))
    parts.append(_field("observed", check.observed))
    evidence = check.evidence
    if evidence.transcript:
        parts.append(Text("last lines on the wire:", style="bold"))
        parts += _wire_lines(Path(evidence.transcript), evidence.wire_rows)
    if evidence.run_folder:
        parts.append(Text("last model requests:", style="bold"))
        parts += _requests(Path(evidence.run_folder), evidence.model_requests)
        parts.append(_field("kept in", evidence.run_folder))
    return Group(*parts)


def _field(name: str, value: str) -> Text:
    return Text.assemble((f"{name}: ", "bold"), value)


def _wire_lines(transcript: Path, numbers: tuple[int, ...]) -> Iterator[Text]:
    try:
        rows = [
            cast("dict[str, object]", json.loads(line))
            for line in transcript.read_text(encoding="utf-8").splitlines()
        ]
    except (OSError, ValueError) as fault:
        yield Text(f"  the transcript cannot be read: {fault}")
        return
    wanted = [row for row in rows if row.get("n") in numbers and row.get("kind") in _WIRE_KINDS]
    for row in wanted:
        data = cast("dict[str, object]", row["data"])
        text = data.get("text")
        line = text if isinstance(text, str) else json.dumps(data.get("message"), ensure_ascii=False)
        yield Text(
            f"  {row['at_ms']:>9} ms {_WIRE_KINDS[str(row['kind'])]} {shown(line, limit=_LINE_CHARACTERS)}"
        )
    if not wanted:
        yield Text("  none")


def _requests(folder: Path, numbers: tuple[int, ...]) -> Iterator[Text]:
    for number in numbers:
        path = folder / "requests" / f"{number:03}.json"
        try:
            request = cast("dict[str, object]", json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as fault:
            yield Text(f"  {number}: it cannot be read ({type(fault).__name__})")
            continue
        news = str(request.get("news", ""))[-_LINE_CHARACTERS:]
        yield Text(
            f"  {number}: lane {request.get('lane')}, ends with: {shown(news, limit=_LINE_CHARACTERS)}"
        )
    if not numbers:
        yield Text("  none")
