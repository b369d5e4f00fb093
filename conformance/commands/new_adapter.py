"""`checkrein new-adapter`: the skeleton of a package that brings a harness."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from checkrein.conformance.new_adapter import adapter_names, write_adapter


def new_adapter(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What the harness is called on the command line.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the package's folder is made.")
    ] = Path(),
    npm: Annotated[
        str | None,
        typer.Option("--npm", metavar="PACKAGE", help="The npm package that holds the harness, if one does."),
    ] = None,
) -> None:
    """Write the skeleton of an adapter package; `checkrein smoke NAME` then says what to write next."""
    names = adapter_names(name)
    folder = write_adapter(names, out, npm=npm)
    typer.echo(f"written: {folder}")
    typer.echo(f"next: pip install --editable {shlex.quote(str(folder))}")
    program = name if npm is not None else f"{name}=PATH"
    typer.echo(f"then: checkrein smoke {program}")
