"""The certificate: what a bundle says of itself, with the digest of every file in it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from checkrein.adapters.errors import CheckreinError
from checkrein.conformance.verdicts import Verdict

#: Version of the format; a reader refuses another one.
FORMAT = 1

#: The files at the top of a bundle, and the folder of the scenarios, which is laid out as the folder of a run.
CERTIFICATE, MANIFEST, CONTRACT, RESULTS, SCENARIOS = (
    "certificate.json",
    "manifest.toml",
    "contract.json",
    "results.jsonl",
    "scenarios",
)


class BadBundle(CheckreinError):
    """Raised when a bundle cannot be made, or not be relied on."""

    exit_status = 2


class FileDigest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file of the bundle must be.

    Args:
        sha256: hex digest.
        size: in bytes.
    """

    sha256: str
    size: int


class Certificate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was certified, how, and what belongs to it.

    Args:
        format: version of the format.
        harness, version: what was run.
        title, vendor: as its manifest has them.
        binary_sha256: hex digest of the program.
        dialect: what it spoke with its model.
        kit_version: version of checkrein.
        edition, contract_sha256: the contract.
        os, python: of the machine.
        offline: how the run was kept from the network; "" when it was not.
        started_at: UTC, RFC 3339.
        counts: checks per verdict.
        exit_status: 0 when no check is red, else 1.
        reproduce: the command line that makes such a bundle once more, in the bundle's folder.
        files: of every other file in the bundle, by its place.
        seal: hex digest over all of this but the seal.
    """

    format: int = FORMAT
    harness: str
    title: str
    vendor: str
    version: str
    binary_sha256: str
    dialect: str
    kit_version: str
    edition: str
    contract_sha256: str
    os: str
    python: str
    offline: str
    started_at: str
    counts: dict[Verdict, int]
    exit_status: int
    reproduce: tuple[str, ...]
    files: dict[str, FileDigest]
    seal: str = ""

    @property
    def label(self) -> str:
        """Name and version, as on the command line."""
        return f"{self.harness}@{self.version}"

    def sealed(self) -> Certificate:
        """The same with its seal."""
        return msgspec.structs.replace(self, seal=self.due_seal)

    @property
    def due_seal(self) -> str:
        """The seal that it must have."""
        unsealed = msgspec.structs.replace(self, seal="")
        return hashlib.sha256(msgspec.json.encode(unsealed, order="sorted")).hexdigest()


def write_certificate(certificate: Certificate, bundle: Path) -> None:
    """Write it into its bundle."""
    text = msgspec.json.format(msgspec.json.encode(certificate), indent=1)
    (bundle / CERTIFICATE).write_bytes(text + b"\n")


def read_certificate(bundle: Path) -> Certificate:
    """Read the certificate of a bundle.

    Raises:
        BadBundle: there is none, or it is none of this format.
    """
    path = bundle / CERTIFICATE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Certificate)
    except OSError as fault:
        raise BadBundle(
            f"the certificate cannot be read: {fault.strerror}",
            where=str(path),
            advice="name a folder that `checkrein certify` has made",
        ) from fault
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise BadBundle(f"the certificate is none: {fault}", where=str(path)) from fault


def files_in(bundle: Path) -> list[str]:
    """The places of all files of a bundle but the certificate; links count as files, folders do not."""
    found = (path for path in bundle.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(place for path in found if (place := path.relative_to(bundle).as_posix()) != CERTIFICATE)


def digest_of(path: Path) -> FileDigest:
    """The digest of a file.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return FileDigest(sha256=digest, size=stream.tell())
