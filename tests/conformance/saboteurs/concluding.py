"""Defects of the driver: how it tells the end of a turn of an honest agent."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from checkrein.adapters.outcome import EXIT_STATUS, Outcome, OutcomeStatus, StoppedBy
from checkrein.adapters.turn import Turn
from tests.conformance.saboteurs.defect import Defect, change_property, instead


def _status(before: OutcomeStatus, after: OutcomeStatus) -> None:
    def make(finish: Any) -> Any:
        def told(self: Any, status: OutcomeStatus, **words: Any) -> None:
            finish(self, after if status is before else status, **words)

        return told

    instead(Turn, "_finish", make)


def fail_what_is_completed() -> None:
    """A turn that came to its end is told as failed."""
    _status(OutcomeStatus.COMPLETED, OutcomeStatus.FAILED)


def fail_what_is_interrupted() -> None:
    """A turn that was interrupted is told as failed."""
    _status(OutcomeStatus.INTERRUPTED, OutcomeStatus.FAILED)


def ask_for_a_review() -> None:
    """A turn that failed or was interrupted is told as one to review, with the exit status that it should have."""
    right: dict[int, int] = {}

    def make(finish: Any) -> Any:
        def told(self: Any, status: OutcomeStatus, **words: Any) -> None:
            wrong = (
                OutcomeStatus.COMPLETED if status is OutcomeStatus.COMPLETED else OutcomeStatus.NEEDS_REVIEW
            )
            finish(self, wrong, **words)
            right[id(self._outcome)] = EXIT_STATUS[status]

        return told

    instead(Turn, "_finish", make)
    change_property(Outcome, "exit_status", lambda self, status: right.get(id(self), status))


def exit_otherwise() -> None:
    """The exit status of a turn that failed or was interrupted is another one."""
    change_property(Outcome, "exit_status", lambda self, status: status and 2)


def stop_by_the_harness() -> None:
    """Whatever stopped a turn, it is told that the harness did."""

    def make(finish: Any) -> Any:
        def told(self: Any, status: OutcomeStatus, **words: Any) -> None:
            finish(self, status, **{**words, "stopped_by": words.get("stopped_by") and StoppedBy.HARNESS})

        return told

    instead(Turn, "_finish", make)


def leave_out_numbers() -> None:
    """The reason of an outcome is told without the numbers in it."""

    def make(init: Any) -> Any:
        return lambda self, **words: init(self, **{**words, "reason": re.sub(r"\d+", "", words["reason"])})

    instead(Outcome, "__init__", make)


def lose_the_text() -> None:
    """An outcome is told without the model's last text."""
    instead(Outcome, "__init__", lambda init: lambda self, **words: init(self, **{**words, "text": ""}))


def make_the_outcome_anew() -> None:
    """A second interrupt gives an outcome of its own."""

    def make(interrupt: Any) -> Any:
        async def again(self: Any, message: Any = None) -> Any:
            asked_before = self._interrupt_asked
            outcome = await interrupt(self, message)
            return replace(outcome, stopped_by=StoppedBy.KILL) if asked_before else outcome

        return again

    instead(Turn, "interrupt", make)


#: A turn that fails or is interrupted, and the one behind it, which is completed.
_NEXT_PROMPT = (
    "interrupt.frozen.killed",
    "fault.wire.silence",
    "fault.wire.exit-mid-request",
    "fault.wire.torn-last-line",
    "fault.model-400",
    "fault.model-401",
    "fault.model-403",
)

DEFECTS = {
    name: Defect(install=install, red=red, in_driver=True)
    for name, (install, red) in {
        "a completed turn is told as failed": (
            fail_what_is_completed,
            (
                "approve.allow.runs-once",
                "approve.deny.turn-goes-on",
                "approve.parallel.matched",
                "approve.timeout.denied",
                "steer.mid-tool.delivered",
                "steer.approval-open.delivered",
                "session.two.no-crosstalk",
                *_NEXT_PROMPT,
                "fault.tool-nonzero.receipt",
                "fault.tool-timeout.receipt",
                "fault.bad-arguments.receipt",
                "interrupt.idle.rejected",
                "interrupt.twice.idempotent",
                "interrupt.with-message.carries-on",
            ),
        ),
        "an interrupted turn is told as failed": (
            fail_what_is_interrupted,
            ("interrupt.twice.idempotent", "interrupt.with-message.carries-on"),
        ),
        "an outcome lacks the text": (
            lose_the_text,
            (
                "approve.deny.turn-goes-on",
                "approve.timeout.denied",
                "interrupt.idle.rejected",
                "interrupt.twice.idempotent",
                "session.resume.continues",
                *_NEXT_PROMPT,
            ),
        ),
        "what failed or was interrupted is told as to be reviewed": (ask_for_a_review, _NEXT_PROMPT),
        "what failed or was interrupted exits with another status": (exit_otherwise, _NEXT_PROMPT),
        "the harness is told to have stopped what was killed": (
            stop_by_the_harness,
            ("interrupt.frozen.killed", "fault.wire.silence"),
        ),
        "a reason lacks its numbers": (
            leave_out_numbers,
            (
                "fault.wire.exit-mid-request",
                "fault.wire.torn-last-line",
                "fault.model-400",
                "fault.model-401",
                "fault.model-403",
                "fault.harness-dies",
            ),
        ),
        "a second interrupt has an outcome of its own": (
            make_the_outcome_anew,
            ("interrupt.twice.idempotent",),
        ),
    }.items()
}
