"""Baselines: failures that are known, one data file per harness, each with the versions and the reason.

A failure that the baseline names is an `expected_fail`. An entry that does not fail any more is stale, and a check
that passes against a stale entry fails, so that the file shrinks when the harness gets better.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from checkrein.adapters.registry import harness_names
from checkrein.conformance.clauses import Contract
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.verdicts import Verdict
from checkrein.conformance.yaml_reading import BadDataFile, read_yaml

#: What stands for a reason until a person has written one; nothing is excused by it.
TO_BE_WRITTEN = "TODO"

_VERSION = re.compile(r"\d+(?:\.\d+)*(?:[-+.][0-9A-Za-z.+-]+)?")
_BETWEEN = ".."


class KnownFailure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One known failure.

    Args:
        clause: the id of the clause.
        versions: the versions of the harness on which it was seen to fail: `2.1.296`, or the first and the last of a
            range, both included: `2.1.290..2.1.296`.
        reason: why it fails, in words.
        link: where the failure is discussed; "" for nowhere.
    """

    clause: str
    versions: tuple[str, ...]
    reason: str
    link: str = ""

    def covers(self, version: str) -> bool:
        """Whether the failure is known of that version."""
        return any(_is_in(version, one) for one in self.versions)


class BaselineFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file: what is known of one harness."""

    harness: str
    known_failures: tuple[KnownFailure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The known failures of every harness, by harness and clause."""

    failures: dict[tuple[str, str], KnownFailure]

    def find(self, harness: str, version: str, clause: str) -> KnownFailure | None:
        """The known failure of that clause on that version, if there is one."""
        known = self.failures.get((harness, clause))
        return known if known is not None and known.covers(version) else None


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
def load_baseline(own: Path | None = None) -> Baseline:
    """The baseline of this kit, with the user's own on top of it.

    Args:
        own: a file, or a folder with one file per harness; for a clause that both name, this one counts.

    Raises:
        BadDataFile: a file cannot be used, names something unknown, or has no reason yet.
    """
    contract = load_contract()
    failures = dict(load_baseline_from(baseline_files(kit_folder()), contract).failures)
    if own is not None:
        failures |= load_baseline_from(baseline_files(own), contract).failures
    return Baseline(failures=failures)


def kit_folder() -> Path:
    """Where the baseline of this kit lies."""
    return Path(str(files("checkrein.conformance.baseline")))


def baseline_files(place: Path) -> tuple[Path, ...]:
    """The files of a baseline: the one that is named, or all in a folder.

    Raises:
        BadDataFile: nothing is there.
    """
    if place.is_file():
        return (place,)
    if not place.is_dir():
        raise BadDataFile(
            "there is no such baseline", where=str(place), advice="name a file, or a folder of them"
        )
    return tuple(sorted(place.glob("*.yaml")))


def load_baseline_from(paths: Iterable[Path], contract: Contract) -> Baseline:
    """The baseline in these files.

    Raises:
        BadDataFile: a file cannot be used, is about an unknown harness or one that another file is about, names an
            unknown clause or version, or has a reason that is still to be written.
    """
    failures: dict[tuple[str, str], KnownFailure] = {}
    seen: dict[str, Path] = {}
    for path in paths:
        data = read_yaml(path, BaselineFile)
        if data.harness in seen:
            raise BadDataFile(
                f"{seen[data.harness].name} is about {data.harness}, too",
                where=str(path),
                advice="keep one file",
            )
        seen[data.harness] = path
        if data.harness not in harness_names():
            raise BadDataFile(
                f"there is no harness {data.harness!r}",
                where=str(path),
                advice=f"remove the file, or correct the name: {', '.join(harness_names())}",
            )
        for known in data.known_failures:
            clause = contract.by_id.get(known.clause)
            if clause is None or not clause.is_about(data.harness):
                raise BadDataFile(
                    f"no clause {known.clause!r} is about {data.harness}", where=str(path), advice="remove it"
                )
            if (data.harness, known.clause) in failures:
                raise BadDataFile(f"{known.clause!r} is named twice", where=str(path), advice="keep one")
            if fault := _fault(known):
                raise BadDataFile(f"{known.clause!r} {fault}", where=str(path), advice="correct that entry")
            failures[data.harness, known.clause] = known
    return Baseline(failures=failures)


def _fault(known: KnownFailure) -> str | None:
    """What is wrong with an entry."""
    reason = known.reason.strip()
    if not reason or reason.upper().startswith(TO_BE_WRITTEN):
        return "has no reason yet: say why it fails"
    if not known.versions:
        return "names no version"
    for one in known.versions:
        first, _, last = one.partition(_BETWEEN)
        if not all(_VERSION.fullmatch(version) for version in ((first, last) if last else (first,))):
            return f"names {one!r}, which is no version and no range such as 2.1.290..2.1.296"
        if last and _order(first) > _order(last):
            return f"names a range that ends before it begins: {one}"
    return None


def _is_in(version: str, one: str) -> bool:
    first, between, last = one.partition(_BETWEEN)
    if not between:
        return version == one
    # A version that is no such thing, as of an executable of one's own, is in no range.
    return bool(_VERSION.fullmatch(version)) and _order(first) <= _order(version) <= _order(last)


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
