"""Words of a command line with placeholders: which there are, and how they are filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import Formatter

#: Each stands for one text. A word, or an optional group, whose placeholder has no value is left out or refused.
PLACEHOLDERS = frozenset(
    {
        "prompt",  # of the turn
        "session_id",  # of the conversation
        "conversation",  # the file that keeps the conversation, when one is resumed
        "configuration",  # the harness's own directory of settings and conversations
        "home",
        "cwd",
        "model",
        "base_url",
        "api_key",
    }
)

#: The whole word stands for as many words as the adapter has, its options for this session.
OPTIONS = "{options}"

#: One word, or a group of words that is left out when one of its placeholders has no value.
Word = str | tuple[str, ...]


def fault_of(template: str, allowed: frozenset[str]) -> str:
    """What is wrong with a template; "" when it can be filled in."""
    if template == OPTIONS:
        return "" if "options" in allowed else f"{OPTIONS} stands for several words, which cannot be here"
    try:
        names = names_in(template)
    except ValueError as fault:
        return f"{template!r} is no template: {fault}; write a brace that is meant as itself twice"
    unknown = sorted(names - allowed)
    if unknown:
        return f"{template!r} has no value for {', '.join(unknown)}; there are {', '.join(sorted(allowed))}"
    return ""


def names_in(template: str) -> frozenset[str]:
    """The placeholders of a template.

    Raises:
        ValueError: a brace is open.
    """
    return frozenset(name for _, name, _, _ in Formatter().parse(template) if name is not None)


def fill(template: str, values: Mapping[str, str | None]) -> str | None:
    """The text; None when a placeholder has no value."""
    if any(values.get(name) is None for name in names_in(template)):
        return None
    return template.format_map(values)


def fill_words(
    words: Sequence[Word], values: Mapping[str, str | None], options: Sequence[str]
) -> tuple[str, ...]:
    """The command line.

    Raises:
        KeyError: a word outside an optional group has no value; names it.
    """
    return tuple(_filled(words, values, options))


def _filled(words: Sequence[Word], values: Mapping[str, str | None], options: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word == OPTIONS:
            yield from options
        elif isinstance(word, str):
            text = fill(word, values)
            if text is None:
                raise KeyError(word)
            yield text
        else:
            group = [fill(part, values) for part in word]
            if None not in group:
                yield from (text for text in group if text is not None)
