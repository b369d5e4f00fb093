"""Results of a run in parts, put together: one header, every check once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from checkrein.conformance.clauses import Contract
from checkrein.conformance.results import Check, HarnessUnderTest, Header, Results, finish
from checkrein.conformance.results_files import BadResults


class UnlikeResults(BadResults):
    """Raised when two files cannot belong to one run: other contract, other kit, or other program."""


class ContradictingChecks(BadResults):
    """Raised when two files hold the same check with two verdicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The results of one part, and the file that they were read from."""

    file: Path
    results: Results


def merge_results(parts: Sequence[Part], contract: Contract, *, command: tuple[str, ...]) -> Results:
    """Put the parts of a run together.

    A check that several parts have is kept once; so are the seconds of all that was run.

    Args:
        parts: at least one; the first decides the order of the harnesses.
        contract: of this kit, for the order of the clauses.
        command: the command line to name in the results.

    Raises:
        UnlikeResults: two parts do not belong together; names both files.
        ContradictingChecks: a clause has two verdicts on one harness; names both files.
    """
    first = parts[0]
    for part in parts[1:]:
        _refuse_unlike(first, part)
    checks: dict[tuple[str, str, str], tuple[Check, Path]] = {}
    for part in parts:
        for check in part.results.checks:
            key = (check.harness, check.version, check.clause)
            kept, file = checks.setdefault(key, (check, part.file))
            if kept.verdict is not check.verdict:
                raise ContradictingChecks(
                    f"{check.clause} on {check.harness}@{check.version} is {kept.verdict.words} in {file} and "
                    f"{check.verdict.words} in {part.file}",
                    where=str(part.file),
                    advice="merge the files of one run only",
                )
    return finish(
        _header(parts, command),
        (check for check, _ in checks.values()),
        (run for part in parts for run in part.results.scenarios),
        contract=contract,
        seconds=sum(part.results.footer.seconds for part in parts),
    )


def _refuse_unlike(first: Part, part: Part) -> None:
    one, other = first.results.header, part.results.header
    for name, here, there in (
        ("contract", one.contract_sha256[:16], other.contract_sha256[:16]),
        ("version of checkrein", one.kit_version, other.kit_version),
    ):
        if here != there:
            raise UnlikeResults(
                f"the {name} is {here} in {first.file} and {there} in {part.file}",
                where=str(part.file),
                advice="merge the files of one run only",
            )


def _header(parts: Sequence[Part], command: tuple[str, ...]) -> Header:
    headers = [part.results.header for part in parts]
    weakest = next((header.offline for header in headers if not header.offline.enforced), headers[0].offline)
    patterns = dict.fromkeys(pattern for header in headers for pattern in (header.only or ("*",)))
    return replace(
        headers[0],
        harnesses=_harnesses(parts),
        os=_together(header.os for header in headers),
        python=_together(header.python for header in headers),
        offline=weakest,
        started_at=min(header.started_at for header in headers),
        command=command,
        only=() if set(patterns) == {"*"} else tuple(patterns),
        run_folder=_common_folder([header.run_folder for header in headers]),
    )


def _harnesses(parts: Sequence[Part]) -> tuple[HarnessUnderTest, ...]:
    found: dict[str, tuple[HarnessUnderTest, Path]] = {}
    for part in parts:
        for harness in part.results.header.harnesses:
            kept, file = found.setdefault(harness.label, (harness, part.file))
            if kept != harness:
                raise UnlikeResults(
                    f"{harness.label} is another program, or spoke otherwise, in {file} than in {part.file}",
                    where=str(part.file),
                    advice="merge the files of one run only",
                )
    return tuple(harness for harness, _ in found.values())


def _together(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))


def _common_folder(folders: list[str]) -> str:
    """The folder in which all runs lie; "" when there is none, or nobody said where one lies."""
    if not all(folder and Path(folder).is_absolute() for folder in folders):
        return ""
    common = os.path.commonpath(folders)
    return common if len(Path(common).parts) > 1 else ""
