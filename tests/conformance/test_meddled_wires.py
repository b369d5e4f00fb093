"""What only the wire of a real CLI can show: each defect turns exactly its rows red, or the adapter makes it good."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.known_failures import Baseline
from checkrein.conformance.results import Check
from checkrein.conformance.scenario import scenario_of
from checkrein.conformance.scenario_run import run_scenario
from checkrein.conformance.target import find_target
from checkrein.conformance.verdicts import Verdict
from tests.conformance.sabotage.meddled_wires import DEFECTS, HEALED, MeddledWire
from tests.conformance.sabotage.wire_meddler import meddled

pytestmark = pytest.mark.usefixtures("real_claude_code", "real_codex", "real_pi")


def checks_on(wire: MeddledWire, runs: Path) -> tuple[Check, ...]:
    """What is judged while it is meddled with; each of the meddlings must have happened."""
    declared = scenario_of(wire.scenario)
    assert declared is not None
    with meddled(wire.meddlings) as acts:
        report = run_scenario(
            declared,
            find_target(wire.harness),
            contract=load_contract(),
            baseline=Baseline(failures={}),
            runs=runs,
        )
    assert report is not None
    assert [meddling for meddling in wire.meddlings if meddling not in acts] == [], "it has not acted"
    return report.checks


@pytest.mark.parametrize("name", DEFECTS)
def test_a_meddled_wire_turns_exactly_its_rows_red(name: str, tmp_path: Path) -> None:
    wire = DEFECTS[name]
    checks = checks_on(wire, tmp_path)
    red = {check.clause: check.observed for check in checks if check.verdict is not Verdict.PASS}
    assert red.keys() == wire.red, red


@pytest.mark.parametrize("name", HEALED)
def test_a_meddled_wire_that_the_adapter_makes_good(name: str, tmp_path: Path) -> None:
    checks = checks_on(HEALED[name], tmp_path)
    assert checks
    assert {check.clause: check.observed for check in checks if check.verdict is not Verdict.PASS} == {}
