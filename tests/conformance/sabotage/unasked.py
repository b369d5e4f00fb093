"""Defects of harnesses that ask nobody."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from pathlib import Path
from typing import Any

from checkrein.adapters import opening
from checkrein.adapters.policy import Policy
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute


def run_unasked() -> None:
    """Where nobody can be asked, nobody is, without a word."""
    replace_attribute(opening, "_policy", lambda _: lambda adapter, policy: Policy.AUTO)


def leave_a_file() -> None:
    """A session that is refused has made a file in the workspace before."""

    def make(workspace: Any) -> Any:
        def marked(cwd: Any) -> Path:
            folder = workspace(cwd)
            (folder / "session.lock").touch()
            return folder

        return marked

    replace_attribute(opening, "_workspace", make)


DEFECTS: dict[str, Defect] = {
    "runs unasked where nobody can be asked": Defect(
        harness="codex-exec",
        red=("approve.no-prompts.fails-closed",),
        among=("approve.no-prompts.*",),
        install=run_unasked,
    ),
    "leaves a file where it refuses": Defect(
        harness="codex-exec",
        red=("approve.no-prompts.fails-closed",),
        among=("approve.no-prompts.*",),
        install=leave_a_file,
    ),
}
