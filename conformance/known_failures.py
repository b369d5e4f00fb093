"""Baselines: failures that are known, one data file per harness, each with the versions and the reason.

A failure that the baseline names is an `expected_fail`. An entry that does not fail any more is stale, and a check
that passes against a stale entry fails, so that the file shrinks when the harness gets better.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from checkrein.conformance.clauses import Contract
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.verdicts import Verdict
from checkrein.conformance.yaml_reading import BadDataFile, read_yaml


class KnownFailure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One known failure.

    Args:
        clause: the id of the clause.
        versions: the versions of the harness on which it was seen to fail.
        reason: why it fails, in words.
    """

    clause: str
    versions: tuple[str, ...]
    reason: str


class _BaselineFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    harness: str
    known_failures: tuple[KnownFailure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The known failures of every harness, by harness and clause."""

    failures: dict[tuple[str, str], KnownFailure]

    def find(self, harness: str, version: str, clause: str) -> KnownFailure | None:
        """The known failure of that clause on that version, if there is one."""
        known = self.failures.get((harness, clause))
        return known if known is not None and version in known.versions else None


def with_baseline(verdict: Verdict, known: KnownFailure | None) -> tuple[Verdict, str]:
    """The verdict in the light of the baseline, and what to say about it ("" for nothing).

    A prerequisite that is missing, or a fault of the kit, is never excused.
    """
    if known is None:
        return verdict, ""
    match verdict:
        case Verdict.FAIL:
            return Verdict.EXPECTED_FAIL, f"known: {known.reason}"
        case Verdict.WARN:
            # No run fails for a SHOULD: the entry only says that the shortfall is known, and why.
            return Verdict.WARN, f"known: {known.reason}"
        case Verdict.PASS:
            return (
                Verdict.FAIL,
                f"the baseline says that it fails ({known.reason}), but it holds: remove the stale entry",
            )
        case _:
            return verdict, ""


@cache
def load_baseline() -> Baseline:
    """The baseline of this kit."""
    folder = Path(str(files("checkrein.conformance.baseline")))
    return load_baseline_from(sorted(folder.glob("*.yaml")), load_contract())


def load_baseline_from(paths: Iterable[Path], contract: Contract) -> Baseline:
    """The baseline in these files.

    Raises:
        BadDataFile: a file cannot be used, is named after another harness, or names an unknown clause.
    """
    failures: dict[tuple[str, str], KnownFailure] = {}
    for path in paths:
        data = read_yaml(path, _BaselineFile)
        if data.harness != path.stem:
            raise BadDataFile(f"the harness is {data.harness!r}, but the file {path.name!r}", where=str(path))
        for known in data.known_failures:
            clause = contract.by_id.get(known.clause)
            if clause is None or not clause.is_about(data.harness):
                raise BadDataFile(
                    f"no clause {known.clause!r} is about {data.harness}", where=str(path), advice="remove it"
                )
            if (data.harness, known.clause) in failures:
                raise BadDataFile(f"{known.clause!r} is named twice", where=str(path), advice="keep one")
            failures[data.harness, known.clause] = known
    return Baseline(failures=failures)
