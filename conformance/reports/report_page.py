"""One self-contained HTML page: the matrix, and every check with its timeline in lanes. It asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import jinja2

from checkrein.conformance.clauses import Contract, Level
from checkrein.conformance.matrix import SHORT_WORDS
from checkrein.conformance.reports.timeline import Detail, LaneTimeline, read_lanes
from checkrein.conformance.result_places import place_in_run
from checkrein.conformance.results import Check, Results
from checkrein.conformance.scrubbing import Scrubber
from checkrein.conformance.verdicts import EnforcedBy, Verdict

#: Of the scenario of a check that needs a look, nearly all is shown; of the others, enough to follow them: a whole run
#: of two harnesses (360 scenarios) stays below 4 MB.
LOOKED_AT = Detail(rows=400, characters=900)
PASSED = Detail(rows=40, characters=110)

_NEEDS_A_LOOK = frozenset(set(Verdict) - {Verdict.PASS, Verdict.NOT_APPLICABLE})

_MARKS = {
    Verdict.PASS: "✓",
    Verdict.NOT_APPLICABLE: "–",
    Verdict.DRIFT: "≠",
    Verdict.WARN: "!",
    Verdict.EXPECTED_FAIL: "=",
    Verdict.FAIL: "✗",
    Verdict.NOT_TESTABLE: "?",
    Verdict.KIT_ERROR: "#",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownCheck:
    """A check as the page shows it.

    Args:
        key: its place on the page, `c12`.
        text: of the clause; "" when this kit does not know it.
        short: the verdict in a word, for narrow windows.
        expected: "" when it is the clause's text again.
        timeline: its place among the timelines; None when the scenario left none.
        links: names and relative addresses of files that lie beside the page.
        kept_in: the folder with the evidence, from that of the run on; "" for none.
    """

    key: str
    clause: str
    area: str
    harness: str
    level: str
    verdict: str
    words: str
    short: str
    mark: str
    red: bool
    enforced_by: str
    text: str
    expected: str
    observed: str
    scenario: str
    timeline: int | None
    wire_rows: tuple[int, ...]
    model_requests: tuple[int, ...]
    links: tuple[tuple[str, str], ...]
    kept_in: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _MatrixRow:
    clause: str
    level: str
    text: str
    cells: tuple[_ShownCheck | None, ...]


def render_page(results: Results, contract: Contract, scrubber: Scrubber, *, out: Path | None) -> str:
    """The page.

    Args:
        contract: of this kit, for the texts of the clauses.
        scrubber: takes out what must not leave the machine.
        out: where the page will lie, for the links to transcripts; None makes no links.
    """
    timelines, places = _timelines(results, scrubber)
    shown = tuple(
        _shown_check(check, number, results.header.run_folder, contract, scrubber, places, out)
        for number, check in enumerate(results.checks, start=1)
    )
    header, footer = results.header, results.footer
    style, script = _part("report.css"), _part("report.js")
    return (
        _environment()
        .get_template("report.html")
        .render(
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
            timelines=_embedded(timelines),
            harnesses=[harness.label for harness in header.harnesses],
            areas=_areas(shown, contract),
            rows=_rows(shown, results),
            red=[check for check in shown if check.red],
            others=[check for check in shown if not check.red],
            columns=len(header.harnesses),
            counts=[
                (verdict.value, verdict.words, _MARKS[verdict], number)
                for verdict, number in footer.counts.items()
                if number
            ],
            facts=_facts(results, scrubber),
            other_contract=header.contract_sha256 != contract.digest,
            edition=contract.edition,
            strays=[
                f"{scrubber.text(stray)} ({run.name} on {run.harness}@{run.version})"
                for run in results.scenarios
                for stray in run.strays
            ],
        )
    )


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_folder()),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _folder() -> Path:
    return Path(str(files("checkrein.conformance.reports"))) / "templates"


@cache
def _part(name: str) -> str:
    return (_folder() / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """How the page's own policy names a part that may take effect: nothing else may."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(timelines: Iterable[LaneTimeline]) -> str:
    """JSON inside a script element: no text in it can end the element."""
    data = [
        {
            "total": one.total,
            "missing": one.missing,
            "rows": [[row.n, round(row.at_ms), row.lane.value, row.title, row.text] for row in one.rows],
        }
        for one in timelines
    ]
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _timelines(results: Results, scrubber: Scrubber) -> tuple[list[LaneTimeline], dict[str, int]]:
    """The timelines, one per transcript, and the place of each by the path of its transcript."""
    by_transcript: dict[str, list[Check]] = {}
    for check in results.checks:
        if check.evidence.transcript:
            by_transcript.setdefault(check.evidence.transcript, []).append(check)
    timelines = [
        read_lanes(
            Path(transcript),
            {number for check in checks for number in check.evidence.wire_rows},
            LOOKED_AT if any(check.verdict in _NEEDS_A_LOOK for check in checks) else PASSED,
            scrubber,
        )
        for transcript, checks in by_transcript.items()
    ]
    return timelines, {transcript: place for place, transcript in enumerate(by_transcript)}


