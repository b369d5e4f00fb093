"""Usage of one turn alone, out of reports that count from the start of a conversation or of a process."""

from __future__ import annotations

from dataclasses import fields
from typing import TypeVar

from checkrein.adapters.native import Usage, UsageReported, UsageScope

N = TypeVar("N", int, float)

NOTHING = Usage(input_tokens=0, cached_tokens=0, output_tokens=0, cost_usd=0.0)
UNKNOWN = Usage()


class UsageMeter:
    """Keeps the running totals of one conversation and tells what a turn added.

    Cumulative totals become a difference; a total below the last one means that the harness began to count anew.
    What the harness does not tell stays None.
    """

    def __init__(self) -> None:
        self._base = NOTHING
        self._total = UNKNOWN
        self._turn = UNKNOWN

    def process_started(self, *, continued: bool) -> None:
        """A new process serves the conversation.

        Args:
            continued: it takes up an existing conversation, so that its totals may or may not include the past:
                unknown until it reports a baseline.
        """
        self._base = UNKNOWN if continued else NOTHING
        self._total = UNKNOWN

    def turn_started(self) -> None:
        """What is counted from here on belongs to a new turn."""
        self._base = _merged(self._base, self._total)
        self._turn = UNKNOWN

    def report(self, event: UsageReported) -> None:
        """Take in what the harness said."""
        match event.scope:
            case UsageScope.CUMULATIVE if event.baseline:
                self._base = self._total = _merged(self._total, event.usage)
            case UsageScope.CUMULATIVE:
                self._base = _restarted(self._base, event.usage)
                self._total = _merged(self._total, event.usage)
            case UsageScope.TURN:
                self._turn = _sum(self._turn, event.usage)

    def of_turn(self) -> Usage:
        """What the turn has used so far.

        A turn without any token is one that the harness knows nothing of (Codex 0.171.0 repeats the old totals
        after an interrupted stream): unknown, not nothing.
        """
        used = _merged(_difference(self._total, self._base), self._turn)
        return used if used.input_tokens or used.output_tokens else UNKNOWN


def _minus(total: N | None, base: N | None) -> N | None:
    return None if total is None or base is None else total - base


def _difference(total: Usage, base: Usage) -> Usage:
    return Usage(
        input_tokens=_minus(total.input_tokens, base.input_tokens),
        cached_tokens=_minus(total.cached_tokens, base.cached_tokens),
        output_tokens=_minus(total.output_tokens, base.output_tokens),
        cost_usd=_minus(total.cost_usd, base.cost_usd),
    )


def _merged(older: Usage, newer: Usage) -> Usage:
    """`newer` where it says something, else `older`."""
    values = {
        field.name: getattr(older, field.name)
        if getattr(newer, field.name) is None
        else getattr(newer, field.name)
        for field in fields(Usage)
    }
    return Usage(**values)


def _plus(one: N | None, other: N | None) -> N | None:
    if one is None:
        return other
    return one if other is None else one + other


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=_plus(one.input_tokens, other.input_tokens),
        cached_tokens=_plus(one.cached_tokens, other.cached_tokens),
        output_tokens=_plus(one.output_tokens, other.output_tokens),
        cost_usd=_plus(one.cost_usd, other.cost_usd),
    )


def _restarted(base: Usage, total: Usage) -> Usage:
    """The base, set back to nothing where the new total is below it."""

    def back(old: N | None, new: N | None, zero: N) -> N | None:
        return zero if old is not None and new is not None and new < old else old

    return Usage(
        input_tokens=back(base.input_tokens, total.input_tokens, 0),
        cached_tokens=back(base.cached_tokens, total.cached_tokens, 0),
        output_tokens=back(base.output_tokens, total.output_tokens, 0),
        cost_usd=back(base.cost_usd, total.cost_usd, 0.0),
    )
