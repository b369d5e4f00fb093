"""What differs between two runs, clause by clause: only what got red, or is not judged any more, is a regression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from checkrein.adapters.errors import BadRequest
from checkrein.conformance.clauses import Contract, Level
from checkrein.conformance.results import Check, HarnessUnderTest, Results
from checkrein.conformance.verdicts import Verdict


class Kind(StrEnum):
    """What sort of difference it is, the gravest first."""

    #: red now; before it was not, or there was no such check
    NEW_FAILURE = "new_failure"
    #: judged before, and not any more, though the contract still has the clause
    MISSING = "missing"
    FIXED = "fixed"
    #: judged now and not before, and not red
    ADDED = "added"
    #: given up by the contract
    RETIRED = "retired"
    #: another verdict, red before and after or red in neither
    VERDICT = "verdict"
    #: the same verdict, but another one sees to it: harness or adapter
    ENFORCER = "enforcer"
    #: an INFO that tells something else
    FIGURES = "figures"

    @property
    def is_regression(self) -> bool:
        """Whether the newer run is worse for it."""
        return self in (Kind.NEW_FAILURE, Kind.MISSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference.

    Args:
        old, new: the check before and now; None where there is none.
    """

    kind: Kind
    clause: str
    level: Level
    old: Check | None
    new: Check | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two versions of one harness, or one version in two runs.

    Args:
        old, new: None where only the other run has the harness.
        differences: the gravest first, then in the order of the contract.
        same: how many checks are as they were.
        still_red: how many of these are red.
    """

    old: HarnessUnderTest | None
    new: HarnessUnderTest | None
    differences: tuple[Difference, ...]
    same: int
    still_red: int

    @property
    def title(self) -> str:
        """Which harness, and from where to where."""
        old, new = self.old, self.new
        if old is not None and new is not None:
            return f"{new.name} {old.version} → {new.version}" if old.version != new.version else new.label
        return f"{old.label} (old only)" if old is not None else f"{new.label} (new only)" if new else ""

    @property
    def regressions(self) -> tuple[Difference, ...]:
        """What is worse now."""
        return tuple(one for one in self.differences if one.kind.is_regression)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs compared.

    Args:
        pairs: one per harness.
        contracts: the editions, old and new, where the contracts differ; None where they are the same.
    """

    pairs: tuple[Pair, ...]
    contracts: tuple[str, str] | None

    @property
    def has_regressed(self) -> bool:
        """Whether anything is worse now."""
        return any(pair.regressions for pair in self.pairs)


def compare_runs(old: Results, new: Results, contract: Contract) -> Comparison:
    """Compare two runs, harness by harness: the same version where both have it, else the one version of each.

    Args:
        contract: of this kit: it knows the clauses that were given up.

    Raises:
        BadRequest: a harness has several versions in a run and it is not clear which belong together.
    """
    named = [_edition(old), _edition(new)]
    differ = old.header.contract_sha256 != new.header.contract_sha256
    return Comparison(
        pairs=tuple(
            compare_columns(old, before, new, now, contract) for before, now in _paired_columns(old, new)
        ),
        contracts=(named[0], named[1]) if differ else None,
    )


def compare_columns(
    old: Results,
    before: HarnessUnderTest | None,
    new: Results,
    now: HarnessUnderTest | None,
    contract: Contract,
) -> Pair:
    """Compare one harness of a run with one of another run, or of the same."""
    olds, news = _column(old, before), _column(new, now)
    retired = {clause.id for clause in contract.retired}
    differences: list[Difference] = []
    same = still_red = 0
    for clause in dict.fromkeys([*news, *olds]):
        found = list(_differences(clause, olds.get(clause), news.get(clause), retired))
        differences += found
        if not found:
            same += 1
            still_red += news[clause].is_red
    place = {clause: number for number, clause in enumerate(contract.ids)}
    kinds = list(Kind)
    differences.sort(key=lambda one: (kinds.index(one.kind), place.get(one.clause, len(place))))
    return Pair(old=before, new=now, differences=tuple(differences), same=same, still_red=still_red)


def _edition(results: Results) -> str:
    return f"{results.header.edition} ({results.header.contract_sha256[:16]})"


def _column(results: Results, harness: HarnessUnderTest | None) -> dict[str, Check]:
    if harness is None:
        return {}
    key = (harness.name, harness.version)
    return {check.clause: check for check in results.checks if (check.harness, check.version) == key}


def _differences(
    clause: str, old: Check | None, new: Check | None, retired: set[str]
) -> Iterator[Difference]:
    match old, new:
        case None, Check():
            kinds = [Kind.NEW_FAILURE if new.is_red else Kind.ADDED]
        case Check(), None:
            kinds = [Kind.RETIRED if clause in retired else Kind.MISSING]
        case Check(), Check():
            kinds = list(_changes(old, new))
        case _:
            return
    some = new or old
    assert some is not None
    for kind in kinds:
        yield Difference(kind=kind, clause=clause, level=some.level, old=old, new=new)


def _changes(old: Check, new: Check) -> Iterator[Kind]:
    if new.is_red and not old.is_red:
        yield Kind.NEW_FAILURE
    elif old.is_red and not new.is_red:
        yield Kind.FIXED
    elif old.verdict is not new.verdict:
        yield Kind.VERDICT
    elif new.level is Level.INFO and old.observed != new.observed:
        yield Kind.FIGURES
    both_hold = old.verdict is Verdict.PASS and new.verdict is Verdict.PASS
    # Of a clause that does not hold, nobody saw to it.
    if both_hold and old.enforced_by is not new.enforced_by:
        yield Kind.ENFORCER


def _paired_columns(
    old: Results, new: Results
) -> Iterator[tuple[HarnessUnderTest | None, HarnessUnderTest | None]]:
    for name in dict.fromkeys(harness.name for harness in (*new.header.harnesses, *old.header.harnesses)):
        olds = {one.version: one for one in old.header.harnesses if one.name == name}
        news = {one.version: one for one in new.header.harnesses if one.name == name}
        for version in [version for version in news if version in olds]:
            yield olds.pop(version), news.pop(version)
        if olds and news and (len(olds) > 1 or len(news) > 1):
            raise BadRequest(
                f"it is not clear which versions of {name} to compare: {', '.join(olds)} with {', '.join(news)}",
                advice="compare files that hold one version of it each",
            )
        if olds and news:
            yield olds.popitem()[1], news.popitem()[1]
        for left in olds.values():
            yield left, None
        for left in news.values():
            yield None, left
