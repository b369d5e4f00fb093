"""The contract and the scenarios, in both directions: each clause has its scenario, each scenario its clauses."""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict

import pytest

import checkrein.conformance.scenarios
from checkrein.conformance.clauses import Contract
from checkrein.conformance.scenario import Scenario, scenario_of


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    package = checkrein.conformance.scenarios
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
        if found.name.startswith("test_")
    ]
    found = [scenario_of(value) for module in modules for value in vars(module).values()]
    return [one for one in found if one is not None]


def test_every_clause_is_judged_by_exactly_one_scenario(
    contract: Contract, scenarios: list[Scenario]
) -> None:
    judges: defaultdict[str, list[str]] = defaultdict(list)
    for scenario in scenarios:
        for clause in scenario.clauses:
            judges[clause].append(scenario.name)
    assert {clause: judges[clause] for clause in contract.ids if len(judges[clause]) != 1} == {}


def test_no_scenario_judges_a_clause_that_the_contract_lacks(
    contract: Contract, scenarios: list[Scenario]
) -> None:
    assert [
        clause for scenario in scenarios for clause in scenario.clauses if clause not in contract.ids
    ] == []


def test_scenarios_have_names_of_their_own(scenarios: list[Scenario]) -> None:
    names = [scenario.name for scenario in scenarios]
    assert sorted(set(names)) == sorted(names), "the run folder is named after the scenario"
