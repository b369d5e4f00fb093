"""A run in parts: which jobs a CI starts side by side, one per harness, version and group of clauses."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from checkrein.conformance.clauses import Contract
from checkrein.conformance.run_folder import folder_name
from checkrein.conformance.target import TargetRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One part of a run.

    Args:
        harness: name of the harness.
        version: as it was asked for, `latest` stays `latest`; "" for the one that the harness's adapter prefers.
        group: of clauses, named after its areas.
        only: the areas.
    """

    harness: str
    version: str
    group: str
    only: tuple[str, ...]

    @property
    def name(self) -> str:
        """Good for a file and for an artifact."""
        return folder_name("-".join(part for part in (self.harness, self.version, self.group) if part))

    @property
    def arguments(self) -> tuple[str, ...]:
        """Of `checkrein run`."""
        target = f"{self.harness}@{self.version}" if self.version else self.harness
        return (target, *(word for area in self.only for word in ("--only", area)))

    def as_json(self) -> dict[str, str]:
        """The job as an entry of a matrix: texts only, as every CI takes them."""
        return {
            "name": self.name,
            "harness": self.harness,
            "version": self.version,
            "group": self.group,
            "arguments": shlex.join(self.arguments),
        }


def plan_jobs(
    targets: Sequence[TargetRequest], contract: Contract, *, groups: int | None = None
) -> tuple[Job, ...]:
    """The jobs that together judge every clause that is about each target, once.

    Args:
        targets: with their versions.
        groups: into how many groups each harness's clauses are put, as even as whole areas allow; None for one group
            per area.
    """
    return tuple(
        Job(
            harness=target.harness,
            version=target.version or "",
            group="+".join(areas),
            only=areas,
        )
        for target in targets
        for areas in _groups(target.harness, contract, groups)
    )


def _groups(harness: str, contract: Contract, number: int | None) -> list[tuple[str, ...]]:
    sizes = {area.name: sum(clause.is_about(harness) for clause in area.clauses) for area in contract.areas}
    areas = [area for area, size in sizes.items() if size]
    if number is None:
        return [(area,) for area in areas]
    filled: list[list[str]] = [[] for _ in range(min(number, len(areas)))]
    # The largest first, each into the group that has least: near enough to even for some ten areas.
    for area in sorted(areas, key=lambda name: -sizes[name]):
        min(filled, key=lambda group: sum(sizes[name] for name in group)).append(area)
    return [tuple(sorted(group, key=areas.index)) for group in filled]
