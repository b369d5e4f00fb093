"""Settings files as nested keys: JSON and TOML as they are, git's own format by its own reading."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from checkrein.adapters.workspace.tree_reading import Unreadable

KeyPath = tuple[str, ...]


def parse_settings(text: str, name: str) -> object:
    """The data of a settings file, by the end of its name.

    Raises:
        Unreadable: it is no such file.
    """
    try:
        return tomllib.loads(text) if name.endswith(".toml") else cast("object", json.loads(text))
    except (ValueError, RecursionError) as fault:
        raise Unreadable(f"it is broken: {fault}") from None


def matches(data: object, pattern: Sequence[str], path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """The places that a pattern of keys leads to, with what stands there; `*` is any key or place in a list."""
    if not pattern:
        yield path, data
        return
    below: Iterator[tuple[str, object]] = iter(())
    if isinstance(data, Mapping):
        below = iter(cast("Mapping[str, object]", data).items())
    elif isinstance(data, list):
        below = ((str(place), value) for place, value in enumerate(cast("list[object]", data)))
    for key, value in below:
        if pattern[0] in ("*", key):
            yield from matches(value, pattern[1:], (*path, key))


def line_of(text: str, path: KeyPath) -> int | None:
    """The line of a key, by looking for each part behind the part before it; None when one is not found."""
    position = 0
    found = False
    for part in path:
        if part.isdigit():
            continue
        seen = re.compile(rf"""(?<![\w-])["']?{re.escape(part)}["']?\s*[:=.\]]""").search(text, position)
        if seen is None:
            return None
        position, found = seen.start() + len(part), True
    return text.count("\n", 0, position) + 1 if found else None


_SECTION = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)')
_ENTRY = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$")


def git_settings(text: str) -> Iterator[tuple[KeyPath, str, int]]:
    """The entries of a configuration file of git: section, subsection where there is one, and key; value; line."""
    section: KeyPath = ()
    lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        rest = line.strip()
        if (head := _SECTION.match(rest)) is not None:
            subsection = head[2]
            section = (
                head[1].lower(),
                *(() if subsection is None else (re.sub(r"\\(.)", r"\1", subsection),)),
            )
            rest = head[3].strip()
        while rest.endswith("\\") and (following := next(lines, None)) is not None:
            rest = rest[:-1] + following[1].strip()
        if (entry := _ENTRY.match(rest)) is not None and section:
            yield (*section, entry[1].lower()), entry[2] or "", number
