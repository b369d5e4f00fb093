"""The contract and the scenarios, in both directions: each clause has its scenario, each scenario its clauses."""

from __future__ import annotations

from collections import defaultdict

import pytest

from checkrein.conformance.clauses import Contract
from checkrein.conformance.scenario import Scenario
from checkrein.conformance.scenario_catalogue import all_scenarios


@pytest.fixture(scope="module")
def scenarios() -> tuple[Scenario, ...]:
    return all_scenarios()


def test_every_clause_is_judged_by_exactly_one_scenario(
    contract: Contract, scenarios: tuple[Scenario, ...]
) -> None:
    judges: defaultdict[str, list[str]] = defaultdict(list)
    for scenario in scenarios:
        for clause in scenario.clauses:
            judges[clause].append(scenario.name)
    assert {clause: judges[clause] for clause in contract.ids if len(judges[clause]) != 1} == {}


def test_no_scenario_judges_a_clause_that_the_contract_lacks(
    contract: Contract, scenarios: tuple[Scenario, ...]
) -> None:
    assert [
        clause for scenario in scenarios for clause in scenario.clauses if clause not in contract.ids
    ] == []


def test_scenarios_have_names_of_their_own(scenarios: tuple[Scenario, ...]) -> None:
    names = [scenario.name for scenario in scenarios]
    assert sorted(set(names)) == sorted(names), "the run folder is named after the scenario"
