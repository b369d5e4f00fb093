"""Text from a harness inside Markdown: shown as it is, never read as Markdown, HTML or a mention of somebody."""

from __future__ import annotations

import re

from checkrein.adapters.shown import shown

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "#": "&#35;", "|": "&#124;"}
_MEANS_SOMETHING = re.compile(r"[\\`*_\[\]~$]")

#: Enough to understand a check; the whole text is in the results file.
SHOWN_CHARACTERS = 300


def plain(text: str, *, limit: int = SHOWN_CHARACTERS) -> str:
    """The text on one line, at most `limit` characters of it (the cut is marked)."""
    line = " ".join(shown(text, limit=limit).split())
    line = "".join(_ENTITIES.get(character, character) for character in line)
    return _MEANS_SOMETHING.sub(lambda match: f"\\{match[0]}", line)


def code(text: str, *, limit: int = SHOWN_CHARACTERS) -> str:
    """The text on one line as code, also in a cell of a table."""
    line = " ".join(shown(text, limit=limit).split()).replace("|", "¦")
    longest = max((len(ticks) for ticks in re.findall(r"`+", line)), default=0)
    if not longest:
        return f"`{line}`" if line else ""
    fence = "`" * (longest + 1)
    return f"{fence} {line} {fence}"


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """The lines of a table; the cells are Markdown already."""
    return [
        f"| {' | '.join(heads)} |",
        f"|{'|'.join(' --- ' for _ in heads)}|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
