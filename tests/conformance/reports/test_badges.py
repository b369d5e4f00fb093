"""Badges: one per harness and profile, in the shape of the shields endpoint, and never better than the run."""

from __future__ import annotations

import json

import msgspec
import pytest

from checkrein.conformance.clauses import Contract, Level
from checkrein.conformance.reports.badges import badge_files
from checkrein.conformance.reports.profiles import load_profiles
from checkrein.conformance.results import Check
from checkrein.conformance.selection import select_clauses
from checkrein.conformance.verdicts import Verdict
from tests.conformance.reports.example_results import CLAUDE_CODE, CODEX, check, results_of

NAMES = ["stop", "steer", "approve", "inspect"]


def all_passing(contract: Contract, *but: Check) -> list[Check]:
    other = {one.clause for one in but}
    passing = [
        check(clause.id, CODEX, Verdict.PASS, level=clause.level)
        for clause in contract
        if clause.is_about("codex") and clause.id not in other
    ]
    return [*passing, *but]


def badges(contract: Contract, *checks: Check) -> dict[str, dict[str, object]]:
    results = results_of(contract, *checks, harnesses=(CODEX,))
    return {name: json.loads(text) for name, text in badge_files(results, load_profiles(), contract).items()}


def test_the_profiles_are_the_four_and_every_pattern_of_theirs_means_a_clause(contract: Contract) -> None:
    assert [profile.name for profile in load_profiles()] == NAMES
    for profile in load_profiles():
        for pattern in profile.clauses:
            assert select_clauses([pattern], contract)


def test_a_badge_has_exactly_what_the_endpoint_reads(contract: Contract) -> None:
    made = badges(contract, *all_passing(contract))
    assert list(made) == [f"codex-{name}.json" for name in NAMES]
    assert made["codex-steer.json"] == {
        "schemaVersion": 1,
        "label": "codex 0.171.0 steer",
        "message": "kept",
        "color": "brightgreen",
    }


@pytest.mark.parametrize(
    ("verdict", "level", "message", "color"),
    [
        (Verdict.FAIL, Level.MUST, "1 broken", "red"),
        (Verdict.NOT_TESTABLE, Level.MUST, "1 broken", "red"),
        (Verdict.KIT_ERROR, Level.MUST, "1 broken", "red"),
        (Verdict.EXPECTED_FAIL, Level.MUST, "1 known failure", "yellow"),
        (Verdict.WARN, Level.SHOULD, "kept, 1 SHOULD not", "green"),
        (Verdict.FAIL, Level.INFO, "kept", "brightgreen"),
    ],
)
def test_the_worst_check_of_the_profile_decides(
    contract: Contract, verdict: Verdict, level: Level, message: str, color: str
) -> None:
    one = check("steer.order.kept", CODEX, verdict, level=level)
    made = badges(contract, *all_passing(contract, one))
    assert (made["codex-steer.json"]["message"], made["codex-steer.json"]["color"]) == (message, color)
    assert made["codex-approve.json"]["message"] == "kept"


def test_a_run_of_some_clauses_keeps_no_profile(contract: Contract) -> None:
    made = badges(contract, check("steer.order.kept", CODEX, Verdict.PASS))
    assert made["codex-steer.json"]["message"] == "partly run"
    assert made["codex-stop.json"]["message"] == "not run"


def test_of_another_contract_nobody_can_say_what_is_missing(contract: Contract) -> None:
    results = results_of(contract, check("steer.order.kept", CODEX, Verdict.PASS), harnesses=(CODEX,))
    other = msgspec.structs.replace(
        results, header=msgspec.structs.replace(results.header, contract_sha256="c" * 64)
    )
    made = badge_files(other, load_profiles(), contract)
    assert json.loads(made["codex-steer.json"])["message"] == "kept"


def test_two_versions_of_a_harness_get_files_of_their_own(contract: Contract) -> None:
    older = msgspec.structs.replace(CODEX, version="0.162.1")
    results = results_of(contract, harnesses=(older, CODEX, CLAUDE_CODE))
    names = list(badge_files(results, load_profiles()[:1], contract))
    assert names == ["codex-0.162.1-stop.json", "codex-0.171.0-stop.json", "claude-code-stop.json"]
