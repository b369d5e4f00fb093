"""Who else sees the lines: the tap of a transcript."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Direction(StrEnum):
    """Which way a line went."""

    TO_HARNESS = "to_harness"
    FROM_HARNESS = "from_harness"
    STDERR = "stderr"


#: Called with every line, without its end: before it is sent, or when it has been received. It must not block.
Tap = Callable[[Direction, bytes], None]
