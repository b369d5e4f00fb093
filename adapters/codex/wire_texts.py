"""The one table of Codex's error texts that must be matched, with the versions in which each was seen.

The app-server answers nearly every refusal with code -32600 and tells the conditions apart only by text. Two
refusals carry data instead and need no text: input that is too large (code -32602, `data.input_error_code`) and a
turn that takes no steer (`data.codexErrorInfo.activeTurnNotSteerable`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Refusal(StrEnum):
    """A condition that the app-server tells only in words."""

    NO_TURN_TO_STEER = "no_turn_to_steer"
    NO_TURN_TO_INTERRUPT = "no_turn_to_interrupt"
    OTHER_TURN_ACTIVE = "other_turn_active"
    UNKNOWN_THREAD = "unknown_thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class WireText:
    """One text of the wire.

    Args:
        refusal: what it means.
        pattern: matches the start of the error's message.
        versions: of Codex, in which the text was seen.
        answers: the methods that were answered with it.
    """

    refusal: Refusal
    pattern: re.Pattern[str]
    versions: tuple[str, ...]
    answers: tuple[str, ...]


_BOTH = ("0.162.1", "0.171.0")

WIRE_TEXTS: tuple[WireText, ...] = (
    WireText(
        refusal=Refusal.NO_TURN_TO_STEER,
        pattern=re.compile(r"no active turn to steer"),
        versions=_BOTH,
        answers=("turn/steer",),
    ),
    WireText(
        refusal=Refusal.NO_TURN_TO_INTERRUPT,
        pattern=re.compile(r"no active turn to interrupt"),
        versions=_BOTH,
        answers=("turn/interrupt",),
    ),
    # turn/steer quotes the two ids with backquotes, turn/interrupt does not.
    WireText(
        refusal=Refusal.OTHER_TURN_ACTIVE,
        pattern=re.compile(r"expected active turn id `?[^` ]*`? but found "),
        versions=_BOTH,
        answers=("turn/steer", "turn/interrupt"),
    ),
    WireText(
        refusal=Refusal.UNKNOWN_THREAD,
        pattern=re.compile(r"no rollout found for thread id "),
        versions=_BOTH,
        answers=("thread/resume", "thread/fork"),
    ),
    # An id that is no UUID.
    WireText(
        refusal=Refusal.UNKNOWN_THREAD,
        pattern=re.compile(r"invalid (session|thread) id: "),
        versions=_BOTH,
        answers=("thread/resume", "thread/fork"),
    ),
)


def recognise(message: str) -> Refusal | None:
    """Return what an error message of the app-server means; None when the table does not know it."""
    for text in WIRE_TEXTS:
        if text.pattern.match(message):
            return text.refusal
    return None
