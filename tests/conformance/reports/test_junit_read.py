"""JUnit XML as a reader of it has it that others have written: the counts, names and messages of the run."""

# The reader's types are open where it takes elements of lxml or of the standard library alike.
# pyright: basic

from __future__ import annotations

from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite

from checkrein.conformance.clauses import Contract
from checkrein.conformance.reports.junit import render_junit
from checkrein.conformance.scrubbing import Scrubber
from checkrein.conformance.verdicts import Verdict
from tests.conformance.reports.example_results import every_verdict

SCRUBBER = Scrubber(home=Path("/home/jane"), user="jane")

#: What a reader finds with a case of that verdict, where it turns the run red or is not judged at all.
READ_AS = {
    Verdict.FAIL: Failure,
    Verdict.NOT_TESTABLE: Error,
    Verdict.KIT_ERROR: Error,
    Verdict.NOT_APPLICABLE: Skipped,
    Verdict.EXPECTED_FAIL: Skipped,
}


@pytest.fixture
def suites(contract: Contract, tmp_path: Path) -> list[TestSuite]:
    """The report as an independent reader of JUnit XML has it from a file."""
    report = tmp_path / "junit.xml"
    report.write_text(render_junit(every_verdict(contract), contract, SCRUBBER), encoding="utf-8")
    read = JUnitXml.fromfile(str(report))
    return list(read)


def counts(suite: TestSuite) -> tuple[int | None, ...]:
    return suite.tests, suite.failures, suite.errors, suite.skipped


def test_a_reader_of_junit_finds_each_check_with_its_outcome(
    contract: Contract, suites: list[TestSuite]
) -> None:
    found = {
        (str(suite.name), str(case.name)): [type(result) for result in case.result]
        for suite in suites
        for case in suite
    }
    checks = every_verdict(contract).checks
    expected = {
        (f"{check.harness}@{check.version}", check.clause): [READ_AS[check.verdict]]
        if check.is_red or check.verdict in (Verdict.NOT_APPLICABLE, Verdict.EXPECTED_FAIL)
        else []
        for check in checks
    }
    assert found == expected
    assert len(found) == len(checks) == 9


def test_a_reader_of_junit_counts_what_the_report_says(contract: Contract, suites: list[TestSuite]) -> None:
    said = [counts(suite) for suite in suites]
    for suite in suites:
        suite.update_statistics()
    assert said == [counts(suite) for suite in suites] == [(5, 0, 1, 1), (4, 1, 1, 1)]
    whole = JUnitXml.fromstring(render_junit(every_verdict(contract), contract, SCRUBBER).encode())
    assert (whole.tests, whole.failures, whole.errors, whole.skipped) == (9, 1, 2, 2)


def test_a_reader_of_junit_has_the_messages_and_their_details(suites: list[TestSuite]) -> None:
    told = {
        str(case.name): (str(result.type), str(result.message), str(result.text))
        for suite in suites
        for case in suite
        for result in case.result
    }
    kind, message, text = told["interrupt.mid-text.quiet"]
    assert (kind, message) == ("not_testable", "not met: git")
    assert "\nobserved: not met: git" in text
    kind, message, text = told["steer.idle.rejected"]
    assert kind == "fail"
    assert "</script><img src=x onerror=alert(1)>" in message
    assert text.startswith("clause (MUST): ")
    assert told["session.fork.original-untouched"][1] == "expected fail: known: it is so"
