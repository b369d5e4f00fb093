"""`checkrein gate`: may this harness be upgraded? Two versions are run, and the newer one must be no worse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.provision import install_harness, parse_request
from checkrein.conformance.commands.compare import ComparisonFormat, FormatOption, OutOption, show_comparison
from checkrein.conformance.commands.install import InstallProgress
from checkrein.conformance.commands.run import BaselineOption
from checkrein.conformance.comparison.differences import Comparison, compare_columns
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.kit_run import KitOrder, run_kit, wide_console
from checkrein.conformance.run_folder import DEFAULT_RUNS
from checkrein.conformance.target import parse_target


def gate(
    harness: Annotated[str, typer.Argument(metavar="HARNESS", help="Its name.")],
    old: Annotated[str, typer.Option("--from", metavar="VERSION", help="The version that is in use.")],
    new: Annotated[
        str, typer.Option("--to", metavar="VERSION", help="The version to upgrade to; `latest` asks npm.")
    ],
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="CLAUSE", help="An id, its beginning, or a pattern; may be repeated."),
    ] = None,
    format: FormatOption = ComparisonFormat.MARKDOWN,
    out: OutOption = None,
    results: Annotated[
        Path | None,
        typer.Option("--results", metavar="FILE", help="Where to write the results of both versions."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("-n", "--workers", min=1, help="How many scenarios run side by side.")
    ] = None,
    baseline: BaselineOption = None,
    run_dir: Annotated[
        Path, typer.Option("--run-dir", metavar="DIR", help="Where transcripts and workspaces are kept.")
    ] = DEFAULT_RUNS,
    scenarios: Annotated[
        Path | None,
        typer.Option(
            "--scenarios", metavar="PATH", help="Scenarios of your own instead of the kit's.", hidden=True
        ),
    ] = None,
) -> None:
    """Install and run two versions of a harness and compare them; exit status 1 when the newer one is worse."""
    console = wide_console(stderr=True)  # standard output holds the comparison and nothing else
    targets = [_exact(harness, version, console) for version in (old, new)]
    if targets[0] == targets[1]:
        if parse_request(f"{harness}@{new}").is_tag:
            typer.echo(f"{targets[0]} is what `{new}` is: nothing to compare")
            return
        raise BadRequest(
            "both versions are the same", where=targets[0], advice="name two with --from and --to"
        )
    done = run_kit(
        KitOrder(
            harnesses=targets,
            only=only or (),
            results=results,
            workers=workers,
            run_dir=run_dir,
            baseline=baseline,
            scenarios=scenarios,
        ),
        console,
    )
    before, now = done.results.header.harnesses
    pair = compare_columns(done.results, before, done.results, now, load_contract())
    comparison = Comparison(pairs=(pair,), contracts=None)
    show_comparison(comparison, format, out)
    console.print(Text(f"results: {done.file}"), soft_wrap=True)
    raise typer.Exit(int(comparison.has_regressed))


def _exact(harness: str, version: str, console: Console) -> str:
    """The target with its version spelled out: a tag such as `latest` is resolved, and installed with that."""
    text = f"{harness}@{version}"
    parse_target(text)
    if not parse_request(text.partition("=")[0]).is_tag:
        return text  # what is missing is installed before the run
    with InstallProgress(text, console) as progress:
        installed = install_harness(text, on_progress=progress.show)
    return f"{harness}@{installed.version}"
