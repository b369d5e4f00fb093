"""Loading the contract from its data files, one per area."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from checkrein.conformance.clauses import Area, Clause, Contract, PlannedClause, RetiredClause
from checkrein.conformance.yaml_reading import BadDataFile, read_yaml

EDITION_FILE = "edition.yaml"
RESERVED_FILE = "reserved.yaml"

_ID = re.compile(r"[a-z]+(\.[a-z0-9]+(-[a-z0-9]+)*)+")
_EDITION = re.compile(r"20\d\d\.(0[1-9]|1[0-2])")


class EditionFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`edition.yaml`: the edition, and the areas in the order in which they are reported."""

    edition: str
    areas: tuple[str, ...]


class AreaFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One area's file."""

    area: str
    title: str
    clauses: tuple[Clause, ...]


class ReservedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`reserved.yaml`: the ids that no clause may take."""

    planned: tuple[PlannedClause, ...]
    retired: tuple[RetiredClause, ...]


@cache
def load_contract() -> Contract:
    """The contract of this kit."""
    return load_contract_from(Path(str(files("checkrein.conformance.contract"))))


def load_contract_from(folder: Path) -> Contract:
    """The contract in a folder: `edition.yaml`, one file per area that it names, and `reserved.yaml`.

    Raises:
        BadDataFile: a file is missing or not named, holds an unknown key, a wrong value, or an id that another
            clause has or that is reserved; names the file and the place.
    """
    head_path = folder / EDITION_FILE
    head = read_yaml(head_path, EditionFile)
    if not _EDITION.fullmatch(head.edition):
        raise BadDataFile(f"{head.edition!r} is no edition such as 2026.11", where=str(head_path))
    stray = {path.stem for path in folder.glob("*.yaml")} - {
        *head.areas,
        head_path.stem,
        Path(RESERVED_FILE).stem,
    }
    if stray:
        raise BadDataFile(
            f"there are files for areas that the edition does not name: {', '.join(sorted(stray))}",
            where=str(folder),
            advice=f"name them in {EDITION_FILE}, or remove them",
        )
    areas = tuple(_load_area(folder / f"{name}.yaml", head.edition) for name in head.areas)
    _refuse_duplicates(areas)
    reserved = read_yaml(folder / RESERVED_FILE, ReservedFile)
    _refuse_reserved(areas, reserved)
    return Contract(edition=head.edition, areas=areas, planned=reserved.planned, retired=reserved.retired)


def _load_area(path: Path, edition: str) -> Area:
    data = read_yaml(path, AreaFile)
    if data.area != path.stem:
        raise BadDataFile(f"the area is called {data.area!r}, but the file {path.name!r}", where=str(path))
    for clause in data.clauses:
        if fault := _fault(clause, data.area, edition):
            raise BadDataFile(fault, where=f"{path}, clause {clause.id!r}", advice="correct that field")
    return Area(name=data.area, title=data.title, clauses=data.clauses)


def _fault(clause: Clause, area: str, edition: str) -> str | None:
    if not _ID.fullmatch(clause.id):
        return "an id is lower-case words with dots between them, such as `steer.idle.rejected`"
    if clause.area != area:
        return f"the id does not belong to the area {area!r}"
    if not clause.text.strip() or not clause.source.strip():
        return "text and source must not be empty"
    if not _EDITION.fullmatch(clause.since) or clause.since > edition:
        return f"{clause.since!r} is no edition up to {edition}"
    if (clause.harnesses is not None) != (area == "native"):
        return "clauses of the area native name their harnesses, and no others do"
    return None


def _refuse_duplicates(areas: Iterable[Area]) -> None:
    seen: set[str] = set()
    for area in areas:
        for clause in area.clauses:
            if clause.id in seen:
                raise BadDataFile(
                    f"there are two clauses with the id {clause.id!r}",
                    where=f"{area.name}.yaml",
                    advice="an id is never used twice, not even after it was retired",
                )
            seen.add(clause.id)


def _refuse_reserved(areas: Iterable[Area], reserved: ReservedFile) -> None:
    kept = {clause.id for clause in (*reserved.planned, *reserved.retired)}
    for area in areas:
        for clause in area.clauses:
            if clause.id in kept or f"{clause.id.rpartition('.')[0]}.<rule>" in kept:
                raise BadDataFile(
                    f"the id {clause.id!r} is reserved",
                    where=f"{area.name}.yaml",
                    advice=f"take another one; a planned clause that is there now leaves {RESERVED_FILE}",
                )
