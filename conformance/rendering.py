"""How a foreseeable fault is shown to a person: what happened, where, what to do."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from checkrein.adapters.errors import CheckreinError


def render_error(error: CheckreinError, console: Console) -> None:
    """Print an error on a few lines; the texts are shown as they are, markup in them included."""
    console.print(Text.assemble(("error: ", "bold red"), error.what), soft_wrap=True)
    if error.where:
        console.print(Text.assemble(("where: ", "bold"), error.where), soft_wrap=True)
    if error.advice:
        console.print(Text.assemble(("to do: ", "bold green"), error.advice), soft_wrap=True)
