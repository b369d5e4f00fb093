"""What a defect is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One defect.

    Args:
        harness: the real CLI that it is shown on.
        red: the clauses that must fail, or warn where the level is SHOULD.
        not_testable: the clauses that must be that, because the defect takes a prerequisite away.
        among: the clauses that are run, as patterns for `checkrein run --only`; all others of them must stay green.
        install: puts the defect in, in this process.
    """

    harness: str
    among: tuple[str, ...]
    install: Callable[[], None]
    red: tuple[str, ...] = ()
    not_testable: tuple[str, ...] = ()

    @property
    def turned(self) -> frozenset[str]:
        """All clauses that it turns, one way or the other."""
        return frozenset((*self.red, *self.not_testable))
