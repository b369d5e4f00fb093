"""What `kit.py` leaves out makes clauses not testable, before anything runs, and they say what is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkrein.adapters.manifest import Capability, Support
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.test_approve import test_a_file_edit_asks as file_edit
from checkrein.conformance.scenarios.test_fault_tools import test_tools_that_fail as failing_tools
from checkrein.conformance.verdicts import Verdict
from tests.conformance.conftest import RunOnFake
from tests.conformance.fake_harness.adapter import FakeAdapter


@scenario("record.usage.per-turn")
async def resuming(arena: Arena) -> None:
    async with arena.session(policy="auto", resume="some conversation"):
        raise AssertionError("it was opened")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (failing_tools, "`brief_call` of the harness"),
        (file_edit, "the harness has a tool that writes files"),
        (resuming, "the harness can resume a conversation"),
    ],
)
def test_what_is_missing_is_said_and_nothing_runs(
    body: object, words: str, run_on_fake: RunOnFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = FakeAdapter().manifest
    without_resume = {**honest.capabilities, Capability.RESUME: Support.NO}
    monkeypatch.setattr(FakeAdapter, "manifest", replace(honest, capabilities=without_resume))

    report = run_on_fake(body)

    assert {check.verdict for check in report.checks} == {Verdict.NOT_TESTABLE}
    assert all(words in check.observed for check in report.checks)
    assert report.run.starts == 0
