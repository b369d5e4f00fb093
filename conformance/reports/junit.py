"""JUnit XML: one test suite per harness, one test case per clause, as CI servers read it.

A check that fails the run is a `failure` where the harness broke a clause, and an `error` where it could not be judged
(a missing prerequisite, a fault of the kit). Known failures and capabilities that a harness does not have are
`skipped`. What is no pass but turns no run red (a SHOULD, an INFO) passes, and says so in `system-out`.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from checkrein.conformance.clauses import Contract
from checkrein.conformance.results import Check, HarnessUnderTest, Results
from checkrein.conformance.scrubbing import Scrubber
from checkrein.conformance.verdicts import Verdict

#: What XML 1.0 cannot hold, not even as a reference.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(results: Results, contract: Contract, scrubber: Scrubber) -> str:
    """The report as JUnit XML.

    Args:
        contract: of this kit, for the texts of the clauses.
        scrubber: takes out what must not leave the machine.
    """
    suites = [_suite(results, harness, contract, scrubber) for harness in results.header.harnesses]
    totals = {
        name: str(sum(int(suite.attrib[name]) for suite in suites))
        for name in ("tests", "failures", "errors", "skipped")
    }
    root = ET.Element(
        "testsuites",
        {
            "name": "checkrein",
            **totals,
            "time": f"{sum(float(suite.attrib['time']) for suite in suites):.3f}",
        },
    )
    root.extend(suites)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(results: Results, harness: HarnessUnderTest, contract: Contract, scrubber: Scrubber) -> ET.Element:
    key = (harness.name, harness.version)
    checks = [check for check in results.checks if (check.harness, check.version) == key]
    seconds = {run.name: run.seconds for run in results.scenarios if (run.harness, run.version) == key}
    # A scenario yields several checks: its time stands at the first of them, so that the sum is right.
    cases = [_case(check, seconds.pop(check.scenario, 0.0), contract, scrubber) for check in checks]
    suite = ET.Element(
        "testsuite",
        {
            "name": _text(harness.label),
            "tests": str(len(cases)),
            "failures": str(_having("failure", cases)),
            "errors": str(_having("error", cases)),
            "skipped": str(_having("skipped", cases)),
            "time": f"{sum(float(case.attrib['time']) for case in cases):.3f}",
            "timestamp": _text(results.header.started_at.partition("+")[0].removesuffix("Z")),
            "hostname": "localhost",
        },
    )
    properties = ET.SubElement(suite, "properties")
    header = results.header
    for name, value in (
        ("kit", header.kit_version),
        ("contract", f"{header.edition} {header.contract_sha256}"),
        ("binary_sha256", harness.binary_sha256),
        ("dialect", harness.dialect),
        ("os", header.os),
        ("offline", "enforced" if header.offline.enforced else "not enforced"),
    ):
        ET.SubElement(properties, "property", {"name": name, "value": _text(value)})
    suite.extend(cases)
    return suite


def _having(tag: str, cases: list[ET.Element]) -> int:
    return sum(case.find(tag) is not None for case in cases)


def _case(check: Check, seconds: float, contract: Contract, scrubber: Scrubber) -> ET.Element:
    case = ET.Element(
        "testcase",
        {
            "classname": _text(f"{check.harness}@{check.version}.{check.clause.partition('.')[0]}"),
            "name": _text(check.clause),
            "time": f"{seconds:.3f}",
        },
    )
    observed = scrubber.text(check.observed)
    clause = contract.by_id.get(check.clause)
    details = "\n".join(
        [
            f"clause ({check.level.value}): {clause.text if clause is not None else check.clause}",
            f"expected: {scrubber.text(check.expected)}",
            f"observed: {observed}",
            *([f"enforced by: {check.enforced_by.value}"] if check.enforced_by is not None else []),
            *([f"kept in: {scrubber.text(check.evidence.run_folder)}"] if check.evidence.run_folder else []),
        ]
    )
    match check.verdict:
        case Verdict.FAIL | Verdict.NOT_TESTABLE | Verdict.KIT_ERROR if check.is_red:
            tag = "failure" if check.verdict is Verdict.FAIL else "error"
            attributes = {"type": check.verdict.value, "message": _text(" ".join(observed.split()))}
            ET.SubElement(case, tag, attributes).text = _text(details)
        case Verdict.NOT_APPLICABLE | Verdict.EXPECTED_FAIL:
            ET.SubElement(case, "skipped", {"message": _text(f"{check.verdict.words}: {observed}")})
        case Verdict.PASS:
            pass
        case _:
            ET.SubElement(case, "system-out").text = _text(f"{check.verdict.words}\n{details}")
    return case


def _text(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
