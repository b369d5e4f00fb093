"""One screen per red check: the clause, what was expected, what was seen, and the last things that happened."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rich.console import Console, ConsoleOptions, RenderResult
from rich.rule import Rule
from rich.text import Text

from checkrein.adapters.shown import shown
from checkrein.conformance.clauses import Contract
from checkrein.conformance.matrix import verdict_text
from checkrein.conformance.results import Check

#: How many rows of the screen each part may take, so that the whole of it fits on about fifty.
_ROWS_OF_WORDS, _ROWS_OF_LINE, _ROWS_OF_REQUEST = 4, 2, 5

_WIRE_KINDS = {"to_harness": "→", "from_harness": "←", "stderr": "!"}


@dataclass(frozen=True, slots=True)
class _Failure:
    check: Check
    contract: Contract
    target: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        check, width = self.check, options.max_width
        clause = self.contract.by_id.get(check.clause)
        yield Rule(
            Text.assemble(f"{check.clause} on {check.harness}@{check.version}: ", verdict_text(check)),
            align="left",
        )
        yield Text(clause.text if clause is not None else "(this version has no such clause)")
        if clause is None or check.expected != clause.text:
            yield _field("expected", shown(check.expected, limit=_ROWS_OF_WORDS * width))
        yield _field("observed", shown(check.observed, limit=_ROWS_OF_WORDS * width))
        evidence = check.evidence
        if evidence.transcript:
            yield Text("last lines on the wire:", style="bold")
            yield from _wire_lines(Path(evidence.transcript), evidence.wire_rows, width)
        if evidence.run_folder:
            yield Text("last model requests:", style="bold")
            yield from _requests(Path(evidence.run_folder), evidence.model_requests, width)
            yield _field("kept in", evidence.run_folder)
        yield _field("run again", shlex.join(["checkrein", "run", self.target, "--only", check.clause]))


def render_failure(check: Check, contract: Contract, *, target: str | None = None) -> _Failure:
    """Everything that a person needs to see what went wrong; files that are gone are said to be gone.

    Args:
        target: the harness as on the command line; None for its name and version.
    """
    return _Failure(check, contract, target or f"{check.harness}@{check.version}")


def _field(name: str, value: str) -> Text:
    return Text.assemble((f"{name}: ", "bold"), value)


def _wire_lines(transcript: Path, numbers: tuple[int, ...], width: int) -> Iterator[Text]:
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
        line = text if isinstance(text, str) else _compact(data.get("message"))
        begin = f"  {row['at_ms']:>9} ms {_WIRE_KINDS[str(row['kind'])]} "
        yield Text(begin + shown(line, limit=_ROWS_OF_LINE * width - len(begin) - _CUT_CHARACTERS))
    if not wanted:
        yield Text("  none")


#: What the mark of a cut takes.
_CUT_CHARACTERS = len("[…99999 characters not shown…]")


def _compact(message: object) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def _requests(folder: Path, numbers: tuple[int, ...], width: int) -> Iterator[Text]:
    for number in numbers:
        path = folder / "requests" / f"{number:03}.json"
        try:
            request = cast("dict[str, object]", json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as fault:
            yield Text(f"  {number}: it cannot be read ({type(fault).__name__})")
            continue
        lines = [line for line in str(request.get("news", "")).splitlines() if line.strip()]
        yield Text(f"  {number}: lane {request.get('lane')}, ends with:")
        for line in lines[-_ROWS_OF_REQUEST:]:
            yield Text(f"     {shown(line, limit=width - 5 - _CUT_CHARACTERS)}")
    if not numbers:
        yield Text("  none")