def _shown_check(
    check: Check,
    number: int,
    run_folder: str,
    contract: Contract,
    scrubber: Scrubber,
    places: dict[str, int],
    out: Path | None,
) -> _ShownCheck:
    clause = contract.by_id.get(check.clause)
    text = clause.text if clause is not None else ""
    evidence = check.evidence
    return _ShownCheck(
        key=f"c{number}",
        clause=check.clause,
        area=check.clause.partition(".")[0],
        harness=f"{check.harness}@{check.version}",
        level=check.level.value,
        verdict=check.verdict.value,
        words=check.verdict.words,
        short=SHORT_WORDS.get(check.verdict, check.verdict.words),
        mark=_MARKS[check.verdict],
        red=check.is_red,
        enforced_by="" if check.enforced_by is None else check.enforced_by.value,
        text=text,
        expected="" if check.expected == text else scrubber.text(check.expected),
        observed=scrubber.text(check.observed),
        scenario=check.scenario.removeprefix("test_").replace("_", " "),
        timeline=places.get(evidence.transcript),
        wire_rows=evidence.wire_rows,
        model_requests=evidence.model_requests,
        links=() if out is None else _links(check, out, scrubber),
        kept_in=scrubber.text(place_in_run(evidence.run_folder, run_folder)),
    )


def _links(check: Check, out: Path, scrubber: Scrubber) -> tuple[tuple[str, str], ...]:
    """Addresses relative to the page of what is there; one that would tell where a home is makes no link."""
    evidence = check.evidence
    if not evidence.run_folder:
        return ()
    folder = Path(evidence.run_folder)
    wanted = [("transcript", Path(evidence.transcript)), ("stderr", folder / "stderr.txt")]
    wanted += [
        (f"model request {number}", folder / "requests" / f"{number:03}.json")
        for number in evidence.model_requests
    ]
    links: list[tuple[str, str]] = []
    for name, path in wanted:
        if not path.is_file():
            continue
        target, start = path.resolve(), out.resolve().parent
        common = os.path.commonpath([target, start])
        # Of two places in one home an address names what lies below it; of others it would name the home.
        if scrubber.text(str(target)) == str(target) or scrubber.text(common) != common:
            links.append((name, Path(os.path.relpath(target, start)).as_posix()))
    return tuple(links)


def _areas(shown: tuple[_ShownCheck, ...], contract: Contract) -> list[tuple[str, str]]:
    titles = {area.name: area.title for area in contract.areas}
    return [(area, titles.get(area, "")) for area in dict.fromkeys(check.area for check in shown)]


def _rows(shown: tuple[_ShownCheck, ...], results: Results) -> dict[str, list[_MatrixRow]]:
    """The rows of the matrix, by area."""
    cells = {(check.clause, check.harness): check for check in shown}
    rows: dict[str, list[_MatrixRow]] = {}
    for clause in dict.fromkeys(check.clause for check in shown):
        row = tuple(cells.get((clause, harness.label)) for harness in results.header.harnesses)
        some = next(cell for cell in row if cell is not None)
        rows.setdefault(some.area, []).append(
            _MatrixRow(
                clause=clause,
                level="" if some.level == Level.MUST.value else some.level,
                text=some.text,
                cells=row,
            )
        )
    return rows


def _facts(results: Results, scrubber: Scrubber) -> list[tuple[str, str]]:
    header, footer = results.header, results.footer
    offline = (
        "enforced by the kernel (a network namespace that holds loopback only)"
        if header.offline.enforced
        else f"NOT enforced, {header.offline.means.value.replace('_', ' ')}: {scrubber.text(header.offline.reason)}"
    )
    adapter = sum(
        check.enforced_by is EnforcedBy.ADAPTER and check.verdict is Verdict.PASS for check in results.checks
    )
    facts = [
        ("started", header.started_at),
        ("took", f"{footer.seconds:.0f} s for {len(results.scenarios)} scenarios"),
        ("offline", offline),
        ("kept by an adapter", f"{adapter} of {footer.counts[Verdict.PASS]} that pass"),
        ("contract", f"{header.edition}, sha256 {header.contract_sha256[:16]}"),
        ("checkrein", f"{header.kit_version} on {header.python}, {header.os}"),
        ("kept in", scrubber.text(header.run_folder)),
        ("command", scrubber.text(" ".join(header.command))),
    ]
    if header.only:
        facts.append(("limited to", ", ".join(header.only)))
    facts += [
        (harness.label, f"sha256 {harness.binary_sha256[:16]}…, {harness.dialect or 'dialect not told'}")
        for harness in header.harnesses
    ]
    return facts
