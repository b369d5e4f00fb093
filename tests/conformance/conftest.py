"""The fake harness as an installed package: an entry point on a path of its own, for this process and for children."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checkrein.conformance.clauses import Contract
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.known_failures import Baseline
from checkrein.conformance.scenario import scenario_of
from checkrein.conformance.scenario_run import ScenarioReport, run_scenario
from checkrein.conformance.target import find_target

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).parent / "fake_harness" / "program.py"

#: Runs a scenario on the fake harness and gives what came of it.
RunOnFake = Callable[..., ScenarioReport]


@pytest.fixture
def contract() -> Contract:
    return load_contract()


@pytest.fixture
def fake_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """PYTHONPATH under which the fake harness is found by its entry point; also set for this process."""
    installed = tmp_path / "site"
    metadata = installed / "fake_harness-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-harness\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[checkrein.adapters]\nfake = tests.conformance.fake_harness:HARNESS\n"
    )
    monkeypatch.setattr(sys, "path", [str(installed), *sys.path])
    path = os.pathsep.join([str(installed), str(REPOSITORY)])
    monkeypatch.setenv("PYTHONPATH", path)
    return path


@pytest.fixture
def run_on_fake(fake_path: str, tmp_path: Path, contract: Contract) -> RunOnFake:
    def run(test: object, *, baseline: Baseline | None = None, program: Path = PROGRAM) -> ScenarioReport:
        declared = scenario_of(test)
        assert declared is not None
        report = run_scenario(
            declared,
            find_target(f"fake@1.0={program}"),
            contract=contract,
            baseline=baseline or Baseline(failures={}),
            runs=tmp_path / "runs",
        )
        assert report is not None
        return report

    return run
