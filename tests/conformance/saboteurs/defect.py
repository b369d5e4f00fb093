"""What a defect is."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One defect.

    Args:
        install: puts it in, in the agent's process.
        red: the clauses that must fail, or warn where the level is SHOULD.
        among: further clauses whose scenarios are run; whatever these scenarios judge besides must stay green.
    """

    install: Callable[[], None]
    red: tuple[str, ...]
    among: tuple[str, ...] = ()


def instead(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Put `make(original)` in the place of `owner.name`."""
    setattr(owner, name, make(getattr(owner, name)))
