"""From a scenario to its bench, and from what was judged there to checks: the same in a run and when it is verified."""

from __future__ import annotations

from checkrein.adapters.manifest import Manifest, Support
from checkrein.conformance.clauses import Clause, Contract
from checkrein.conformance.judgements import Judgement, Judgements
from checkrein.conformance.results import Check, Evidence
from checkrein.conformance.run_folder import RunFolder
from checkrein.conformance.scenario import Scenario


def bench_of(scenario: Scenario, contract: Contract, manifest: Manifest) -> Judgements | None:
    """The bench of a scenario for the harness of that manifest; None when none of its clauses is about it.

    Args:
        contract: has every clause that the scenario declares.
    """
    clauses = [contract.by_id[clause] for clause in scenario.clauses]
    declared = [clause for clause in clauses if clause.is_about(manifest.name)]
    if not declared:
        return None
    return Judgements(
        declared=declared,
        left_out=frozenset(clause.id for clause in clauses if not clause.is_about(manifest.name)),
        not_applicable={clause.id: why for clause in declared if (why := _why_not(clause, manifest))},
        undeclared=frozenset(clause.id for clause in declared if _is_left_open(clause, manifest)),
    )


def _why_not(clause: Clause, manifest: Manifest) -> str:
    """Why the clause does not apply to what the harness declares that it can and cannot do; "" when it does."""
    if clause.capability is not None and manifest.lacks(clause.capability):
        return f"the harness declares that it has no {clause.capability.value}"
    if clause.without is not None and not manifest.lacks(clause.without):
        return f"about harnesses without {clause.without.value}, which this one does not say that it is"
    return ""


def _is_left_open(clause: Clause, manifest: Manifest) -> bool:
    """Whether the harness says nothing of what the clause is about."""
    return clause.capability is not None and manifest.support(clause.capability) is Support.UNKNOWN


def check_of(
    judgement: Judgement, *, harness: str, version: str, scenario: str, folder: RunFolder | None
) -> Check:
    """A judgement as a check of the results.

    Args:
        scenario: name of the scenario.
        folder: where the evidence is; None when the scenario did not run.
    """
    evidence = Evidence()
    if folder is not None:
        evidence = Evidence(
            run_folder=str(folder.root),
            transcript=str(folder.transcript),
            wire_rows=judgement.pointers.wire_rows,
            model_requests=judgement.pointers.model_requests,
        )
    return Check(
        harness=harness,
        version=version,
        clause=judgement.clause.id,
        level=judgement.clause.level,
        verdict=judgement.verdict,
        enforced_by=judgement.enforced_by,
        expected=judgement.expected,
        observed=judgement.observed,
        scenario=scenario,
        evidence=evidence,
    )
