"""Writing what a run found into a baseline: new failures, each with a reason that a person has yet to write."""

from __future__ import annotations

import json
import os
import textwrap
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from checkrein.adapters.errors import BadRequest
from checkrein.conformance.known_failures import (
    TO_BE_WRITTEN,
    BaselineFile,
    KnownFailure,
    baseline_files,
    kit_folder,
)
from checkrein.conformance.results import Check, Results
from checkrein.conformance.verdicts import Verdict
from checkrein.conformance.yaml_reading import read_yaml

#: Characters per line of a reason.
_WIDTH = 112


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineUpdate:
    """What was done to one file.

    Args:
        file: where it lies.
        added: clauses whose failure is written down; their reasons are to be written before the next run.
        removed: clauses that hold on the version again.
        by_hand: clauses that hold again, but on a version within a range: a person has to shorten it.
    """

    file: Path
    added: tuple[str, ...]
    removed: tuple[str, ...]
    by_hand: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """What a person is told."""
        told = [
            f"{self.file}: {clause}: say why it fails (the reason is {TO_BE_WRITTEN})"
            for clause in self.added
        ]
        told += [f"{self.file}: {clause}: removed, it holds" for clause in self.removed]
        told += [f"{self.file}: {clause}: it holds; shorten the range of versions" for clause in self.by_hand]
        return tuple(told)


def update_baseline(results: Results, own: Path | None) -> tuple[BaselineUpdate, ...]:
    """Write the failures of a run into the baseline, and take out what holds again.

    Only what a harness broke is written: a missing prerequisite, or a fault of the kit, is no known failure.

    Args:
        own: the file or folder that the run was given; None for the baseline of this kit.

    Returns:
        What was done to each file that changed.

    Raises:
        BadDataFile: a file cannot be used.
        BadRequest: a file cannot be written, or the one file that is named is about another harness.
    """
    place = kit_folder() if own is None else own
    updates: list[BaselineUpdate] = []
    for name in dict.fromkeys(harness.name for harness in results.header.harnesses):
        checks = [check for check in results.checks if check.harness == name]
        path, before = _file_of(name, place)
        after, update = _updated(before, path, checks)
        if after != before:
            _write(after, path)
            updates.append(update)
    return tuple(updates)


def _file_of(harness: str, place: Path) -> tuple[Path, BaselineFile]:
    """The file about that harness, and what is in it; one that is not there yet has nothing in it."""
    files = baseline_files(place) if place.exists() else ()
    for path in files:
        data = read_yaml(path, BaselineFile)
        if data.harness == harness:
            return path, data
        if path == place:
            raise BadRequest(
                f"the file is about {data.harness}, and {harness} was run, too",
                where=str(place),
                advice="name a folder, which holds one file per harness",
            )
    path = place if place.suffix == ".yaml" and not place.is_dir() else place / f"{harness}.yaml"
    return path, BaselineFile(harness=harness)


def _updated(before: BaselineFile, path: Path, checks: list[Check]) -> tuple[BaselineFile, BaselineUpdate]:
    known = {entry.clause: entry for entry in before.known_failures}
    added: list[str] = []
    removed: list[str] = []
    by_hand: list[str] = []
    for check in checks:
        if not (check.is_red and check.verdict is Verdict.FAIL):
            continue
        entry = known.get(check.clause)
        if entry is None:
            reason = f"{TO_BE_WRITTEN}: {' '.join(check.observed.split())}"
            known[check.clause] = KnownFailure(clause=check.clause, versions=(check.version,), reason=reason)
            added.append(check.clause)
        elif not entry.covers(check.version):
            reason = f"{TO_BE_WRITTEN}, is it so on {check.version}, too? {entry.reason}"
            known[check.clause] = replace(entry, versions=(*entry.versions, check.version), reason=reason)
            added.append(check.clause)
        elif check.version in entry.versions:
            # It is red because it holds: the entry is stale.
            left = tuple(version for version in entry.versions if version != check.version)
            known[check.clause] = replace(entry, versions=left)
            removed.append(check.clause)
        else:
            by_hand.append(check.clause)
    after = BaselineFile(
        harness=before.harness,
        known_failures=tuple(entry for entry in known.values() if entry.versions),
    )
    return after, BaselineUpdate(
        file=path, added=tuple(added), removed=tuple(removed), by_hand=tuple(by_hand)
    )


def _write(data: BaselineFile, path: Path) -> None:
    """Write a file; the comments at its beginning stay."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        old = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        partial.write_text("\n".join([*_comments(old), *_lines(data)]) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as fault:
        raise BadRequest(
            f"the baseline cannot be written: {fault.strerror}",
            where=str(path),
            advice="name another place with --baseline",
        ) from fault


def _comments(lines: list[str]) -> list[str]:
    end = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return lines[:end]


def _lines(data: BaselineFile) -> list[str]:
    lines = [f"harness: {data.harness}", "known_failures:" if data.known_failures else "known_failures: []"]
    for entry in data.known_failures:
        lines += [
            f"  - clause: {entry.clause}",
            f"    versions: {json.dumps(entry.versions)}",
            "    reason: >-",
        ]
        # A folded text has no escapes: it must be one line, broken where it has spaces.
        words = " ".join(entry.reason.split())
        lines += textwrap.wrap(
            words,
            _WIDTH,
            initial_indent=" " * 6,
            subsequent_indent=" " * 6,
            break_long_words=False,
            break_on_hyphens=False,
        )
        if entry.link:
            lines.append(f"    link: {json.dumps(entry.link)}")
    return lines
