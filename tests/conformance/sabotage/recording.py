"""Defects of records, of faults, and of the driver command."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from dataclasses import replace
from typing import Any

from checkrein.adapters import outcome
from checkrein.adapters.codex import translate
from checkrein.adapters.native import TurnStatus
from checkrein.adapters.outcome import OutcomeStatus
from checkrein.adapters.turn import Turn
from checkrein.adapters.usage import UsageMeter
from checkrein.scripted_models import ItemKind
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute, rewrite_history


def count_cumulatively() -> None:
    """The usage of a turn is the total of the conversation."""
    replace_attribute(UsageMeter, "of_turn", lambda _: lambda self: self._total)


def hide_the_output() -> None:
    """The model gets an empty result for a tool that ran."""
    rewrite_history(lambda item: replace(item, text="ok") if item.kind is ItemKind.RESULT else item)


def give_no_reason() -> None:
    """A failure has no reason."""
    replace_attribute(translate, "failure_words", lambda _: lambda error: "it failed")


def call_it_completed() -> None:
    """A turn that failed is called completed."""

    def make(close: Any) -> Any:
        def closed(self: Any, event: Any) -> None:
            failed = event.status is TurnStatus.FAILED
            close(self, replace(event, status=TurnStatus.COMPLETED) if failed else event)

        return closed

    replace_attribute(Turn, "_close", make)


def exit_with_0() -> None:
    """The driver command exits with 0 whatever happened."""
    for status in OutcomeStatus:
        outcome.EXIT_STATUS[status] = 0


DEFECTS: dict[str, Defect] = {
    "counts usage cumulatively": Defect(
        harness="codex",
        red=("record.usage.per-turn",),
        among=("record.*", "fault.*"),
        install=count_cumulatively,
    ),
    "hides the output of a failed tool": Defect(
        harness="codex",
        red=("fault.tool-nonzero.receipt",),
        among=("record.*", "fault.*"),
        install=hide_the_output,
    ),
    "gives no reason for a failure": Defect(
        harness="codex",
        red=("fault.model-401",),
        among=("record.*", "fault.*"),
        install=give_no_reason,
    ),
    "calls a failure completed": Defect(
        harness="codex",
        red=("fault.model-401", "fault.model-500"),
        among=("record.*", "fault.*"),
        install=call_it_completed,
    ),
    "exits with 0 after ctrl-c": Defect(
        harness="claude-code",
        red=("drive.ctrl-c.exit-130",),
        among=("drive.*",),
        install=exit_with_0,
    ),
}
