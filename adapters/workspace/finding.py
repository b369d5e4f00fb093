"""What is found in a tree."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Severity(StrEnum):
    """What an ordinary launch would let it do."""

    CRITICAL = "critical"  # it runs something, answers questions, or takes the key, and nobody is asked
    HIGH = "high"  # the same, with something else that has to come to it
    MEDIUM = "medium"  # it changes what the agent does or is told
    LOW = "low"  # it is words to the model


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFinding:
    """One thing in a tree that takes effect with an ordinary launch of a harness.

    Args:
        harness: that obeys it.
        file: where it stands.
        leads_to: where that really is, when links lead elsewhere.
        key: within the file; "" where the file itself is what counts.
        line: of the key, as well as a search can tell; None for none.
        effect: what it would do.
        severity: how bad that is.
        closed: whether a session of ours, with any policy but `auto`, keeps it from that.
    """

    harness: str
    file: Path
    leads_to: Path | None
    key: str
    line: int | None
    effect: str
    severity: Severity
    closed: bool
