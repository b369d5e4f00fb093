"""`checkrein doctor`: what is there and what is missing."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from checkrein.adapters.provision import default_cache
from checkrein.conformance.environment import State, examine_machine

#: Exit status of every command when something that the machine needs is missing.
ENVIRONMENT_MISSING = 3

_MARKS = {
    State.PRESENT: Text("ok", style="green"),
    State.LIMITED: Text("limited", style="yellow"),
    State.MISSING: Text("missing", style="bold red"),
}


def doctor() -> None:
    """Say what the kit finds on this machine and what it lacks; exit status 3 when something needed is missing."""
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
