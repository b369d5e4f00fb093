"""The ways to misbehave, by name."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import cycle, pairwise
from pathlib import Path
from typing import cast

from checkrein.conformance.peers.dictation import Dictated
from checkrein.conformance.peers.moments import Once
from checkrein.conformance.peers.order import PADDING, Order
from checkrein.conformance.peers.relay import STDERR, STDOUT, Misbehaviour, Relay
from checkrein.conformance.peers.writing import wait_read, write_whole

MIB = 1 << 20

#: What ends a line in some languages, and is legal inside a line of JSON.
LINE_ENDS_ELSEWHERE = "\u2028\u2029\u0085"

#: Lines that are no messages: empty ones, prose, and JSON that is no object.
STRAY_LINES = (
    b"",
    b"   ",
    b"npm warn: a word between the lines",
    b"[1, 2",
    b"null",
    b"42",
    b'"text"',
    b"{}",
    b"\r",
)

#: How much the flood on standard error is.
FLOOD_BYTES = 8 * MIB

#: How many lines before the last one of a turn come late, too.
REPEATED_LINES = 5

#: The exit statuses of a peer that gives up in the middle.
EXIT_MID_REQUEST, EXIT_MID_LINE = 37, 38


class Inject(Once):
    """Lines of the harness that it never wrote, behind the line of the moment.

    What the driver sends from then on is recorded; its answers to the inserted lines stay here.
    """

    def now(self, line: bytes) -> None:
        self.pass_on(line)
        self.relay.to_driver(*(inserted.encode() for inserted in self.order.lines))

    def from_driver(self, line: bytes) -> None:
        if self.happened and self.order.record:
            with Path(self.order.record).open("ab") as record:
                record.write(line + b"\n")
        if self.happened and any(text.encode() in line for text in self.order.own_answers):
            return
        super().from_driver(line)


class TornLines(Misbehaviour):
    """Lines come in pieces: cut in the middle, before the line feed, and behind the first byte of the next line."""

    def said(self, data: bytes) -> None:
        self.note("lines torn")
        self.relay.raw_to_driver(*_torn(data), apart=partial(wait_read, STDOUT))


def _torn(data: bytes) -> Iterator[bytes]:
    cuts: set[int] = set()
    begin = 0
    while (end := data.find(b"\n", begin)) >= 0:
        cuts |= {(begin + end) // 2, end, end + 2}
        begin = end + 1
    cuts.add((begin + len(data)) // 2)
    edges = [0, *sorted(cut for cut in cuts if 0 < cut < len(data)), len(data)]
    for first, last in pairwise(edges):
        yield data[first:last]


class SplitCharacters(Misbehaviour):
    """Every character of several bytes is split across writes."""

    def from_harness(self, line: bytes) -> None:
        if not line.isascii():
            self.note("characters split")
        self.relay.raw_to_driver(*_split_characters(line + b"\n"), apart=partial(wait_read, STDOUT))


def _split_characters(data: bytes) -> Iterator[bytes]:
    """The pieces of a line, each of which but the first begins inside a character."""
    begin = 0
    for at in range(1, len(data)):
        inside = data[at] & 0xC0 == 0x80
        if inside:
            yield data[begin:at]
            begin = at
    yield data[begin:]


class ForeignLineEnds(Misbehaviour):
    """Characters that end a line elsewhere, as they are, inside of every line."""

    def from_harness(self, line: bytes) -> None:
        for character in LINE_ENDS_ELSEWHERE:
            line = line.replace(json.dumps(character)[1:-1].encode(), character.encode())
        self.relay.to_driver(with_field(line, f'"{LINE_ENDS_ELSEWHERE}"'.encode()))
        self.note("line ends of elsewhere inside a line")


class PaddedLine(Once):
    """The message of the moment is huge, by a field that nobody knows."""

    def __init__(self, order: Order, relay: Relay, *, mebibytes: int) -> None:
        super().__init__(order, relay)
        self._bytes = mebibytes * MIB

    def now(self, line: bytes) -> None:
        self.note(f"a line of {self._bytes} bytes")
        self.pass_on(with_field(line, b'"%b"' % (b"x" * self._bytes)))


class HugeLine(Once):
    """A huge message of a kind that nobody knows comes before the one of the moment."""

    def __init__(self, order: Order, relay: Relay, *, mebibytes: int) -> None:
        super().__init__(order, relay)
        self._bytes = mebibytes * MIB

    def now(self, line: bytes) -> None:
        huge = next(text for text in self.order.lines if PADDING in text)
        self.note(f"a line of {self._bytes} bytes")
        self.relay.to_driver(huge.encode().replace(PADDING.encode(), b"x" * self._bytes))
        self.pass_on(line)


class StrayText(Misbehaviour):
    """Lines that are no messages stand between those that are."""

    def from_harness(self, line: bytes) -> None:
        self.relay.to_driver(*STRAY_LINES, line)
        self.note("stray lines")


class UnknownTypes(Once):
    """From the moment on, every message is followed by one of a kind that the harness does not have."""

    def __init__(self, order: Order, relay: Relay) -> None:
        super().__init__(order, relay)
        self._lines = cycle(line.encode() for line in order.lines)

    def now(self, line: bytes) -> None:
        self.pass_on(line)

    def from_harness(self, line: bytes) -> None:
        super().from_harness(line)
        if self.happened:
            self.relay.to_driver(next(self._lines))
            self.note("an unknown message")


class UnknownFields(Misbehaviour):
    """Every message has a field that nobody knows, and so have the objects in it."""

    def from_harness(self, line: bytes) -> None:
        try:
            message: object = json.loads(line)
        except ValueError:
            self.relay.to_driver(line)
            return
        widened = self._widened(message)
        self.relay.to_driver(json.dumps(widened, ensure_ascii=False, separators=(",", ":")).encode())
        self.note("unknown fields")

    def _widened(self, value: object) -> object:
        if isinstance(value, list):
            return [self._widened(one) for one in cast("list[object]", value)]
        if not isinstance(value, dict):
            return value
        fields = cast("dict[str, object]", value)
        widened = {
            name: self._widened(field) if name in self.order.objects else field
            for name, field in fields.items()
        }
        return {"checkrein_unknown_field": {"of": ["nobody", 1, None]}, **widened}


class LateMessage(Once):
    """Behind the last message of a turn its last messages come again; and once more behind the driver's next line."""

    def __init__(self, order: Order, relay: Relay) -> None:
        super().__init__(order, relay)
        self._before: deque[bytes] = deque(maxlen=REPEATED_LINES)
        self._late: tuple[bytes, ...] = ()

    def from_harness(self, line: bytes) -> None:
        super().from_harness(line)
        if not self.happened:
            self._before.append(line)

    def now(self, line: bytes) -> None:
        late = (*self._before, line)
        self.relay.to_driver(line, *late)
        self._late = late
        self.note("a turn's last messages again")

    def from_driver(self, line: bytes) -> None:
        super().from_driver(line)
        late, self._late = self._late, ()
        self.relay.to_driver(*late)


