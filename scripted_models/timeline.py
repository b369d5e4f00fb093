"""The merged timeline: what person, driver, harness, model and processes did, in one order."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import cast

from checkrein.scripted_models.errors import DeadlineExceeded
from checkrein.scripted_models.waiting import Watch

#: How much of one row's data `render` prints, in characters.
SHOWN_CHARACTERS = 220


class Source(StrEnum):
    """Who a row speaks for."""

    PERSON = "person"
    DRIVER = "driver"
    HARNESS = "harness"
    MODEL = "model"
    PROCESS = "process"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing that happened: its number, milliseconds since the start, who, what, and data."""

    n: int
    at_ms: float
    source: Source
    kind: str
    data: Mapping[str, object]

    def __str__(self) -> str:
        data = " ".join(f"{key}={_shown(value)}" for key, value in self.data.items())
        if len(data) > SHOWN_CHARACTERS:
            hidden = len(data) - SHOWN_CHARACTERS
            data = f"{data[:SHOWN_CHARACTERS]} […{hidden} characters not shown…]"
        return f"{self.n:>5} {self.at_ms:>9.1f} ms  {self.source:<8} {self.kind:<18} {data}".rstrip()


class Timeline:
    """A thread-safe list of rows that several recorders share."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self._rows: list[Row] = []
        self._watch = Watch()

    def now_ms(self) -> float:
        """Return the milliseconds since this timeline was made."""
        return (self._clock() - self._start) * 1000

    def record(self, source: Source | str, kind: str, /, **data: object) -> Row:
        """Append a row and return it; `source` must be one of `Source`."""
        with self._watch:
            row = Row(n=len(self._rows) + 1, at_ms=self.now_ms(), source=Source(source), kind=kind, data=data)
            self._rows.append(row)
            self._watch.changed()
        return row

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows so far."""
        with self._watch:
            return tuple(self._rows)

    async def wait(self, predicate: Callable[[Row], bool], timeout: float, *, after: int = 0) -> Row:
        """Wait for the first row with a number above `after` that fulfils `predicate`, and return it.

        The predicate may run in another thread. Raises DeadlineExceeded after `timeout` seconds.
        """
        looked = after

        def found() -> Row | None:
            nonlocal looked
            while looked < len(self._rows):
                row = self._rows[looked]
                if predicate(row):
                    return row
                looked += 1
            return None

        row = await self._watch.until(found, timeout)
        if row is None:
            raise DeadlineExceeded(
                waited_for="a row of the timeline", seconds=timeout, timeline=self.render(last=60)
            )
        return row

    def render(self, last: int | None = None) -> str:
        """Return the rows as text, one line each; only the `last` ones if that is given."""
        rows = self.rows
        shown = rows if last is None else rows[-last:] if last else ()
        lines = ["--- merged timeline ---"]
        if len(shown) < len(rows):
            lines.append(f"      […{len(rows) - len(shown)} earlier rows not shown…]")
        lines += [str(row) for row in shown]
        return "\n".join([*lines, "--- end of timeline ---"])

    def to_jsonl(self, path: str | Path) -> None:
        """Write all rows to `path` as JSON Lines with the keys n, at_ms, source, kind, data."""
        with Path(path).open("w", encoding="utf-8") as file:
            for row in self.rows:
                line = {
                    "n": row.n,
                    "at_ms": round(row.at_ms, 3),
                    "source": row.source,
                    "kind": row.kind,
                    "data": dict(row.data),
                }
                file.write(json.dumps(line, default=_plain) + "\n")


def _shown(value: object) -> str:
    return value if isinstance(value, str) and value.isprintable() else repr(value)


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, (set, frozenset, tuple)):
        return list(cast("Iterable[object]", value))
    return repr(value)
