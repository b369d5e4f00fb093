"""A meddler on the bytes between an adapter and the real CLI: it drops, delays, doubles, swaps or rewrites a message.

It sits at the driver's ends of the pipes, below framing and tap: what it does to a line of the harness, the adapter and
the kit's wire both see as the harness's own; what it does to a line of the driver, only the harness sees. What it does
not pick it passes on, byte for byte.
"""

from __future__ import annotations

# It reaches into the ends of the pipes, and JSON has any shape: strict types would say nothing here.
# pyright: basic
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from checkrein.adapters.transport import Direction, HarnessProcess
from checkrein.adapters.transport.pipes import ReadEnd, WriteEnd
from tests.conformance.sabotage.replacing import replace_attribute

#: As the value of a field: whatever it is, if only it is there.
ANYTHING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """Which message.

    Args:
        way: which way it goes.
        fields: what it holds: values by the names and indices that lead to them, joined by dots; `ANYTHING` will do.
        nth: which of those that are like it, from 1; None for each of them. Counted per process.
    """

    way: Direction
    fields: Mapping[str, object] = field(default_factory=dict)
    nth: int | None = None

    def is_like(self, way: Direction, message: object) -> bool:
        """Whether a message is of this kind."""
        return way is self.way and all(
            (found := _value(message, path)) == value or (value is ANYTHING and found is not None)
            for path, value in self.fields.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """It never arrives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """It arrives twice, one right behind the other.

    Args:
        changed: values that the second one has instead, by path.
    """

    changed: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """It arrives behind a later message of its direction, or with the end of the stream.

    Args:
        until: that message; its `nth` counts from the delayed one on, and is 1 when it is not said.
    """

    until: Pick


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """It and a later message of its direction arrive in each other's place.

    Args:
        other: that message.
    """

    other: Pick


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrupt:
    """It arrives with other values.

    Args:
        changed: those values, by path.
        texts: pieces of its line that are replaced, as they are written there (JSON escapes included).
    """

    changed: Mapping[str, object] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meddling:
    """One act on the messages of one kind."""

    pick: Pick
    act: Drop | Duplicate | Delay | Swap | Corrupt


class Meddler:
    """Applies meddlings to the lines of one process, each to what the one before it lets through.

    Args:
        meddlings: what is done.
        acted: told of each act.
    """

    def __init__(self, meddlings: Iterable[Meddling], *, acted: Callable[[Meddling], None]) -> None:
        self._stages = [_Stage(meddling, acted) for meddling in meddlings]

    def pass_on(self, way: Direction, line: bytes) -> list[bytes]:
        """What arrives, now that this line was sent; lines are without their ends."""
        lines = [line]
        for stage in self._stages:
            lines = [out for each in lines for out in stage.lines(way, each)]
        return lines

    def end(self, way: Direction) -> list[bytes]:
        """What arrives at the end of the stream: all that was held back."""
        left: list[bytes] = []
        for stage in self._stages:
            left = [out for each in left for out in stage.lines(way, each)]
            left += stage.let_go(way)
        return left


class _Stage:
    """The state of one meddling."""

    def __init__(self, meddling: Meddling, acted: Callable[[Meddling], None]) -> None:
        self._pick = meddling.pick
        self._act = meddling.act
        self._acted = partial(acted, meddling)
        self._like = 0
        self._awaited = 0
        self._held: list[bytes] = []

    def lines(self, way: Direction, line: bytes) -> list[bytes]:
        if way is not self._pick.way:
            return [line]
        message = _decoded(line)
        if self._picks(way, message):
            self._acted()
            return self._do(line, message)
        return self._follow(way, line, message) if self._held else [line]

    def let_go(self, way: Direction) -> list[bytes]:
        if way is not self._pick.way:
            return []
        held, self._held = self._held, []
        return held

    def _picks(self, way: Direction, message: object) -> bool:
        if not self._pick.is_like(way, message) or (isinstance(self._act, Swap) and self._held):
            return False
        self._like += 1
        return self._pick.nth in (None, self._like)

    def _do(self, line: bytes, message: object) -> list[bytes]:
        match self._act:
            case Drop():
                return []
            case Duplicate(changed=changed):
                return [line, _encoded(message, changed) if changed else line]
            case Corrupt(changed=changed, texts=texts):
                line = _encoded(message, changed) if changed else line
                for old, new in texts.items():
                    line = line.replace(old.encode(), new.encode())
                return [line]
            case Delay() | Swap():
                self._held.append(line)
                return []

    def _follow(self, way: Direction, line: bytes, message: object) -> list[bytes]:
        """What comes while something is held back."""
        match self._act:
            case Delay(until=until) if until.is_like(way, message):
                self._awaited += 1
                if self._awaited < (until.nth or 1):
                    return [line]
                self._awaited = 0
                return [line, *self.let_go(way)]
            case Swap(other=other):
                if not other.is_like(way, message):
                    self._held.append(line)
                    return []
                first, *between = self.let_go(way)
                return [line, *between, first]
            case _:
                return [line]


class MeddledReadEnd(ReadEnd):
    """What the harness says, through a meddler."""

    def __init__(self, fd: int, meddler: Meddler) -> None:
        super().__init__(fd)
        self._meddler = meddler
        self._pending = b""
        self._is_over = False

    def read_now(self) -> bytes | None:
        """See `ReadEnd.read_now`."""
        while True:
            data = super().read_now()
            if data is None or self._is_over:
                return data
            if data:
                *ended, self._pending = (self._pending + data).split(b"\n")
                passed = [
                    out for line in ended for out in self._meddler.pass_on(Direction.FROM_HARNESS, line)
                ]
            else:
                self._is_over = True
                passed = self._meddler.end(Direction.FROM_HARNESS)
            arrived = _joined(passed) + (self._pending if self._is_over else b"")
            if arrived or self._is_over:
                return arrived


class MeddledWriteEnd(WriteEnd):
    """What the driver says, through a meddler; whole lines come in, as `InputLines` writes them."""

    def __init__(self, fd: int, meddler: Meddler) -> None:
        super().__init__(fd)
        self._meddler = meddler
        self._unsent = b""

    def write_now(self, data: memoryview) -> int:
        """See `WriteEnd.write_now`; says 0 until all that arrives of the line is written, then its whole length."""
        if self.closed:
            raise BrokenPipeError
        if not self._unsent:
            line = bytes(data)
            assert line.endswith(b"\n"), "a line comes whole"
            self._unsent = _joined(self._meddler.pass_on(Direction.TO_HARNESS, line[:-1]))
        if self._unsent:
            self._unsent = self._unsent[super().write_now(memoryview(self._unsent)) :]
        return 0 if self._unsent else len(data)


@contextmanager
def meddled(meddlings: Iterable[Meddling]) -> Iterator[list[Meddling]]:
    """Put a meddler between each harness that is started meanwhile and its adapter; gives what it has done so far."""
    acts: list[Meddling] = []
    honest = HarnessProcess.__init__

    def make(init: Any) -> Any:
        def begun(self: Any, *, streams: tuple[WriteEnd, ReadEnd, ReadEnd], **named: Any) -> None:
            meddler = Meddler(meddlings, acted=acts.append)
            to_harness, from_harness, errors = streams
            ends = (
                MeddledWriteEnd(to_harness._fd, meddler),
                MeddledReadEnd(from_harness._fd, meddler),
                errors,
            )
            init(self, streams=ends, **named)

        return begun

    replace_attribute(HarnessProcess, "__init__", make)
    try:
        yield acts
    finally:
        replace_attribute(HarnessProcess, "__init__", lambda _: honest)


def _joined(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _decoded(line: bytes) -> object:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _value(message: object, path: str) -> object:
    for step in path.split("."):
        message = _below(message, step)
    return message


def _below(value: Any, step: str) -> Any:
    match value:
        case dict():
            return value.get(step)
        case list() if step.isdecimal() and int(step) < len(value):
            return value[int(step)]
        case _:
            return None


def _encoded(message: Any, changed: Mapping[str, object]) -> bytes:
    """The message with these values in the place of others that it has."""
    changing = msgspec.json.decode(msgspec.json.encode(message))
    for path, value in changed.items():
        *way, last = path.split(".")
        place = changing
        for step in way:
            place = _below(place, step)
        assert _below(place, last) is not None, f"there is no {path} to change"
        place[int(last) if isinstance(place, list) else last] = value
    return msgspec.json.encode(changing)
