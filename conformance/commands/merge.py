"""`checkrein merge`: the results of a run in parts, as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.kit_run import wide_console
from checkrein.conformance.matrix import render_matrix
from checkrein.conformance.results_files import read_results, write_results
from checkrein.conformance.results_merging import Part, merge_results


def merge(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Results of the parts, as `checkrein run` wrote them."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file for all of them.")],
) -> None:
    """Join results files of one run; exit status 0 when nothing in them is red, else 1."""
    parts = [Part(file=file, results=read_results(file)) for file in files]
    merged = merge_results(
        parts, load_contract(), command=("checkrein", "merge", *(str(file) for file in files))
    )
    write_results(merged, out)
    console = wide_console()
    console.print(render_matrix(merged))
    console.print(f"results: {out}", soft_wrap=True, markup=False)
    raise typer.Exit(merged.footer.exit_status)
