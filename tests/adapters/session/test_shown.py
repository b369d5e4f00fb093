"""An approval shows all of a call, and nothing in it is invisible."""

from __future__ import annotations

import pytest

from checkrein.adapters.shown import shown, visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("rm -rf a\\b", "rm -rf a\\b"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("echo ok\r# rm", "echo ok⟨U+000D⟩# rm"),
        ("\x1b[2K", "⟨U+001B⟩[2K"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\u200bb\u2028c\u00a0d", "a⟨U+200B⟩b⟨U+2028⟩c⟨U+00A0⟩d"),
        ("\u3164x\ufe0f", "⟨U+3164⟩x⟨U+FE0F⟩"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("grüße 日本 👩", "grüße 日本 👩"),
    ],
)
def test_control_and_invisible_characters_are_written_out(text: str, seen: str) -> None:
    assert visible(text) == seen


def test_a_text_of_the_limit_is_shown_whole() -> None:
    assert shown("x" * 2000) == "x" * 2000


def test_over_the_limit_both_ends_are_shown_and_the_cut_is_counted() -> None:
    text = "a" * 1500 + "b" * 1500
    assert shown(text) == "a" * 1000 + "[…1000 characters not shown…]" + "b" * 1000


def test_the_cut_never_falls_into_a_written_out_character() -> None:
    text = "\u202e" * 400
    view = shown(text, limit=100)
    head, _, tail = view.partition("[…")
    assert head == "⟨U+202E⟩" * 6
    assert tail == "388 characters not shown…]" + "⟨U+202E⟩" * 6
