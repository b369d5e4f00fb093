"""Defects of records, and of the driver command."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from checkrein.adapters import outcome
from checkrein.adapters.outcome import OutcomeStatus
from checkrein.adapters.usage import UsageMeter
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute


def count_cumulatively() -> None:
    """The usage of a turn is the total of the conversation."""
    replace_attribute(UsageMeter, "of_turn", lambda _: lambda self: self._total)


def exit_with_0() -> None:
    """The driver command exits with 0 whatever happened."""
    for status in OutcomeStatus:
        outcome.EXIT_STATUS[status] = 0


DEFECTS: dict[str, Defect] = {
    "counts usage cumulatively": Defect(
        harness="codex",
        red=("record.usage.per-turn",),
        among=("record.usage.*", "record.survives-crash"),
        install=count_cumulatively,
    ),
    "exits with 0 after ctrl-c": Defect(
        harness="claude-code",
        red=("drive.ctrl-c.exit-130",),
        among=("drive.*",),
        install=exit_with_0,
    ),
}
