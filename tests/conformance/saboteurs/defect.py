"""What a defect is."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One defect.

    Args:
        install: puts it in, in the agent's process, or in this one.
        red: the clauses that must fail, or warn where the level is SHOULD.
        not_testable: the clauses that must be that, because the defect takes a prerequisite away.
        among: further clauses whose scenarios are run; whatever these scenarios judge besides must stay green.
        in_driver: it is a defect of the adapter's side, of an honest agent.
    """

    install: Callable[[], None]
    red: tuple[str, ...] = ()
    not_testable: tuple[str, ...] = ()
    among: tuple[str, ...] = ()
    in_driver: bool = False

    @property
    def turned(self) -> frozenset[str]:
        """All clauses that it turns, one way or the other."""
        return frozenset((*self.red, *self.not_testable))


#: What was replaced in this process, the newest last.
_replaced: list[tuple[Any, str, Any]] = []


def instead(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Put `make(original)` in the place of `owner.name`."""
    original = getattr(owner, name)
    _replaced.append((owner, name, original))
    setattr(owner, name, make(original))


def change_property(owner: Any, name: str, change: Callable[[Any, Any], Any]) -> None:
    """Let a property be what `change` makes of the object and its value."""

    def make(original: Any) -> Any:
        return property(lambda self: change(self, original.fget(self)))

    instead(owner, name, make)


@contextmanager
def installed(defect: Defect) -> Generator[None]:
    """Have a defect of the driver in this process."""
    try:
        if defect.in_driver:
            defect.install()
        yield
    finally:
        while _replaced:
            owner, name, original = _replaced.pop()
            setattr(owner, name, original)
