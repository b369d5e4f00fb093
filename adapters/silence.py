"""A harness that says nothing any more while it should: noticed, whatever it waits for."""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio

#: How long a harness may say nothing while no tool runs and no question stands, in seconds. Claude Code 2.1.332 gives a
#: model request up after 600 s by itself; Codex 0.171.0 waits for ever for the head of an answer.
STALL_SECONDS = 900.0


async def fell_silent(
    *, heard_at: Callable[[], float], busy: Callable[[], bool], over: anyio.Event, seconds: float
) -> bool:
    """Wait until a turn is over, or until its harness has said nothing for too long.

    Args:
        heard_at: when the harness said something last, by `time.monotonic`.
        busy: it waits for a tool or for an answer of ours, and may be silent.
        over: set when the turn is over.
        seconds: how long it may say nothing otherwise.

    Returns:
        Whether it fell silent; False when the turn was over before that.
    """
    idle_since = time.monotonic()
    while True:
        if busy():
            idle_since = time.monotonic()
        left = max(heard_at(), idle_since) + seconds - time.monotonic()
        if left <= 0:
            return True
        with anyio.move_on_after(left):
            await over.wait()
            return False
