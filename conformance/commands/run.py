"""`checkrein run`: do these harnesses keep the contract? Offline, on the real programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from checkrein.adapters.provision import pinned_versions
from checkrein.conformance.baseline_writing import update_baseline
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.failure_screen import render_failure
from checkrein.conformance.kit_run import KitOrder, run_kit, wide_console
from checkrein.conformance.matrix import render_matrix
from checkrein.conformance.run_folder import DEFAULT_RUNS

BaselineOption = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="PATH",
        help="Known failures of your own beside the kit's: a file, or a folder with one per harness.",
    ),
]


def run(
    harnesses: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[HARNESS[@VERSION]]...",
            help="Without any, every harness with a pinned version. NAME=PATH runs an executable of your own.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="CLAUSE", help="An id, its beginning, or a pattern; may be repeated."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option("--results", metavar="FILE", help="Where to write the results (JSON Lines)."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--workers",
            min=1,
            help="How many scenarios run side by side (one more than there are cores, at most 6; for a bundled "
            "harness three times as many, at most 12).",
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option("--dialect", metavar="NAME", help="What the harnesses speak with their model."),
    ] = None,
    run_dir: Annotated[
        Path, typer.Option("--run-dir", metavar="DIR", help="Where transcripts and workspaces are kept.")
    ] = DEFAULT_RUNS,
    baseline: BaselineOption = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update-baseline",
            help="Write new failures into the baseline, their reasons to be written; take out what holds again.",
        ),
    ] = False,
    scenarios: Annotated[
        Path | None,
        typer.Option(
            "--scenarios", metavar="PATH", help="Scenarios of your own instead of the kit's.", hidden=True
        ),
    ] = None,
) -> None:
    """Check that harnesses keep the contract; exit status 0 when they do, 1 when a clause failed."""
    console = wide_console()
    done = run_kit(
        KitOrder(
            harnesses=harnesses or list(pinned_versions()),
            only=only or (),
            results=results,
            workers=workers,
            dialect=dialect,
            run_dir=run_dir,
            baseline=baseline,
            scenarios=scenarios,
        ),
        console,
    )
    contract = load_contract()
    console.print(render_matrix(done.results))
    for check in done.results.red:
        console.print()
        label = f"{check.harness}@{check.version}"
        target = next(each for each in done.targets if each.partition("=")[0] == label)
        console.print(render_failure(check, contract, target=target), soft_wrap=True)
    console.print(f"results: {done.file}", soft_wrap=True, markup=False)
    if update:
        for changed in update_baseline(done.results, baseline):
            for line in changed.lines:
                console.print(line, soft_wrap=True, markup=False)
    raise typer.Exit(done.results.footer.exit_status)
