"""`checkrein report`: a results file as people and CI servers read it. From that file alone; no harness is run."""

from __future__ import annotations

import os
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from checkrein.adapters.errors import BadRequest
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.failure_screen import render_failure
from checkrein.conformance.matrix import render_matrix
from checkrein.conformance.reports.badges import badge_files
from checkrein.conformance.reports.junit import render_junit
from checkrein.conformance.reports.markdown import render_markdown
from checkrein.conformance.reports.profiles import load_profiles
from checkrein.conformance.reports.report_page import render_page
from checkrein.conformance.results import Results
from checkrein.conformance.results_files import read_results
from checkrein.conformance.scrubbing import scrubber_of_this_machine

#: Characters per line where the output is no terminal.
_WIDTH = 120


class ReportFormat(StrEnum):
    """What a report can be made as."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    HTML = "html"
    BADGE = "badge"


def report(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Results, as `checkrein run` writes them.")],
    format: Annotated[
        ReportFormat, typer.Option("--format", "-f", help="What to make of them.")
    ] = ReportFormat.TERMINAL,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="PATH", help="A file; for badges a folder. Else: standard output."
        ),
    ] = None,
    links: Annotated[
        bool,
        typer.Option(
            "--links/--no-links", help="In HTML: link transcripts that are there; not in a page that travels."
        ),
    ] = True,
) -> None:
    """Show results: matrix on a terminal, Markdown, JUnit XML, an HTML page, or badges."""
    results = read_results(file)
    if format is ReportFormat.BADGE:
        _write_badges(results, out)
        return
    text = _rendered(results, format, out, links=links)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_report(text, out)
        typer.echo(f"written: {out}")


def _rendered(results: Results, format: ReportFormat, out: Path | None, *, links: bool) -> str:
    contract, scrubber = load_contract(), scrubber_of_this_machine()
    match format:
        case ReportFormat.MARKDOWN:
            return render_markdown(results, contract, scrubber)
        case ReportFormat.JUNIT:
            return render_junit(results, contract, scrubber)
        case ReportFormat.HTML:
            return render_page(results, contract, scrubber, out=out if links else None)
        case ReportFormat.TERMINAL | ReportFormat.BADGE:
            return _terminal(results, plain=out is not None)


def _terminal(results: Results, *, plain: bool) -> str:
    """What `checkrein run` prints at its end; colours only where somebody sees them."""
    seen = Console(highlight=False)
    wide = plain or not (seen.is_terminal or "COLUMNS" in os.environ)
    console = Console(highlight=False, width=_WIDTH) if wide else seen
    if plain:
        console = Console(highlight=False, width=_WIDTH, no_color=True, force_terminal=False)
    with console.capture() as captured:
        console.print(render_matrix(results))
        for check in results.red:
            console.print()
            console.print(render_failure(check, load_contract()), soft_wrap=True)
    return scrubber_of_this_machine().text(captured.get())


def _write_badges(results: Results, out: Path | None) -> None:
    if out is None:
        raise BadRequest(
            "badges are several files", where="--format badge", advice="name a folder for them with --out"
        )
    for name, text in badge_files(results, load_profiles(), load_contract()).items():
        write_report(text, out / name)
        typer.echo(f"written: {out / name}")


def write_report(text: str, path: Path) -> None:
    """Write a report that is there whole or not at all.

    Raises:
        BadRequest: it cannot be written there.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(path)
    except OSError as fault:
        with suppress(OSError):
            partial.unlink()
        raise BadRequest(
            f"the report cannot be written: {fault.strerror}",
            where=str(path),
            advice="name another place with --out",
        ) from fault
