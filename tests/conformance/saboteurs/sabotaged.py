"""Scenarios on the reference agent with a defect."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from checkrein.adapters.interface import HarnessAdapter, Launch, SessionSpec
from checkrein.adapters.wrapped import WrappedAdapter
from checkrein.conformance import scenarios
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.known_failures import Baseline
from checkrein.conformance.reference.kit import HONEST
from checkrein.conformance.results import Check
from checkrein.conformance.scenario import Scenario
from checkrein.conformance.scenario_catalogue import all_scenarios
from checkrein.conformance.scenario_run import run_scenario
from checkrein.conformance.target import Target, find_target
from checkrein.conformance.verdicts import Verdict
from tests.conformance.saboteurs.defect import installed
from tests.conformance.saboteurs.defects import DEFECTS

PROGRAM = Path(__file__).with_name("program.py")

GREEN = (Verdict.PASS, Verdict.NOT_APPLICABLE)


class Sabotaged(WrappedAdapter):
    """The adapter of the reference agent, with a defective agent behind it.

    Args:
        adapter: the honest one.
        defect: by name.
    """

    def __init__(self, adapter: HarnessAdapter, defect: str) -> None:
        super().__init__(adapter)
        self._defect = defect

    def launch(self, spec: SessionSpec) -> Launch:
        """See `HarnessAdapter.launch`."""
        launch = self._adapter.launch(spec)
        place = launch.argv.index(HONEST)
        argv = (*launch.argv[:place], str(PROGRAM), self._defect, *launch.argv[place + 1 :])
        return replace(launch, argv=argv)


def saboteur(defect: str) -> Target:
    """The reference agent, with the defect if it is one of the agent, for a scenario."""
    honest = find_target("reference")
    if DEFECTS[defect].in_driver:
        return honest
    return replace(honest, adapter=Sabotaged(honest.adapter, defect))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a defect has turned red.

    Args:
        expected: the clauses that it must turn.
        red: those that it did, with their checks.
        judged: how many there were.
    """

    expected: frozenset[str]
    red: dict[str, Check]
    judged: int


def try_defect(
    name: str, runs: Path, *, package: str = scenarios.__name__, clauses: Iterable[str] | None = None
) -> Row:
    """Run the scenarios that judge the clauses of a defect.

    Args:
        runs: where everything is kept.
        package: that holds the scenarios.
        clauses: those whose scenarios are run, instead of all that the defect names.
    """
    defect = DEFECTS[name]
    contract, target = load_contract(), saboteur(name)
    red: dict[str, Check] = {}
    judged = 0
    for scenario in _scenarios((*defect.turned, *defect.among) if clauses is None else clauses, package):
        with installed(defect):
            report = run_scenario(
                scenario, target, contract=contract, baseline=Baseline(failures={}), runs=runs
            )
        assert report is not None
        judged += len(report.checks)
        red |= {check.clause: check for check in report.checks if check.verdict not in GREEN}
    return Row(expected=defect.turned, red=red, judged=judged)


def differences(
    turned: Collection[str], not_testable: Collection[str], red: Mapping[str, Check]
) -> list[str]:
    """What is other than a defect must have it, in words.

    Args:
        turned: the clauses that must be red.
        not_testable: those of them that must be so for want of a prerequisite.
        red: those that are, with their checks.
    """
    said = {clause: f"{check.verdict.value}: {check.observed}" for clause, check in sorted(red.items())}
    return [
        *(f"{clause} is green" for clause in sorted(set(turned) - red.keys())),
        *(f"{clause} is red, too, {words}" for clause, words in said.items() if clause not in turned),
        *(
            f"{clause} must be not testable, and is {words}"
            for clause, words in said.items()
            if clause in not_testable and red[clause].verdict is not Verdict.NOT_TESTABLE
        ),
    ]


def _scenarios(clauses: Iterable[str], package: str) -> list[Scenario]:
    """The scenarios of a package that judge these clauses."""
    wanted = set(clauses)
    found = [each for each in all_scenarios(package) if wanted & set(each.clauses)]
    missing = wanted - {clause for each in found for clause in each.clauses}
    assert not missing, f"nobody judges {missing}"
    return found
