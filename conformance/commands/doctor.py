"""`checkrein doctor`: what is there and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.provision import default_cache
from checkrein.conformance.commands.doctor_workspace import examine_workspace
from checkrein.conformance.environment import State, examine_machine

#: Exit status of every command when something that the machine needs is missing.
ENVIRONMENT_MISSING = 3

_MARKS = {
    State.PRESENT: Text("ok", style="green"),
    State.LIMITED: Text("limited", style="yellow"),
    State.MISSING: Text("missing", style="bold red"),
}


def doctor(
    workspace: Annotated[
        Path | None,
        typer.Option(
            "--workspace",
            metavar="DIR",
            help="Look at this tree instead: what in it would run or take effect with an ordinary launch of each "
            "harness. Exit status 1 when something was found.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --workspace: as JSON.")] = False,
) -> None:
    """Say what the kit finds on this machine and what it lacks; exit status 3 when something needed is missing."""
    if workspace is not None:
        raise typer.Exit(examine_workspace(workspace, as_json=as_json))
    if as_json:
        raise BadRequest("--json needs --workspace", where="--json", advice="give both")
    console = Console(highlight=False)
    findings = examine_machine(default_cache())
    table = Table(box=None, pad_edge=False)
    for heading in ("what", "state", "detail"):
        table.add_column(heading, overflow="fold", no_wrap=heading != "detail")
    for finding in findings:
        detail = Text(finding.detail)
        if finding.advice:
            detail.append(f"\n→ {finding.advice}", style="dim")
        table.add_row(Text(finding.subject), _MARKS[finding.state], detail)
    console.print(table)
    if any(finding.state is State.MISSING for finding in findings):
        raise typer.Exit(ENVIRONMENT_MISSING)
