"""`checkrein compare`: what differs between two results files, and whether the newer one is worse."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from checkrein.conformance.commands.report import write_report
from checkrein.conformance.comparison.differences import Comparison, compare_runs
from checkrein.conformance.comparison.markdown import comparison_markdown
from checkrein.conformance.comparison.terminal import comparison_screen
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.results_files import read_results
from checkrein.conformance.scrubbing import scrubber_of_this_machine


class ComparisonFormat(StrEnum):
    """What a comparison can be made as."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"


FormatOption = Annotated[ComparisonFormat, typer.Option("--format", "-f", help="How to show it.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write it there, beside the exit status.")
]


def compare(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="Results of the run before.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Results of the run now.")],
    format: FormatOption = ComparisonFormat.TERMINAL,
    out: OutOption = None,
) -> None:
    """Compare two results files; exit status 1 when something got red or is not judged any more."""
    comparison = compare_runs(read_results(old), read_results(new), load_contract())
    show_comparison(comparison, format, out)
    raise typer.Exit(int(comparison.has_regressed))


def show_comparison(comparison: Comparison, format: ComparisonFormat, out: Path | None) -> None:
    """Print a comparison, or write it to a file.

    Raises:
        BadRequest: it cannot be written there.
    """
    scrubber = scrubber_of_this_machine()
    match format:
        case ComparisonFormat.MARKDOWN:
            text = comparison_markdown(comparison, load_contract(), scrubber)
        case ComparisonFormat.TERMINAL:
            console = Console(highlight=False, no_color=True if out is not None else None)
            with console.capture() as captured:
                console.print(comparison_screen(comparison, scrubber), soft_wrap=True)
            text = captured.get()
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_report(text, out)
        typer.echo(f"written: {out}")
