"""Writes down the assertions that do not hold; a copy of the scenarios gets it as a module."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

#: The name of the file, beside this module: lines of JSON with module, number, and clause or null.
NOTED = "noted.jsonl"


def note_in(module: str) -> Callable[[int, object, str | None], bool]:
    """A function for the assertions of a module: it notes one that does not hold, and returns True in any case."""

    def note(number: int, holds: object, clause: str | None) -> bool:
        if not holds:
            with Path(__file__).with_name(NOTED).open("a", encoding="utf-8") as noted:
                noted.write(json.dumps([module, number, clause]) + "\n")
        return True

    return note
