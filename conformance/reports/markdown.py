"""Markdown for a pull request: one screen with what is red; the whole matrix is folded away below it."""

from __future__ import annotations

from collections.abc import Iterator

from checkrein.conformance.clauses import Contract, Level
from checkrein.conformance.reports.markdown_text import code, plain, table
from checkrein.conformance.result_places import place_in_run
from checkrein.conformance.results import Check, Results
from checkrein.conformance.scrubbing import Scrubber
from checkrein.conformance.verdicts import EnforcedBy, Verdict

#: How many red checks are told in full; more of them would not fit on a screen, nor into a comment.
MOST_RED = 12

_MARKS = {
    Verdict.PASS: "✅",
    Verdict.NOT_APPLICABLE: "➖",
    Verdict.DRIFT: "🧭",
    Verdict.WARN: "⚠️",
    Verdict.EXPECTED_FAIL: "📌",
    Verdict.FAIL: "❌",
    Verdict.NOT_TESTABLE: "❔",
    Verdict.KIT_ERROR: "🛠️",
}


def render_markdown(results: Results, contract: Contract, scrubber: Scrubber) -> str:
    """The report as Markdown.

    Args:
        contract: of this kit, for the texts of the clauses.
        scrubber: takes out what must not leave the machine.
    """
    header = results.header
    red = results.red
    state = f"❌ {len(red)} red" if red else "✅ nothing red"
    names = ", ".join(code(harness.label) for harness in header.harnesses)
    lines = [f"### Checkrein: {state} on {names}", "", *_areas(results), ""]
    for check in red[:MOST_RED]:
        lines += [*_red(check, results.header.run_folder, contract, scrubber), ""]
    if len(red) > MOST_RED:
        lines += [f"… and {len(red) - MOST_RED} more that are red: see the matrix below.", ""]
    lines += [_about(results, scrubber), "", *_whole_matrix(results)]
    return "\n".join(lines) + "\n"


def _areas(results: Results) -> list[str]:
    """One row per area, one column per harness: how many checks have each verdict."""
    areas = dict.fromkeys(check.clause.partition(".")[0] for check in results.checks)
    rows: list[list[str]] = []
    for area in areas:
        row = [area]
        for harness in results.header.harnesses:
            there = [
                check
                for check in results.checks
                if check.clause.partition(".")[0] == area
                and (check.harness, check.version) == (harness.name, harness.version)
            ]
            row.append(_counted(there))
        rows.append(row)
    return table(["area", *(code(harness.label) for harness in results.header.harnesses)], rows)


def _counted(checks: list[Check]) -> str:
    counts = {verdict: sum(check.verdict is verdict for check in checks) for verdict in Verdict}
    return " ".join(f"{_MARKS[verdict]} {number}" for verdict, number in counts.items() if number)


def _red(check: Check, run_folder: str, contract: Contract, scrubber: Scrubber) -> Iterator[str]:
    clause = contract.by_id.get(check.clause)
    text = clause.text if clause is not None else "(this version has no such clause)"
    on = code(f"{check.harness}@{check.version}")
    yield f"**{code(check.clause)}** on {on}: **{check.verdict.words}** · {plain(text)}"
    if clause is None or check.expected != clause.text:
        yield f"- expected: {plain(scrubber.text(check.expected))}"
    yield f"- observed: {plain(scrubber.text(check.observed))}"
    yield f"- evidence: {_evidence(check, run_folder, scrubber)}"


def _evidence(check: Check, run_folder: str, scrubber: Scrubber) -> str:
    evidence = check.evidence
    if not evidence.run_folder:
        return "none, the scenario did not run"
    parts = [code(scrubber.text(place_in_run(evidence.run_folder, run_folder)))]
    if evidence.wire_rows:
        parts.append(f"rows {_numbers(evidence.wire_rows)} of `transcript.jsonl`")
    if evidence.model_requests:
        parts.append(f"model requests {_numbers(evidence.model_requests)}")
    return ", ".join(parts)


def _numbers(numbers: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in numbers)


def _about(results: Results, scrubber: Scrubber) -> str:
    header = results.header
    offline = (
        "offline, enforced by the kernel"
        if header.offline.enforced
        else f"**offline was not enforced**: {plain(scrubber.text(header.offline.reason))}"
    )
    there = {check.verdict for check in results.checks}
    legend = ", ".join(f"{_MARKS[verdict]} {verdict.words}" for verdict in Verdict if verdict in there)
    return (
        f"{legend}. {len(results.scenarios)} scenarios in {results.footer.seconds:.0f} s, {offline}; contract "
        f"{header.edition} ({code(header.contract_sha256[:16])}), checkrein {plain(header.kit_version)}, "
        f"{plain(header.started_at)}."
    )


def _whole_matrix(results: Results) -> Iterator[str]:
    cells = {(check.clause, check.harness, check.version): check for check in results.checks}
    levels = {check.clause: check.level for check in results.checks}
    rows = [
        [
            code(clause) if level is Level.MUST else f"{code(clause)} {level.value}",
            *(
                _cell(cells.get((clause, harness.name, harness.version)))
                for harness in results.header.harnesses
            ),
        ]
        for clause, level in levels.items()
    ]
    yield f"<details><summary>All {len(rows)} clauses (without a level: MUST)</summary>"
    yield ""
    yield from table(["clause", *(code(harness.label) for harness in results.header.harnesses)], rows)
    yield ""
    yield "</details>"


def _cell(check: Check | None) -> str:
    if check is None:
        return ""
    by = " (adapter)" if check.enforced_by is EnforcedBy.ADAPTER and check.verdict is Verdict.PASS else ""
    return f"{_MARKS[check.verdict]} {check.verdict.words}{by}"
