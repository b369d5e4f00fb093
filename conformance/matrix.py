"""The matrix of a run: one row per clause, one column per harness. Made from the results alone."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from checkrein.conformance.results import Check, Results
from checkrein.conformance.verdicts import EnforcedBy, Verdict

_STYLES = {
    Verdict.PASS: "green",
    Verdict.NOT_APPLICABLE: "dim",
    Verdict.WARN: "yellow",
    Verdict.EXPECTED_FAIL: "yellow",
    Verdict.FAIL: "bold red",
    Verdict.NOT_TESTABLE: "bold red",
    Verdict.KIT_ERROR: "bold magenta",
}


def render_matrix(results: Results) -> RenderableType:
    """The whole report of a run: matrix, counts, and what must be known to trust it."""
    return Group(_table(results), *_summary(results))


def verdict_text(check: Check) -> Text:
    """A cell: the verdict in plain words, and who sees to it when that is the adapter."""
    text = Text(check.verdict.words, style=_STYLES[check.verdict])
    if check.enforced_by is EnforcedBy.ADAPTER and check.verdict is Verdict.PASS:
        text.append(" (adapter)", style="cyan")
    return text


def _table(results: Results) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("clause", overflow="fold")
    table.add_column("level", no_wrap=True)
    for harness in results.header.harnesses:
        table.add_column(harness.label, no_wrap=True)
    cells = {(check.clause, check.harness, check.version): check for check in results.checks}
    levels = {check.clause: check.level for check in results.checks}
    area = ""
    for clause, level in levels.items():
        if area and clause.partition(".")[0] != area:
            table.add_section()
        area = clause.partition(".")[0]
        row = [cells.get((clause, harness.name, harness.version)) for harness in results.header.harnesses]
        table.add_row(
            Text(clause),
            Text(level.value),
            *(Text("") if check is None else verdict_text(check) for check in row),
        )
    return table


def _summary(results: Results) -> Iterator[RenderableType]:
    footer, header = results.footer, results.header
    counted = [f"{number} {verdict.words}" for verdict, number in footer.counts.items() if number]
    yield Text(
        f"{', '.join(counted) or 'nothing was judged'}", style="bold red" if results.red else "bold green"
    )
    number = len(results.scenarios)
    share = 100 * footer.startup_seconds / footer.scenario_seconds if footer.scenario_seconds else 0.0
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
