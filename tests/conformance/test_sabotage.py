"""Every check can fail: each saboteur turns exactly its own rows red, on the real CLIs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkrein.conformance.clauses import Level
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.results_files import read_results
from checkrein.conformance.verdicts import Verdict
from tests.conformance.sabotage.defects import DEFECTS

REPOSITORY = Path(__file__).parents[2]
SABOTAGE = Path(__file__).with_name("sabotage")

#: How long a run under a defect may take, in seconds; the slowest (an interrupt that never arrives) takes about 60.
RUN_SECONDS = 300.0

GREEN = (Verdict.PASS, Verdict.NOT_APPLICABLE)


@pytest.mark.usefixtures("real_claude_code", "real_codex", "real_pi")
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_turns_exactly_its_rows_red(name: str, tmp_path: Path) -> None:
    defect = DEFECTS[name]
    results = tmp_path / "results.jsonl"
    words = [
        sys.executable,
        "-m",
        "pytest",
        "--pyargs",
        "checkrein.conformance.scenarios",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    words += ["-p", "checkrein.conformance.plugin", "--harness", defect.harness]
    words += ["--results", str(results), "--run-dir", str(tmp_path / "runs")]
    words += [word for pattern in defect.among for word in ("--only", pattern)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"CHECKREIN_TEST_DEFECT": name, "PYTHONPATH": f"{SABOTAGE}{os.pathsep}{REPOSITORY}"}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )
    assert results.exists(), done.stdout[-4000:] + done.stderr[-2000:]
    red = {
        check.clause: check.observed for check in read_results(results).checks if check.verdict not in GREEN
    }
    assert sorted(red) == sorted(defect.red), red


def test_every_clause_is_killed_by_a_saboteur() -> None:
    contract = load_contract()
    killed = {clause for defect in DEFECTS.values() for clause in defect.red}
    demands = {clause.id for clause in contract.by_id.values() if clause.level is not Level.INFO}
    assert killed >= demands, "a check that nothing can turn red proves nothing"
    assert killed <= set(contract.by_id), "a saboteur of a clause that does not exist"
