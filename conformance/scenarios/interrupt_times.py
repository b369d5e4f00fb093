"""The figures of interrupts: how long each part took, and how they are put into words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptTimes:
    """Milliseconds from the call of one interrupt; None where there was no such thing.

    Args:
        acknowledged: until the harness acknowledged it.
        hung_up: until the model saw that the client had closed the stream.
        ended: until the harness told the end of the turn.
        quiet: until nothing of the turn was left: stream, tool, turn.
    """

    acknowledged: float | None
    hung_up: float | None
    ended: float | None
    quiet: float


def summary(taken: Sequence[InterruptTimes]) -> str:
    """Median, 95th percentile (by nearest rank) and maximum of each figure."""
    return ", ".join(
        f"{field.name.replace('_', ' ')} {_figures(found)}"
        for field in fields(InterruptTimes)
        if (found := sorted(value for one in taken if (value := _value(one, field.name)) is not None))
    )


def _value(times: InterruptTimes, name: str) -> float | None:
    value: float | None = getattr(times, name)
    return value


def _figures(ordered: Sequence[float]) -> str:
    ranks = (0.5, 0.95, 1.0)
    return "/".join(f"{ordered[math.ceil(rank * len(ordered)) - 1]:.0f}" for rank in ranks)
