"""Defects of the driver command, which is a process of its own."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from typing import Any

import msgspec

from checkrein.adapters import session
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute
from tests.conformance.saboteurs.leaving import leave_a_process


def _recorded(**wrong: Any) -> None:
    def make(record: Any) -> Any:
        def other(turn: Any, **facts: Any) -> Any:
            made = record(turn, **facts)
            return made if made.status is None else msgspec.structs.replace(made, **wrong)

        return other

    replace_attribute(session, "record_of", make)


def record_a_completed_turn() -> None:
    """Every turn is recorded as completed."""
    _recorded(status="completed")


def record_nobody() -> None:
    """Nobody is recorded as having stopped the turn."""
    _recorded(stopped_by=None)


DEFECTS: dict[str, Defect] = {
    name: Defect(
        harness="reference",
        red=("drive.ctrl-c.exit-130",),
        among=("drive.ctrl-c.exit-130",),
        install=install,
    )
    for name, install in {
        "leaves a process behind ctrl-c": leave_a_process,
        "records every turn as completed": record_a_completed_turn,
        "records nobody who stopped a turn": record_nobody,
    }.items()
}
