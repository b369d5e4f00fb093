"""Scenarios on a real CLI with a defect in between."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from checkrein.conformance.results import Check
from checkrein.conformance.results_files import read_results
from checkrein.conformance.verdicts import Verdict
from tests.conformance.sabotage.defects import DEFECTS

REPOSITORY = Path(__file__).parents[3]
SABOTAGE = Path(__file__).parent

#: The scenarios of the kit, as words for pytest.
SCENARIOS = ("--pyargs", "checkrein.conformance.scenarios")

#: How long a run under a defect may take, in seconds; the slowest (an interrupt that never arrives) takes about 60.
RUN_SECONDS = 300.0

GREEN = (Verdict.PASS, Verdict.NOT_APPLICABLE)


def red_under(
    name: str, folder: Path, *, scenarios: Sequence[str] = SCENARIOS, only: Sequence[str] = ()
) -> dict[str, Check]:
    """Run scenarios under a defect; the clauses that are red, with their checks.

    Args:
        name: of the defect.
        folder: where everything is kept.
        scenarios: where they are, as words for pytest.
        only: the clauses that are run, as patterns; those of the defect without any.
    """
    defect = DEFECTS[name]
    results = folder / "results.jsonl"
    words = [sys.executable, "-m", "pytest", *scenarios, "-q", "-p", "no:cacheprovider"]
    words += ["-p", "checkrein.conformance.plugin", "--harness", defect.harness]
    words += ["--results", str(results), "--run-dir", str(folder / "runs")]
    words += [word for pattern in only or defect.among for word in ("--only", pattern)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"CHECKREIN_TEST_DEFECT": name, "PYTHONPATH": f"{SABOTAGE}{os.pathsep}{REPOSITORY}"}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )
    assert results.exists(), done.stdout[-4000:] + done.stderr[-2000:]
    return {check.clause: check for check in read_results(results).checks if check.verdict not in GREEN}
