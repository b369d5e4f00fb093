"""JUnit XML: what CI servers count is what the run found."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from checkrein.conformance.clauses import Contract
from checkrein.conformance.reports.junit import render_junit
from checkrein.conformance.scrubbing import Scrubber
from tests.conformance.reports.example_results import every_verdict

SCRUBBER = Scrubber(home=Path("/home/jane"), user="jane")


@pytest.fixture
def root(contract: Contract) -> ET.Element:
    return ET.fromstring(render_junit(every_verdict(contract), contract, SCRUBBER).encode())


def outcomes(suite: ET.Element) -> dict[str, str]:
    """The name of each case's child that says how it went; "" where there is none."""
    return {str(case.get("name")): next((child.tag for child in case), "") for case in suite.iter("testcase")}


def test_there_is_one_suite_per_harness_with_one_case_per_clause(root: ET.Element) -> None:
    assert [suite.get("name") for suite in root] == ["codex@0.171.0", "claude-code@2.1.332"]
    assert [len(suite.findall("testcase")) for suite in root] == [5, 4]


def test_a_broken_clause_is_a_failure_and_what_could_not_be_judged_an_error(root: ET.Element) -> None:
    codex, claude_code = root
    assert outcomes(codex) == {
        "session.fork.original-untouched": "skipped",
        "steer.idle.rejected": "",
        "interrupt.mid-text.quiet": "",
        "interrupt.latency": "system-out",
        "native.codex.turn-start": "error",
    }
    assert outcomes(claude_code) == {
        "session.fork.original-untouched": "skipped",
        "steer.idle.rejected": "failure",
        "interrupt.mid-text.quiet": "error",
        "interrupt.mark.visible": "system-out",
    }


def test_the_attributes_count_what_is_there(root: ET.Element) -> None:
    tags = {"failures": "failure", "errors": "error", "skipped": "skipped", "tests": "testcase"}
    for element in (root, *root):
        assert {name: element.get(name) for name in tags} == {
            name: str(sum(1 for _ in element.iter(tag))) for name, tag in tags.items()
        }


def test_the_structure_is_what_readers_of_junit_expect(root: ET.Element) -> None:
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        assert [child.tag for child in suite] == ["properties", *["testcase"] * (len(suite) - 1)]
        for case in suite.iter("testcase"):
            assert case.get("classname")
            assert case.get("name")
            assert len(case) <= 1
        for fault in (*suite.iter("failure"), *suite.iter("error")):
            assert fault.get("type") in {"fail", "not_testable", "kit_error"}
            assert fault.get("message")


def test_the_times_of_the_cases_add_up_to_the_scenarios(root: ET.Element) -> None:
    for suite in root:
        times = [float(str(case.get("time"))) for case in suite.iter("testcase")]
        assert times == [4.25, *[0.0] * (len(times) - 1)]
        assert suite.get("time") == "4.250"


def test_characters_that_xml_cannot_hold_are_replaced(root: ET.Element) -> None:
    failure = next(root.iter("failure"))
    assert "</script><img src=x onerror=alert(1)>" in str(failure.get("message"))
    assert "\ufffd[31m\ufffd" in str(failure.text)
