"""Verdicts: what can be said of one clause on one harness, and what of that is red."""

from __future__ import annotations

from enum import StrEnum

from checkrein.conformance.clauses import Level


class Verdict(StrEnum):
    """The closed set of verdicts, the best one first."""

    PASS = "pass"
    #: the harness declares that it has no such capability
    NOT_APPLICABLE = "not_applicable"
    #: it holds, but needs a capability that the harness does not declare: its manifest is out of date
    DRIFT = "drift"
    #: a SHOULD that does not hold, or an INFO that differs from what is expected
    WARN = "warn"
    #: a failure that the baseline names, with its reason
    EXPECTED_FAIL = "expected_fail"
    FAIL = "fail"
    #: a prerequisite was not met; that is no pass
    NOT_TESTABLE = "not_testable"
    #: the kit itself went wrong; never blamed on the harness
    KIT_ERROR = "kit_error"

    @property
    def words(self) -> str:
        """The verdict as people read it."""
        return self.value.replace("_", " ")


_RED = frozenset({Verdict.FAIL, Verdict.NOT_TESTABLE, Verdict.KIT_ERROR})


class EnforcedBy(StrEnum):
    """Who sees to it that a clause holds."""

    HARNESS = "harness"
    ADAPTER = "adapter"


def verdict_of(level: Level, *, holds: bool, declared: bool = True) -> Verdict:
    """The verdict on a clause that was judged.

    Args:
        declared: the harness says that it has the capability that the clause needs; only then is a MUST binding.
    """
    if holds:
        return Verdict.PASS if declared else Verdict.DRIFT
    return Verdict.FAIL if level is Level.MUST and declared else Verdict.WARN


def is_red(verdict: Verdict, level: Level) -> bool:
    """Whether a run with this check has failed. An INFO is never red."""
    return verdict in _RED and level is not Level.INFO
