"""The pinned harnesses keep the contract: `checkrein run` as a person runs it, on the real programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from checkrein.adapters.provision import InstalledHarness
from checkrein.conformance.clauses import Contract
from checkrein.conformance.results_files import read_results
from checkrein.conformance.verdicts import Verdict

REPOSITORY = Path(__file__).resolve().parents[2]

#: The harnesses that are judged when none is named, in the order of the matrix.
HARNESSES = ("claude-code", "codex", "pi")

#: How long the whole run may take, in seconds; on two quiet cores it takes about 240.
RUN_SECONDS = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """What came of `checkrein run`.

    Args:
        status: its exit status.
        said: what it printed; the matrix is in it.
        results: the file with its results.
    """

    status: int
    said: str
    results: Path


@pytest.fixture(scope="module")
def whole_run(
    tmp_path_factory: pytest.TempPathFactory,
    real_claude_code: InstalledHarness,
    real_codex: InstalledHarness,
    real_pi: InstalledHarness,
) -> WholeRun:
    folder = tmp_path_factory.mktemp("run")
    results = folder / "results.jsonl"
    command = [sys.executable, "-m", "checkrein.conformance", "run"]
    done = subprocess.run(
        [*command, "--results", str(results)],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    return WholeRun(status=done.returncode, said=done.stdout, results=results)


def test_the_run_ends_with_status_0(whole_run: WholeRun) -> None:
    assert whole_run.status == 0, whole_run.said


def test_every_clause_has_one_verdict_on_each_harness_that_it_is_about(
    whole_run: WholeRun, contract: Contract
) -> None:
    judged = Counter((check.harness, check.clause) for check in read_results(whole_run.results).checks)

    assert judged == Counter(
        (harness, clause.id) for harness in HARNESSES for clause in contract if clause.is_about(harness)
    )


def test_no_verdict_is_red_not_even_of_a_clause_that_is_only_recorded(whole_run: WholeRun) -> None:
    red = {Verdict.FAIL, Verdict.NOT_TESTABLE, Verdict.KIT_ERROR}

    assert [check for check in read_results(whole_run.results).checks if check.verdict in red] == []


def test_the_binaries_are_the_pinned_ones(
    whole_run: WholeRun,
    real_claude_code: InstalledHarness,
    real_codex: InstalledHarness,
    real_pi: InstalledHarness,
) -> None:
    assert [
        (harness.name, harness.version, harness.binary_sha256)
        for harness in read_results(whole_run.results).header.harnesses
    ] == [
        (installed.harness, installed.version, installed.binary_sha256)
        for installed in (real_claude_code, real_codex, real_pi)
    ]


def test_every_line_of_the_results_fits_the_published_schema(whole_run: WholeRun) -> None:
    schema = json.loads((REPOSITORY / "fixtures/schemas/results.schema.json").read_text())

    for line in whole_run.results.read_text().splitlines():
        jsonschema.validate(json.loads(line), schema)


def test_the_adapters_leave_no_process_for_the_kit_to_kill(whole_run: WholeRun) -> None:
    left = {run.name: run.strays for run in read_results(whole_run.results).scenarios if run.strays}

    assert left == {}
