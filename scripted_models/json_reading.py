"""Typed looks into decoded JSON whose shape nobody guarantees."""

from collections.abc import Mapping, Sequence
from typing import cast

#: A JSON object as decoded; values are whatever was sent.
JsonObject = Mapping[str, object]


def as_object(value: object) -> JsonObject:
    """Return `value` if it is a JSON object, else an empty one."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[object]:
    """Return `value` if it is a JSON array, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return `value` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""
