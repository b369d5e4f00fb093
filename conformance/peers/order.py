"""What a peer is told to do: one kind of misbehaviour, and where in the conversation it happens."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

#: In a line that is inserted: what a kind that makes huge lines fills up.
PADDING = "PADDING"

Way = Literal["to_harness", "from_harness"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A line on the wire.

    Args:
        way: which way it goes.
        holds: texts that are all in the line, as it is written (JSON escapes included).
    """

    way: Way
    holds: tuple[str, ...]

    def is_now(self, way: Way, line: bytes) -> bool:
        """Whether this is the line."""
        return way == self.way and all(text.encode() in line for text in self.holds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What one peer does.

    Args:
        kind: the name of the misbehaviour, see `kinds.KINDS`.
        at: when; None where the kind needs no moment (it misbehaves all the time, or at once).
        lines: messages that the harness never wrote, for kinds that insert some; `PADDING` in one is filled up by kinds
            that make huge lines.
        objects: names of fields whose values are objects with fields of their own, for kinds that add fields.
        own_answers: texts by which the driver's answers to inserted lines are known; such an answer is kept from the
            real CLI, which never asked.
        record: a file that gets what the peer has to say: for `inject` the lines that the driver sends from the moment
            on, for all others a word on each misdeed; "" for none.
        gate: a FIFO; what the peer holds back goes on when a byte is written into it.
        last_words: what it says on its standard error before it gives up.
    """

    kind: str
    at: Moment | None = None
    lines: tuple[str, ...] = ()
    own_answers: tuple[str, ...] = ()
    record: str = ""
    gate: str = ""
    objects: tuple[str, ...] = ()
    last_words: str = ""


def encode_order(order: Order) -> str:
    """The order as one argument of a command line."""
    return json.dumps(asdict(order))


def decode_order(text: str) -> Order:
    """Read what `encode_order` has written."""
    fields = json.loads(text)
    at = fields.pop("at")
    moment = Moment(way=at["way"], holds=tuple(at["holds"])) if at else None
    listed = {name: tuple(fields.pop(name)) for name in ("lines", "own_answers", "objects")}
    return Order(at=moment, **listed, **fields)
