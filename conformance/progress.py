"""What a run tells while it goes on: one line of JSON per event, through a named pipe."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from checkrein.conformance.verdicts import Verdict


class Planned(msgspec.Struct, frozen=True, tag_field="event", tag="planned"):
    """How many scenarios there are, over all targets."""

    scenarios: int


class Started(msgspec.Struct, frozen=True, tag_field="event", tag="started"):
    """A scenario runs now."""

    scenario: str
    target: str


class Finished(msgspec.Struct, frozen=True, tag_field="event", tag="finished"):
    """A scenario has ended.

    Args:
        verdicts: of its checks, by clause.
    """

    scenario: str
    target: str
    seconds: float
    verdicts: dict[str, Verdict]


ProgressEvent = Planned | Started | Finished


class ProgressWriter:
    """Writes events to a pipe that somebody reads.

    Each event is one write of less than 4 KiB, which a pipe keeps whole, so that several processes can share it.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)

    def write(self, event: ProgressEvent) -> None:
        """Write one event; it is dropped when nobody reads any more or the pipe is full."""
        try:
            os.write(self._descriptor, msgspec.json.encode(event) + b"\n")
        except (BrokenPipeError, BlockingIOError):
            return

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self._descriptor)


def parse_progress(lines: bytes) -> list[ProgressEvent]:
    """The events in these whole lines."""
    return [msgspec.json.decode(line, type=ProgressEvent) for line in lines.splitlines() if line]
