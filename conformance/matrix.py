"""The matrix of a run: one row per clause, one column per harness. Made from the results alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from checkrein.conformance.clauses import Level
from checkrein.conformance.results import Check, HarnessUnderTest, Results
from checkrein.conformance.verdicts import EnforcedBy, Verdict

_STYLES = {
    Verdict.PASS: "green",
    Verdict.NOT_APPLICABLE: "dim",
    Verdict.DRIFT: "yellow",
    Verdict.WARN: "yellow",
    Verdict.EXPECTED_FAIL: "yellow",
    Verdict.FAIL: "bold red",
    Verdict.NOT_TESTABLE: "bold red",
    Verdict.KIT_ERROR: "bold magenta",
}

#: Words of at most eight characters, for narrow columns.
SHORT_WORDS = {
    Verdict.NOT_APPLICABLE: "n/a",
    Verdict.EXPECTED_FAIL: "known",
    Verdict.NOT_TESTABLE: "untested",
    Verdict.KIT_ERROR: "kit err",
}

#: A verdict, or a mark behind it, and what it means.
_ADAPTER_MARK = "*"
_ADAPTER_MEANS = "the harness alone does not keep it, its adapter sees to it"

#: Characters between two columns.
_GAP = 2

#: More characters than any table needs.
_ANY_WIDTH = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """How wide the columns are: the first that fits the terminal is taken.

    Args:
        marks: a mark instead of words where the adapter sees to a clause.
        short: short words for verdicts.
        numbers: numbers at the head of the columns, which lines above explain.
    """

    marks: bool
    short: bool
    numbers: bool


_LAYOUTS = (
    _Layout(marks=False, short=False, numbers=False),
    _Layout(marks=True, short=True, numbers=False),
    _Layout(marks=True, short=True, numbers=True),
)


@dataclass(frozen=True, slots=True)
class _Matrix:
    """The report, laid out for the console that it is printed on."""

    results: Results

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        unbounded = options.update(max_width=_ANY_WIDTH)
        for layout in _LAYOUTS:
            table = _table(self.results, layout)
            if console.measure(table, options=unbounded).maximum <= options.max_width:
                break
        else:
            layout, table = _LAYOUTS[-1], _table(self.results, _LAYOUTS[-1])
        if layout.numbers:
            for number, harness in enumerate(self.results.header.harnesses, start=1):
                yield Text(f"column {number}: {harness.label}")
        yield table
        yield from _legend(self.results.checks, layout)
        yield from _summary(self.results)


def render_matrix(results: Results) -> _Matrix:
    """The whole report of a run: matrix, counts, and what must be known to trust it."""
    return _Matrix(results)


def verdict_text(check: Check, *, short: bool = False, marks: bool = False) -> Text:
    """A cell: the verdict in plain words, and who sees to it when that is the adapter."""
    word = SHORT_WORDS.get(check.verdict, check.verdict.words) if short else check.verdict.words
    text = Text(word, style=_STYLES[check.verdict])
    if check.enforced_by is EnforcedBy.ADAPTER and check.verdict is Verdict.PASS:
        text.append(_ADAPTER_MARK if marks else " (adapter)", style="cyan")
    return text


def _table(results: Results, layout: _Layout) -> Table:
    gap = 1 if layout.numbers else _GAP
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, gap - 1, 0, 0))
    # An id is never cut: where even the narrowest layout does not fit, it goes on in the next row.
    table.add_column("clause", no_wrap=not layout.numbers, overflow="fold")
    for number, harness in enumerate(results.header.harnesses, start=1):
        table.add_column(_head(harness, number, layout), no_wrap=True)
    cells = {(check.clause, check.harness, check.version): check for check in results.checks}
    levels = {check.clause: check.level for check in results.checks}
    area = ""
    for clause, level in levels.items():
        if area and clause.partition(".")[0] != area:
            table.add_section()
        area = clause.partition(".")[0]
        row = [cells.get((clause, harness.name, harness.version)) for harness in results.header.harnesses]
        table.add_row(
            Text(clause if level is Level.MUST else f"{clause} ({level.value})"),
            *(
                Text("") if check is None else verdict_text(check, short=layout.short, marks=layout.marks)
                for check in row
            ),
        )
    return table


def _head(harness: HarnessUnderTest, number: int, layout: _Layout) -> str:
    if layout.numbers:
        return str(number)
    return f"{harness.name}\n{harness.version}" if layout.short else harness.label


def _legend(checks: Sequence[Check], layout: _Layout) -> Iterator[Text]:
    levels = {check.level for check in checks}
    if Level.MUST in levels and len(levels) > 1:
        yield Text("clauses without a level are a MUST", style="dim")
    if layout.marks and any(_ADAPTER_MARK in verdict_text(check, marks=True).plain for check in checks):
        yield Text(f"{_ADAPTER_MARK} {_ADAPTER_MEANS}", style="dim")
    if layout.short:
        there = {check.verdict for check in checks}
        for verdict, word in SHORT_WORDS.items():
            if verdict in there:
                yield Text(f"{word}: {verdict.words}", style="dim")


def _summary(results: Results) -> Iterator[Text]:
    footer, header = results.footer, results.header
    counted = [f"{number} {verdict.words}" for verdict, number in footer.counts.items() if number]
    yield Text(
        f"{', '.join(counted) or 'nothing was judged'}", style="bold red" if results.red else "bold green"
    )
    share = 100 * footer.startup_seconds / footer.scenario_seconds if footer.scenario_seconds else 0.0
    number = len(results.scenarios)
    yield Text(
        f"{number} scenario{'' if number == 1 else 's'} in {footer.seconds:.0f} s; the harnesses' own start-up took "
        f"{footer.startup_seconds:.0f} s of {footer.scenario_seconds:.0f} s ({share:.0f} %)"
    )
    offline = header.offline
    if offline.enforced:
        yield Text("offline: enforced by the kernel (a network namespace that holds loopback only)")
    else:
        yield Text(
            f"offline: NOT enforced, {offline.means.value.replace('_', ' ')}: {offline.reason}",
            style="yellow",
        )
    yield Text(
        f"contract {header.edition}, sha256 {header.contract_sha256[:16]}; kept in {header.run_folder}"
    )
    for run in results.scenarios:
        for stray in run.strays:
            yield Text(f"left over and killed: {stray} ({run.name} on {run.harness})", style="yellow")
