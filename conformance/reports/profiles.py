"""Profiles: how a harness stands in one respect (stop, steer, approve, inspect). Which clauses belong is data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from checkrein.conformance.clauses import Contract, Level
from checkrein.conformance.results import HarnessUnderTest, Results
from checkrein.conformance.selection import select_clauses
from checkrein.conformance.verdicts import Verdict
from checkrein.conformance.yaml_reading import read_yaml


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One profile.

    Args:
        name: one word, on the badge.
        title: what it means.
        clauses: ids, their beginnings, or patterns.
    """

    name: str
    title: str
    clauses: tuple[str, ...]


class _ProfilesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    profiles: tuple[Profile, ...]


class Standing(StrEnum):
    """How a harness stands in a profile, the best one first."""

    KEPT = "kept"
    #: every MUST holds; a SHOULD does not
    SHORT = "short"
    #: what does not hold is in the baseline
    KNOWN_FAILURES = "known_failures"
    #: a MUST of the profile was not judged in this run
    PARTLY_RUN = "partly_run"
    NOT_RUN = "not_run"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileStanding:
    """How one harness stands in one profile.

    Args:
        number: how many checks are the reason for it.
    """

    harness: HarnessUnderTest
    profile: Profile
    standing: Standing
    number: int


@cache
def load_profiles() -> tuple[Profile, ...]:
    """The profiles of this kit.

    Raises:
        BadDataFile: the file cannot be used.
    """
    return read_yaml(
        Path(str(files("checkrein.conformance.reports"))) / "profiles.yaml", _ProfilesFile
    ).profiles


def standings(
    results: Results, profiles: tuple[Profile, ...], contract: Contract
) -> tuple[ProfileStanding, ...]:
    """How each harness of the results stands in each profile.

    Args:
        contract: of this kit; that a clause was left out can be told only of results of the same contract.
    """
    return tuple(
        _standing(results, harness, profile, contract)
        for harness in results.header.harnesses
        for profile in profiles
    )


def _standing(
    results: Results, harness: HarnessUnderTest, profile: Profile, contract: Contract
) -> ProfileStanding:
    clauses = frozenset(select_clauses(profile.clauses, contract))
    checks = [
        check
        for check in results.checks
        if (check.harness, check.version) == (harness.name, harness.version) and check.clause in clauses
    ]
    judged = {check.clause for check in checks}
    left_out = [
        clause
        for clause in contract.in_order(tuple(clauses - judged))
        if clause.level is Level.MUST and clause.is_about(harness.name)
    ]
    red = sum(check.is_red for check in checks)
    known = sum(check.verdict is Verdict.EXPECTED_FAIL for check in checks)
    short = sum(check.verdict is Verdict.WARN and check.level is Level.SHOULD for check in checks)
    if red:
        standing, number = Standing.BROKEN, red
    elif not checks:
        standing, number = Standing.NOT_RUN, 0
    elif left_out and results.header.contract_sha256 == contract.digest:
        standing, number = Standing.PARTLY_RUN, len(left_out)
    elif known:
        standing, number = Standing.KNOWN_FAILURES, known
    elif short:
        standing, number = Standing.SHORT, short
    else:
        standing, number = Standing.KEPT, len(checks)
    return ProfileStanding(harness=harness, profile=profile, standing=standing, number=number)
