"""The contract as data: named clauses, one sentence each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import msgspec

from checkrein.adapters.manifest import Capability


class Level(StrEnum):
    """How binding a clause is."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    #: recorded, never red
    INFO = "INFO"


class Clause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One sentence of the contract.

    Args:
        id: stable, such as `steer.idle.rejected`; a retired id is never used again.
        level: how binding it is.
        text: what holds.
        source: why it is a clause: the design, or a fact seen on the wire.
        since: the edition that brought it.
        capability: what the harness must be able to do for the clause to apply; None when it always applies.
        without: what the harness must declare not to be able to do for the clause to apply.
        harnesses: the harnesses that it is about; None for all.
    """

    id: str
    level: Level
    text: str
    source: str
    since: str
    capability: Capability | None = None
    without: Capability | None = None
    harnesses: tuple[str, ...] | None = None

    @property
    def area(self) -> str:
        """The part of the contract that it belongs to."""
        return self.id.partition(".")[0]

    def is_about(self, harness: str) -> bool:
        """Whether the clause says anything about that harness at all."""
        return self.harnesses is None or harness in self.harnesses


class PlannedClause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A clause to come; nothing is judged by it yet.

    Args:
        id: that it will have; where it stands for several, `<rule>` takes the place of the last word.
        level: how binding it will be.
        text: what will hold.
        why_not_yet: what is missing.
    """

    id: str
    level: Level
    text: str
    why_not_yet: str


class RetiredClause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A clause that was given up; its id is never used again.

    Args:
        id: that it had.
        until: the last edition that had it.
        why: it was given up.
    """

    id: str
    until: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A part of the contract.

    Args:
        name: the first word of its clauses' ids.
        title: for people.
        clauses: in the order in which they are reported.
    """

    name: str
    title: str
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, kw_only=True)
class Contract:
    """All clauses of one edition.

    Args:
        edition: year and month, such as `2026.11`.
        areas: in the order in which they are reported.
        planned: clauses to come.
        retired: clauses that were given up.
    """

    edition: str
    areas: tuple[Area, ...]
    planned: tuple[PlannedClause, ...] = ()
    retired: tuple[RetiredClause, ...] = ()

    @cached_property
    def by_id(self) -> dict[str, Clause]:
        """The clauses by id, in the order of the contract."""
        return {clause.id: clause for clause in self}

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Every id, in the order of the contract."""
        return tuple(self.by_id)

    @cached_property
    def canonical(self) -> bytes:
        """Edition and clauses in one canonical form, as JSON."""
        return msgspec.json.encode({"edition": self.edition, "clauses": list(self)}, order="sorted")

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the canonical form; two runs with the same digest judged the same."""
        return hashlib.sha256(self.canonical).hexdigest()

    def __iter__(self) -> Iterator[Clause]:
        return (clause for area in self.areas for clause in area.clauses)

    def in_order(self, ids: Sequence[str]) -> tuple[Clause, ...]:
        """The clauses of these ids, in the order of the contract."""
        wanted = set(ids)
        return tuple(clause for clause in self if clause.id in wanted)
