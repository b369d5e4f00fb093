"""The bench of one scenario: which clauses it must judge, and what was said of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from checkrein.conformance.clauses import Clause
from checkrein.conformance.verdicts import EnforcedBy, Verdict, is_red, verdict_of


class KitMistake(Exception):
    """Raised when a scenario breaks a rule of the kit: it judges a clause twice, or one that it did not declare."""


class PrerequisiteUnmet(Exception):
    """Raised by `Arena.require`: what the scenario needs is not there, so what is left cannot be judged."""


class HarnessFellShort(Exception):
    """Raised when the harness has ended something without what was expected of it: waiting longer would be in vain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointers:
    """Where the evidence of a judgement is: numbers of rows in the transcript and of model requests."""

    wire_rows: tuple[int, ...] = ()
    model_requests: tuple[int, ...] = ()


class Judged(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="judged"):
    """A scenario said whether a clause holds."""

    clause: str
    holds: bool
    expected: str
    observed: str
    enforced_by: EnforcedBy | None
    pointers: Pointers


class Settled(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="settled"):
    """Every clause that nothing had been said of got this verdict."""

    verdict: Verdict
    observed: str
    pointers: Pointers


class Overturned(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", tag="overturned"):
    """Every clause that held got this verdict: the run as a whole could not be relied on."""

    verdict: Verdict
    observed: str


#: Something that was said on the bench. All verdicts of a scenario follow from these, in their order.
Entry = Judged | Settled | Overturned


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What was said of one clause."""

    clause: Clause
    verdict: Verdict
    expected: str
    observed: str
    enforced_by: EnforcedBy | None = None
    pointers: Pointers = field(default_factory=Pointers)


class Judgements:
    """The judgements of one scenario on one harness.

    Args:
        declared: the clauses that the scenario declares and that are about the harness.
        left_out: declared clauses that are about other harnesses; judging them is allowed and does nothing.
        not_applicable: those of `declared` that do not apply to what the harness declares, each with why.
        undeclared: those of `declared` whose capability the harness says nothing of.
    """

    def __init__(
        self,
        *,
        declared: Sequence[Clause],
        left_out: frozenset[str] = frozenset(),
        not_applicable: Mapping[str, str] | None = None,
        undeclared: frozenset[str] = frozenset(),
    ) -> None:
        self._declared = {clause.id: clause for clause in declared}
        self._left_out = left_out
        self._undeclared = undeclared
        self._made: dict[str, Judgement] = {}
        for clause in declared:
            if (why := (not_applicable or {}).get(clause.id)) is not None:
                self._made[clause.id] = Judgement(
                    clause=clause,
                    verdict=Verdict.NOT_APPLICABLE,
                    expected=clause.text,
                    observed=why,
                )
        self._fixed = frozenset(self._made)
        self._listener: Callable[[Entry], None] = lambda _: None

    @property
    def open(self) -> tuple[Clause, ...]:
        """The clauses that nothing was said of yet."""
        return tuple(clause for clause in self._declared.values() if clause.id not in self._made)

    @property
    def all(self) -> tuple[Judgement, ...]:
        """The judgements so far, in the order of declaration."""
        return tuple(self._made[clause] for clause in self._declared if clause in self._made)

    def listen(self, listener: Callable[[Entry], None]) -> None:
        """Have every further entry told to `listener`, before it counts."""
        self._listener = listener

    def enter(self, entry: Entry) -> None:
        """Let an entry count.

        Raises:
            KitMistake: it judges a clause that was not declared, or that was judged before; the first judgement
                becomes a kit error.
        """
        self._listener(entry)
        match entry:
            case Judged():
                self._judge(entry)
            case Settled():
                self._settle(entry)
            case Overturned():
                self._overturn(entry)

    def close(self) -> None:
        """Nothing more will be said: what was not judged is a fault of the kit."""
        self.enter(
            Settled(
                verdict=Verdict.KIT_ERROR,
                observed="the scenario ended without judging this clause",
                pointers=Pointers(),
            )
        )

    def _judge(self, entry: Judged) -> None:
        clause_id = entry.clause
        if clause_id in self._left_out or clause_id in self._fixed:
            return
        clause = self._declared.get(clause_id)
        if clause is None:
            raise KitMistake(f"the scenario judges {clause_id!r}, which it does not declare")
        if clause_id in self._made:
            self._made[clause_id] = replace(
                self._made[clause_id],
                verdict=Verdict.KIT_ERROR,
                observed="the scenario judged this clause twice",
            )
            raise KitMistake(f"the scenario judges {clause_id!r} twice")
        self._made[clause_id] = Judgement(
            clause=clause,
            verdict=self._verdict_of(clause, holds=entry.holds),
            expected=entry.expected,
            observed=entry.observed,
            enforced_by=entry.enforced_by,
            pointers=entry.pointers,
        )

    def _settle(self, entry: Settled) -> None:
        for clause in self.open:
            self._made[clause.id] = Judgement(
                clause=clause,
                verdict=self._at_level(entry.verdict, clause),
                expected=clause.text,
                observed=entry.observed,
                pointers=entry.pointers,
            )

    def _overturn(self, entry: Overturned) -> None:
        for clause_id, made in self._made.items():
            if made.verdict in (Verdict.PASS, Verdict.DRIFT):
                self._made[clause_id] = replace(
                    made, verdict=self._at_level(entry.verdict, made.clause), observed=entry.observed
                )

    @property
    def any_red(self) -> bool:
        """Whether a clause is not judged yet, or is red."""
        return bool(self.open) or any(is_red(made.verdict, made.clause.level) for made in self._made.values())

    def _at_level(self, verdict: Verdict, clause: Clause) -> Verdict:
        return self._verdict_of(clause, holds=False) if verdict is Verdict.FAIL else verdict

    def _verdict_of(self, clause: Clause, *, holds: bool) -> Verdict:
        return verdict_of(clause.level, holds=holds, declared=clause.id not in self._undeclared)
