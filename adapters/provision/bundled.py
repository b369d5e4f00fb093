"""Harnesses that come with the package of their adapter: a Python program beside its `install.toml`.

Such a table has two keys: `bundled`, the program's path relative to the table, and `version`. Nothing is downloaded.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

import msgspec

from checkrein.adapters.provision.errors import BadInstallTable, NoSuchVersion
from checkrein.adapters.provision.installed import InstalledHarness, file_sha256
from checkrein.adapters.provision.request import HarnessRequest
from checkrein.adapters.provision.source import ENTRY_POINT_GROUP


class _BundledTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    bundled: str
    version: str


def find_bundled(wanted: HarnessRequest) -> InstalledHarness | None:
    """The program of a harness that comes with its adapter; None for any other harness, known or not.

    Raises:
        NoSuchVersion: it comes in another version than the one that is asked for.
        BadInstallTable: its table cannot be used, or the program is not there.
    """
    package = next(
        (entry.module for entry in entry_points(group=ENTRY_POINT_GROUP) if entry.name == wanted.name), None
    )
    table = None if package is None else _table(package)
    if package is None or table is None:
        return None
    if wanted.version not in (None, "latest", table.version):
        raise NoSuchVersion(harness=wanted.name, version=wanted.version or "", newest=[table.version])
    program = Path(str(files(package).joinpath(table.bundled)))
    try:
        digest = file_sha256(program)
    except OSError as fault:
        raise BadInstallTable(
            f"the program of {wanted.name} is not there: {fault.strerror}",
            where=str(program),
            advice="reinstall the package that brings it",
        ) from fault
    return InstalledHarness(
        harness=wanted.name,
        version=table.version,
        binary=program,
        binary_sha256=digest,
        package=package,
        integrity="",
        installed_at="",
        node_version="",
    )


def _table(package: str) -> _BundledTable | None:
    source = files(package).joinpath("install.toml")
    try:
        data = tomllib.loads(source.read_text(encoding="utf-8"))
        return msgspec.convert(data, _BundledTable) if "bundled" in data else None
    except (FileNotFoundError, tomllib.TOMLDecodeError):
        return None  # whoever looks for it elsewhere says so
    except msgspec.ValidationError as fault:
        raise BadInstallTable(
            f"the install table cannot be used: {fault}", where=str(source), advice="correct that field"
        ) from fault