class InvalidUtf8(Once):
    """The message of the moment has bytes in it that are no UTF-8."""

    def now(self, line: bytes) -> None:
        self.pass_on(with_field(line, b'"\xff\xfe \xc3 \xed\xa0\x80"'))
        self.note("bytes that are no UTF-8")


class FloodedErrors(Once):
    """Many megabytes on standard error come before the message of the moment, the second half without a line end."""

    def now(self, line: bytes) -> None:
        text = b"the peer floods its standard error " * 1000 + b"\n"
        half = text * (FLOOD_BYTES // 2 // len(text))
        write_whole(STDERR, half)
        write_whole(STDERR, half.replace(b"\n", b" "))
        write_whole(STDERR, b"\n")
        self.note(f"{2 * len(half)} bytes on standard error")
        self.pass_on(line)


class SlowReader(Misbehaviour):
    """Nothing is read behind the begin of the line of the moment, until the gate is opened."""

    def __init__(self, order: Order, relay: Relay) -> None:
        super().__init__(order, relay)
        self._happened = False

    def heard(self, data: bytes) -> None:
        if not self._happened and self.order.at is not None and self.order.at.is_now("to_harness", data):
            self._happened = True
            self.note("reads no more")
            with Path(self.order.gate).open("rb", buffering=0) as gate:
                gate.read(1)
            self.note("reads again")
        super().heard(data)


class ExitMidRequest(Once):
    """Instead of passing the call of the moment on, it dies."""

    def now(self, line: bytes) -> None:
        self.relay.end(EXIT_MID_REQUEST, self.order.last_words)


class ExitMidLine(Once):
    """It dies in the middle of the line of the moment."""

    def now(self, line: bytes) -> None:
        self.relay.raw_to_driver(line[: len(line) // 2])
        self.relay.end(EXIT_MID_LINE, self.order.last_words)


class Silence(Once):
    """From the moment on it says nothing, hears nothing, and does not end by itself."""

    def now(self, line: bytes) -> None:
        self.note("silent from now on")

    def from_driver(self, line: bytes) -> None:
        if not self.happened:
            super().from_driver(line)

    def from_harness(self, line: bytes) -> None:
        if not self.happened:
            super().from_harness(line)

    def input_ended(self) -> None:
        if not self.happened:
            super().input_ended()

    def told_to_end(self) -> None:
        if not self.happened:
            super().told_to_end()


def with_field(line: bytes, value: bytes) -> bytes:
    """The object of a line with one more field in front; what is no object stays as it is."""
    if not line.startswith(b'{"'):
        return line
    return b'{"checkrein_unknown_field":' + value + b"," + line[1:]


Kind = Callable[[Order, Relay], Misbehaviour]

#: Every kind.
KINDS: Mapping[str, Kind] = {
    "inject": Inject,
    "dictation": Dictated,
    "torn-lines": TornLines,
    "multi-byte-split": SplitCharacters,
    "u2028": ForeignLineEnds,
    "line-10-mib": partial(PaddedLine, mebibytes=10),
    "line-64-mib": partial(HugeLine, mebibytes=64),
    "stray-text": StrayText,
    "unknown-types": UnknownTypes,
    "unknown-fields": UnknownFields,
    "late-message": LateMessage,
    "invalid-utf-8": InvalidUtf8,
    "stderr-flood": FloodedErrors,
    "slow-reader": SlowReader,
    "exit-mid-request": ExitMidRequest,
    "torn-last-line": ExitMidLine,
    "silence": Silence,
}
