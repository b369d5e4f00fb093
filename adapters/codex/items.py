"""Items of a turn: read by their own type, and kept while they are open."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from checkrein.adapters.codex import received as r

#: how much of a running command's output is kept, for the case that its end brings none, in characters
KEPT_OUTPUT = 8192


@dataclass(slots=True)
class OpenItem:
    """An item that has started and not ended, with the tail of what it printed."""

    is_command: bool
    output: list[str] = field(default_factory=list[str])
    kept: int = 0
    #: the harness still waits for an answer about it
    asking: bool = False

    @property
    def tail(self) -> str:
        """The last of what it printed."""
        return "".join(self.output)[-KEPT_OUTPUT:]

    def printed(self, text: str) -> None:
        """Keep a piece of its output."""
        self.output.append(text)
        self.kept += len(text)
        if self.kept > 2 * KEPT_OUTPUT:
            self.output = [self.tail]
            self.kept = KEPT_OUTPUT


_item_decoder = msgspec.json.Decoder(r.Item)
_head_decoder = msgspec.json.Decoder(r.ItemHead)


def read_item(raw: msgspec.Raw) -> tuple[r.ItemHead, r.Item | None]:
    """Return an item's head, and the item by its own type if it has one here and the known shape."""
    head = _head_decoder.decode(raw)
    try:
        return head, _item_decoder.decode(raw)
    except msgspec.ValidationError:
        return head, None
