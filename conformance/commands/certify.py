"""`checkrein certify`: run the whole contract on a harness, and put what proves the verdicts into a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from checkrein.conformance.certificates.making import declared_manifest, demand_new, make_bundle
from checkrein.conformance.commands.verify import demand_sound
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.kit_run import KitOrder, run_kit, wide_console
from checkrein.conformance.matrix import render_matrix
from checkrein.conformance.run_folder import DEFAULT_RUNS


def certify(
    manifest: Annotated[
        Path,
        typer.Option("--manifest", metavar="FILE", help="The manifest.toml of the harness's adapter."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="A new folder for the bundle.")],
    version: Annotated[
        str | None, typer.Option("--version", metavar="VERSION", help="Of the harness; the pinned one.")
    ] = None,
    program: Annotated[
        Path | None, typer.Option("--program", metavar="PATH", help="The harness's own program.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("-n", "--workers", min=1, help="How many scenarios run side by side.")
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option("--dialect", metavar="NAME", help="What the harness speaks with its model."),
    ] = None,
    run_dir: Annotated[
        Path, typer.Option("--run-dir", metavar="DIR", help="Where workspaces are kept, too.")
    ] = DEFAULT_RUNS,
) -> None:
    """Certify a harness: every clause, no baseline; exit status 0 when it keeps the contract, 1 when not."""
    declared = declared_manifest(manifest)
    demand_new(out)
    name = declared.name if version is None else f"{declared.name}@{version}"
    console = wide_console()
    run = run_kit(
        KitOrder(
            harnesses=(name if program is None else f"{name}={program}",),
            workers=workers,
            dialect=dialect,
            run_dir=run_dir,
            excuses=False,
        ),
        console,
    )
    console.print(render_matrix(run.results))
    certificate = make_bundle(run.results, manifest, load_contract(), out)
    demand_sound(out, console)
    console.print(f"bundle: {out}; its seal: {certificate.seal}", soft_wrap=True, markup=False)
    raise typer.Exit(certificate.exit_status)
