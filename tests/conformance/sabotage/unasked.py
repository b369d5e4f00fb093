"""Defects of harnesses that ask nobody."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from checkrein.adapters import opening
from checkrein.adapters.policy import Policy
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute


def run_unasked() -> None:
    """Where nobody can be asked, nobody is, without a word."""
    replace_attribute(opening, "_policy", lambda _: lambda adapter, policy: Policy.AUTO)


DEFECTS: dict[str, Defect] = {
    "runs unasked where nobody can be asked": Defect(
        harness="codex-exec",
        red=("approve.no-prompts.fails-closed",),
        among=("approve.no-prompts.*",),
        install=run_unasked,
    ),
}
