"""What a person is shown of a call: whole, with nothing invisible in it."""

from __future__ import annotations

import unicodedata

#: Over this many characters, both ends are shown and the cut is marked.
SHOWN_CHARACTERS = 2000

#: Categories with no visible mark of their own: controls, formats (bidirectional overrides, zero-width), surrogates,
#: private use, unassigned, line and paragraph separators.
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

#: Letters and symbols that are drawn as nothing: Hangul fillers, Khmer inherent vowels, Braille blank, variation
#: selectors and the combining grapheme joiner.
_BLANK_CHARACTERS = frozenset(
    {"\u115f", "\u1160", "\u3164", "\uffa0", "\u17b4", "\u17b5", "\u2800", "\u034f"}
    | {chr(code) for code in range(0xFE00, 0xFE10)}
    | {chr(code) for code in range(0xE0100, 0xE01F0)}
)


def visible(text: str) -> str:
    """The text with each control or invisible character written as `⟨U+XXXX⟩`.

    Line feeds and tabs stay (a command may have several lines); spaces other than U+0020 are written out.
    """
    return "".join(_visible_character(character) for character in text)


def one_line(text: str) -> str:
    """The text as `visible` shows it, with line feeds and tabs written out, too: for names, which have none."""
    return visible(text).replace("\n", "⟨U+000A⟩").replace("\t", "⟨U+0009⟩")


def _visible_character(character: str) -> str:
    if character in "\n\t ":
        return character
    category = unicodedata.category(character)
    if category in _INVISIBLE_CATEGORIES or category == "Zs" or character in _BLANK_CHARACTERS:
        return f"⟨U+{ord(character):04X}⟩"
    return character


def shown(text: str, *, limit: int = SHOWN_CHARACTERS) -> str:
    """The text as an approval shows it: visible, and cut in the middle when it is longer than `limit` characters.

    The cut falls between characters, never inside one that was written out.
    """
    cells = [_visible_character(character) for character in text]
    if sum(len(cell) for cell in cells) <= limit:
        return "".join(cells)
    head, head_count = _fill(cells, limit // 2)
    tail, tail_count = _fill(cells[::-1], limit - limit // 2)
    hidden = len(cells) - head_count - tail_count
    return f"{''.join(head)}[…{hidden} characters not shown…]{''.join(tail[::-1])}"


def _fill(cells: list[str], room: int) -> tuple[list[str], int]:
    taken: list[str] = []
    for cell in cells:
        if len(cell) > room:
            break
        taken.append(cell)
        room -= len(cell)
    return taken, len(taken)
