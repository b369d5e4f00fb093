"""The wire: every line between driver and harness, parsed, in order, on the scenario's timeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import msgspec

from checkrein.adapters.transport import Direction
from checkrein.scripted_models.errors import DeadlineExceeded
from checkrein.scripted_models.timeline import Row, Source, Timeline

#: Lines that are longer are kept without their middle, and not as a message: the transcript stays readable.
LONGEST_LINE = 4 * 1024 * 1024
KEPT_OF_LONG_LINES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRow:
    """One line on the wire.

    Args:
        n: its number on the timeline, and so in the transcript.
        at_ms: milliseconds since the timeline's start.
        direction: which way it went.
        message: the JSON object that it holds; empty when it holds something else.
        text: the line as text.
    """

    n: int
    at_ms: float
    direction: Direction
    message: dict[str, object]
    text: str

    def at(self, *keys: str | int) -> object:
        """The value under these keys, one level each; None when there is none."""
        value: object = self.message
        for key in keys:
            value = _below(value, key)
        return value


def _below(value: object, key: str | int) -> object:
    if isinstance(value, dict) and isinstance(key, str):
        return cast("dict[str, object]", value).get(key)
    if isinstance(value, list) and isinstance(key, int):
        items = cast("list[object]", value)
        return items[key] if -len(items) <= key < len(items) else None
    return None


WirePredicate = Callable[[WireRow], bool]


def _any_row(_: WireRow) -> bool:
    return True


class Wire:
    """The lines of one scenario. `tap` goes to the sessions."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._rows: dict[int, WireRow] = {}
        self._watchers: list[tuple[WirePredicate, Callable[[WireRow], None]]] = []
        self._fault: Exception | None = None

    def tap(self, direction: Direction, line: bytes) -> None:
        """Take one line in."""
        if len(line) > LONGEST_LINE:
            cut = len(line) - 2 * KEPT_OF_LONG_LINES
            line = b"%b[%d bytes are not kept]%b" % (
                line[:KEPT_OF_LONG_LINES],
                cut,
                line[-KEPT_OF_LONG_LINES:],
            )
        text = line.decode("utf-8", "backslashreplace")
        message: dict[str, object] = {}
        if direction is not Direction.STDERR:
            try:
                decoded: object = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                decoded = None
            if isinstance(decoded, dict):
                message = cast("dict[str, object]", decoded)
        source = Source.DRIVER if direction is Direction.TO_HARNESS else Source.HARNESS
        data: dict[str, object] = {"message": message} if message else {"text": text}
        row = self._timeline.record(source, direction.value, **data)
        line_row = WireRow(n=row.n, at_ms=row.at_ms, direction=direction, message=message, text=text)
        self._rows[row.n] = line_row
        for predicate, act in self._watchers:
            try:
                if predicate(line_row):
                    act(line_row)
            except Exception as fault:
                # Of the kit: the session, which reads this line next, has no part in it.
                self._fault = self._fault or fault

    def when(self, predicate: WirePredicate, act: Callable[[WireRow], None]) -> None:
        """Run `act` at every line that fulfils the predicate, before the driver has read it; it must be quick.

        What it raises is raised by `check`.
        """
        self._watchers.append((predicate, act))

    def check(self) -> None:
        """Raise what a watcher has raised; call it before what the watchers saw is judged."""
        if self._fault is not None:
            raise self._fault

    @property
    def rows(self) -> tuple[WireRow, ...]:
        """Every line so far, standard error included."""
        return tuple(self._rows.values())

    def sent(self, predicate: WirePredicate = _any_row) -> tuple[WireRow, ...]:
        """The lines to the harness that fulfil the predicate."""
        return tuple(row for row in self.rows if row.direction is Direction.TO_HARNESS and predicate(row))

    def received(self, predicate: WirePredicate = _any_row) -> tuple[WireRow, ...]:
        """The lines from the harness that fulfil the predicate."""
        return tuple(row for row in self.rows if row.direction is Direction.FROM_HARNESS and predicate(row))

    async def wait(
        self, predicate: WirePredicate, timeout: float, *, what: str = "a line on the wire", after: int = 0
    ) -> WireRow:
        """Wait for the first line, either way, that fulfils the predicate.

        Args:
            timeout: in seconds.
            what: what is waited for, in words.
            after: number of a row; only later ones count.

        Raises:
            DeadlineExceeded: none came in time; shows the timeline.
        """
        found: list[WireRow] = []

        def matches(row: Row) -> bool:
            if row.kind not in _KINDS:
                return False
            line = self._rows.get(row.n) or _parsed(row)
            if predicate(line):
                found.append(line)
                return True
            return False

        try:
            await self._timeline.wait(matches, timeout, after=after)
        except DeadlineExceeded as late:
            raise DeadlineExceeded(waited_for=what, seconds=timeout, timeline=late.timeline) from None
        return found[0]


_KINDS = frozenset(direction.value for direction in Direction)


def _parsed(row: Row) -> WireRow:
    """The line of a row that another thread has put on the timeline a moment ago."""
    message = row.data.get("message")
    return WireRow(
        n=row.n,
        at_ms=row.at_ms,
        direction=Direction(row.kind),
        message=cast("dict[str, object]", message) if isinstance(message, dict) else {},
        text=str(row.data.get("text", "")),
    )
