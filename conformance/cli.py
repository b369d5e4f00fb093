"""The command line `checkrein`: what each command is called; what it does is in `commands/`.

Exit statuses of every command: 0 done, 1 it was tried and failed, 2 the command line was wrong, 3 something that the
machine needs is missing, 130 interrupted by ctrl-c.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from checkrein.adapters.errors import CheckreinError
from checkrein.conformance.commands.certify import certify
from checkrein.conformance.commands.compare import compare
from checkrein.conformance.commands.contract import contract
from checkrein.conformance.commands.doctor import doctor
from checkrein.conformance.commands.drive import drive_command
from checkrein.conformance.commands.gate import gate
from checkrein.conformance.commands.install import install
from checkrein.conformance.commands.merge import merge
from checkrein.conformance.commands.new_adapter import new_adapter
from checkrein.conformance.commands.plan import plan
from checkrein.conformance.commands.report import report
from checkrein.conformance.commands.run import run
from checkrein.conformance.commands.smoke import smoke
from checkrein.conformance.commands.verify import verify
from checkrein.conformance.rendering import render_error

app = typer.Typer(
    name="checkrein",
    help="Steer, interrupt, approve and inspect coding-agent harnesses, and check offline that they keep the contract.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.command()(report)
app.command()(compare)
app.command()(gate)
app.command()(plan)
app.command()(merge)
app.command()(certify)
app.command()(verify)
app.command()(install)
app.command()(doctor)
app.command("drive")(drive_command)
app.command()(contract)
app.command()(smoke)
app.command("new-adapter")(new_adapter)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"checkrein {version('checkrein')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """Read the options that come before the command."""


def main() -> NoReturn:
    """Run the command line and exit with its status; a foreseeable fault is shown without a traceback."""
    try:
        app()
    except CheckreinError as error:
        render_error(error, Console(stderr=True, highlight=False))
        sys.exit(error.exit_status)
    sys.exit(0)
