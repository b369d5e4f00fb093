"""Defects of how faults are taken: of tools, of the model, of the harness's process and of the driver."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from dataclasses import replace
from typing import Any

from checkrein.adapters.codex import translate
from checkrein.adapters.link import Link
from checkrein.adapters.native import TurnStatus
from checkrein.adapters.record_keeping import RecordKeeper
from checkrein.adapters.transport import link as guard_link
from checkrein.adapters.turn import Turn
from checkrein.scripted_models import ItemKind
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute, rewrite_history


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


def forget_the_call() -> None:
    """The model is not told of a call that ran while its answer broke off."""
    rewrite_history(lambda item: None if item.id.startswith("call_") else item)


def leave_the_orphans() -> None:
    """What a dead harness left behind lives on."""

    async def sweep(self: Any) -> None:
        pass

    replace_attribute(Link, "_sweep", lambda _: sweep)


def let_the_guard_go() -> None:
    """The guard ends with the driver, and ends nothing."""
    idle = "from guard import watch; watch.Guard.end = lambda self: None; watch.main()"
    guard_link.RUN_GUARD = f"import sys; sys.path.append(sys.argv.pop(1)); {idle}"


def record_the_end_only() -> None:
    """The record is written when the turn has ended."""
    replace_attribute(RecordKeeper, "_append", lambda _: lambda self, turn, line: None)


DEFECTS: dict[str, Defect] = {
    "hides the output of a failed tool": Defect(
        harness="codex",
        red=("fault.tool-nonzero.receipt", "fault.tool-timeout.receipt", "fault.bad-arguments.receipt"),
        among=("fault.tool-*", "fault.bad-arguments.*"),
        install=hide_the_output,
    ),
    "gives no reason for a failure": Defect(
        harness="codex",
        red=("fault.model-400", "fault.model-401", "fault.model-403"),
        among=("fault.model-40*", "fault.model-cut-*"),
        install=give_no_reason,
    ),
    "calls a failure completed": Defect(
        harness="codex",
        red=(
            "fault.model-400",
            "fault.model-401",
            "fault.model-403",
            "fault.model-429",
            "fault.model-500",
            "fault.model-529",
            "fault.model-cut-mid-text",
            "fault.model-malformed-sse",
            "fault.model-silent",
        ),
        among=("fault.model-*",),
        install=call_it_completed,
    ),
    "forgets the calls of a broken answer": Defect(
        harness="codex",
        red=("fault.model-cut-after-tool-call",),
        among=("fault.model-cut-after-tool-call",),
        install=forget_the_call,
    ),
    "leaves alive what a dead harness started": Defect(
        harness="claude-code",
        red=("fault.harness-dies",),
        among=("fault.harness-dies",),
        install=leave_the_orphans,
    ),
    "lets the guard end alone": Defect(
        harness="codex",
        red=("fault.driver-dies",),
        among=("fault.driver-dies", "record.survives-crash"),
        install=let_the_guard_go,
    ),
    "records a turn at its end only": Defect(
        harness="codex",
        red=("record.survives-crash",),
        among=("fault.driver-dies", "record.survives-crash"),
        install=record_the_end_only,
    ),
}
