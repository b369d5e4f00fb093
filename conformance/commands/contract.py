"""`checkrein contract`: the clauses, as a list or one in full."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from checkrein.conformance.clauses import Clause
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.selection import select_clauses


def contract(
    clauses: Annotated[
        list[str] | None, typer.Argument(metavar="[CLAUSE]...", help="An id, its beginning, or a pattern.")
    ] = None,
) -> None:
    """Show the clauses that a harness is held to; those that are named, in full."""
    console = Console(highlight=False)
    loaded = load_contract()
    console.print(f"contract {loaded.edition}, sha256 {loaded.digest}", soft_wrap=True)
    chosen = loaded.in_order(select_clauses(clauses or [], loaded))
    for clause in chosen:
        console.print(_in_full(clause) if clauses else _line(clause), soft_wrap=True)
    if not clauses:
        planned = ", ".join(clause.id for clause in loaded.planned)
        console.print(f"not judged yet: {planned}", soft_wrap=True)


def _line(clause: Clause) -> Text:
    return Text.assemble((f"{clause.id} ", "bold"), f"{clause.level.value}  {clause.text}")


def _in_full(clause: Clause) -> Text:
    about = ", ".join(clause.harnesses) if clause.harnesses else "every harness"
    if clause.capability is not None:
        about += f" that can do: {clause.capability.value}"
    if clause.without is not None:
        about += f" that declares that it cannot do: {clause.without.value}"
    return Text.assemble(
        (f"\n{clause.id} ", "bold"),
        f"{clause.level.value}\n{clause.text}\n",
        ("why: ", "bold"),
        f"{clause.source}\n",
        ("about: ", "bold"),
        f"{about}; since {clause.since}",
    )
