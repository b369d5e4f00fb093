"""`checkrein doctor --workspace`: what in a tree would take effect, before an agent is started there."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.provision import program_owner
from checkrein.adapters.registry import find_harness, harness_names
from checkrein.adapters.shown import one_line
from checkrein.adapters.workspace import Severity, WorkspaceFinding

#: Exit status when something was found.
FOUND = 1

_STYLES = {
    Severity.CRITICAL: "bold red",
    Severity.HIGH: "red",
    Severity.MEDIUM: "yellow",
    Severity.LOW: "dim",
}


def examine_workspace(workspace: Path, *, as_json: bool) -> int:
    """Show what the adapters find in a tree; nothing of it is executed.

    Returns:
        The exit status: 0 when nothing was found, 1 when something was.

    Raises:
        BadRequest: it is no directory.
    """
    if not workspace.is_dir():
        raise BadRequest("the workspace is no directory", where=str(workspace), advice="give one that exists")
    workspace = workspace.resolve()
    found: list[WorkspaceFinding] = []
    unknown: list[str] = []
    for name in (name for name in harness_names() if program_owner(name) == name):
        findings = find_harness(name).workspace_findings(workspace)
        if findings is None:
            unknown.append(name)
        else:
            found += findings
    if as_json:
        print(_as_json(workspace, found, unknown))
    else:
        _show(workspace, found, unknown)
    return FOUND if found else 0


def _as_json(workspace: Path, found: list[WorkspaceFinding], unknown: list[str]) -> str:
    document = {
        "workspace": str(workspace),
        "findings": [msgspec.to_builtins(one, enc_hook=str) for one in found],
        "not_known_for": unknown,
    }
    return msgspec.json.format(msgspec.json.encode(document, enc_hook=str)).decode()


def _show(workspace: Path, found: list[WorkspaceFinding], unknown: list[str]) -> None:
    console = Console(highlight=False)
    for harness in sorted({one.harness for one in found}):
        table = Table(
            title=f"{harness}: takes effect with an ordinary launch",
            title_justify="left",
            box=None,
            pad_edge=False,
        )
        for heading in ("severity", "where", "what it would do", "with checkrein"):
            table.add_column(heading, overflow="fold", no_wrap=heading == "severity")
        for one in (one for one in found if one.harness == harness):
            table.add_row(
                Text(one.severity.value, style=_STYLES[one.severity]),
                Text(one_line(_where(workspace, one))),
                Text(one_line(one.effect)),
                Text("closed", style="green") if one.closed else Text("OPEN", style="bold red"),
            )
        console.print(table)
    for harness in unknown:
        console.print(f"{harness}: its adapter does not know what it obeys")
    if not found:
        console.print("nothing that takes effect by itself was found")


def _where(workspace: Path, one: WorkspaceFinding) -> str:
    inside = one.file.is_relative_to(workspace)
    words = str(one.file.relative_to(workspace) if inside else one.file)
    if one.line is not None:
        words += f":{one.line}"
    if one.key:
        words += f" {one.key}"
    return words if one.leads_to is None else f"{words} -> {one.leads_to}"
