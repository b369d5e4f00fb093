"""Strict reading of the kit's YAML files: what is not understood is an error that names file and place."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

from checkrein.adapters.errors import CheckreinError

T = TypeVar("T")


class BadDataFile(CheckreinError):
    """Raised when a data file does not hold what it must; names the file and the place in it."""

    exit_status = 2


class _UniqueKeyLoader(yaml.SafeLoader):
    """The safe loader, but a key that is given twice is an error (YAML itself lets the last one win)."""


def _mapping_of(loader: _UniqueKeyLoader, node: yaml.MappingNode) -> dict[Hashable, object]:
    seen: set[object] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)  # pyright: ignore[reportUnknownMemberType] untyped in the stubs
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} is given twice", key_node.start_mark
            )
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_of)


def read_yaml(path: Path, type: type[T]) -> T:
    """Read a YAML file as a value of that type.

    Raises:
        BadDataFile: it is missing, is no YAML, gives a key twice, or holds something else; names the place.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as fault:
        raise BadDataFile(f"the file cannot be read: {fault.strerror}", where=str(path)) from fault
    try:
        data: object = yaml.load(text, Loader=_UniqueKeyLoader)
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        place = f"{path}, line {mark.line + 1}" if mark is not None else str(path)
        raise BadDataFile(
            f"the file is no YAML that can be used: {getattr(fault, 'problem', None) or fault}", where=place
        ) from fault
    try:
        return msgspec.convert(data, type)
    except msgspec.ValidationError as fault:
        what, _, place = str(fault).partition(" - at ")
        raise BadDataFile(
            f"the file cannot be used: {what}",
            where=f"{path}, at {_place(data, place.strip('`'))}",
            advice="correct that field",
        ) from fault


def _place(data: object, path: str) -> str:
    """The place in words: a path such as `$.clauses[3].level`, with the id of the entry where there is one."""
    if not path:
        return "its top level"
    head, bracket, rest = path.partition("[")
    index = rest.partition("]")[0]
    if bracket and index.isdigit() and isinstance(data, dict):
        entries: object = data.get(head.removeprefix("$."))  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] any YAML
        if isinstance(entries, list) and int(index) < len(entries):  # pyright: ignore[reportUnknownArgumentType] any YAML
            entry: object = entries[int(index)]  # pyright: ignore[reportUnknownVariableType] any YAML
            name: object = entry.get("id") or entry.get("clause") if isinstance(entry, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] any YAML
            if isinstance(name, str):
                return f"{path} ({name})"
    return path
