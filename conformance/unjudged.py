"""Selected clauses that no scenario has judged: never silently missing from the results."""

from __future__ import annotations

from collections.abc import Iterable, Set

from checkrein.conformance.clauses import Contract
from checkrein.conformance.results import Check, Evidence
from checkrein.conformance.target import Target
from checkrein.conformance.verdicts import Verdict


def unjudged_checks(
    contract: Contract, targets: Iterable[Target], selected: Set[str], judged: Iterable[Check]
) -> list[Check]:
    """A check with the verdict `kit_error` for each selected clause that is about a target and has none."""
    there = {(check.harness, check.version, check.clause) for check in judged}
    return [
        Check(
            harness=target.harness,
            version=target.version,
            clause=clause.id,
            level=clause.level,
            verdict=Verdict.KIT_ERROR,
            enforced_by=None,
            expected=clause.text,
            observed="no scenario reported on this clause: there is none, or its process died",
            scenario="",
            evidence=Evidence(),
        )
        for target in targets
        for clause in contract
        if clause.id in selected
        and clause.is_about(target.harness)
        and (target.harness, target.version, clause.id) not in there
    ]
