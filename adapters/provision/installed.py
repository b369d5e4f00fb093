"""What is installed, and whether it still is what was installed.

Each entry of the cache holds an `installed.json`, written last: a folder without one is not an installation.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from checkrein.adapters.provision.cache import HarnessCache
from checkrein.adapters.provision.errors import CorruptEntry, NotInstalled

RECORD_NAME = "installed.json"


class InstallRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `installed.json`.

    Args:
        harness: name of the harness.
        version: its version.
        package: npm name and version of the package that it came in, `NAME@VERSION`.
        integrity: the package's checksum as npm's lock file has it (`sha512-…`).
        binary: path of the executable, relative to the entry.
        binary_sha256: hex digest of the executable.
        binary_size: its bytes.
        binary_mtime: whole seconds of its last change; with the size, it says when to compute the digest anew.
        installed_at: UTC, RFC 3339.
        node_version: the node that npm ran on.
    """

    harness: str
    version: str
    package: str
    integrity: str
    binary: str
    binary_sha256: str
    binary_size: int
    binary_mtime: int
    installed_at: str
    node_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledHarness:
    """A harness that can be run.

    Args:
        harness: name of the harness.
        version: its version.
        binary: absolute path of the program: a native executable, or JavaScript.
        binary_sha256: hex digest of that file.
        package: npm name and version of the package that it came in, `NAME@VERSION`; of a harness that comes with its
            adapter, the adapter's package, and the next three are "".
        integrity: the package's checksum as npm's lock file has it (`sha512-…`).
        installed_at: UTC, RFC 3339.
        node_version: the node that npm ran on.
    """

    harness: str
    version: str
    binary: Path
    binary_sha256: str
    package: str
    integrity: str
    installed_at: str
    node_version: str


def read_entry(cache: HarnessCache, harness: str, version: str) -> InstalledHarness:
    """Take one version from the cache, verified.

    The digest is computed only when size or time of the binary differ from the record.

    Raises:
        NotInstalled: the cache has no such version.
        CorruptEntry: it has, but not as it was installed.
    """
    folder = cache.entry(harness, version)
    if not folder.is_dir():
        raise NotInstalled(harness=harness, version=version)
    path = folder / RECORD_NAME

    def corrupt(path: Path, reason: str) -> CorruptEntry:
        return CorruptEntry(harness=harness, version=version, path=path, reason=reason)

    try:
        record = msgspec.json.decode(path.read_bytes(), type=InstallRecord)
    except OSError as fault:
        raise corrupt(path, fault.strerror or "it cannot be read") from fault
    except msgspec.MsgspecError as fault:
        raise corrupt(path, str(fault)) from fault
    if (record.harness, record.version) != (harness, version):
        raise corrupt(path, f"it is the record of {record.harness} {record.version}")
    binary = folder / record.binary
    try:
        status = binary.stat()
        if not os.access(binary, os.X_OK):
            raise corrupt(binary, "it is not executable")
        changed = (status.st_size, int(status.st_mtime)) != (record.binary_size, record.binary_mtime)
        if changed and file_sha256(binary) != record.binary_sha256:
            raise corrupt(binary, "its sha256 is not the one that was recorded")
    except OSError as fault:
        raise corrupt(binary, fault.strerror or "it cannot be read") from fault
    return InstalledHarness(
        harness=record.harness,
        version=record.version,
        binary=binary.absolute(),
        binary_sha256=record.binary_sha256,
        package=record.package,
        integrity=record.integrity,
        installed_at=record.installed_at,
        node_version=record.node_version,
    )


def file_sha256(path: Path) -> str:
    """Hex digest of a file.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
