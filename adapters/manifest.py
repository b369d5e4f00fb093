"""What a harness can do, as data: one `manifest.toml` per adapter folder, three values per capability."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec

from checkrein.adapters.errors import BadRequest, Unsupported


class Support(StrEnum):
    """Whether a capability is there. A `yes` makes the clauses of the capability binding."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Capability(StrEnum):
    """What a driver may ask of a harness through its adapter."""

    STEER = "steer"
    #: take back a steer that was not delivered yet
    WITHDRAW = "withdraw"
    INTERRUPT = "interrupt"
    APPROVALS = "approvals"
    DENY_MESSAGE = "deny_message"
    ALLOW_ALWAYS = "allow_always"
    #: grants of the harness's own, which outlive a turn; no driver is given one
    LASTING_GRANT = "lasting_grant"
    RESUME = "resume"
    FORK = "fork"
    USAGE = "usage"
    COST = "cost"
    POLICY_ECHO = "policy_echo"
    #: a turn that runs takes commands; without it each turn is a program of its own, which is started and ended
    LIVE_CONTROL = "live_control"


class _ManifestFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    title: str
    vendor: str
    dialects: tuple[str, ...]
    capabilities: dict[Capability, Support]
    user_variables: tuple[str, ...] = ()
    memory_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The declaration of one harness.

    Args:
        name: the name used on the command line and in results.
        title: the name for people.
        vendor: who makes the harness.
        dialects: the model API dialects that it speaks, the preferred one first.
        capabilities: what it can do through this adapter; a capability that is not named is unknown.
        user_variables: environment variables by which a user points the harness at its configuration and login;
            they are passed on only where the harness keeps the user's own home and endpoint.
        memory_files: the names, relative to a workspace, of the file that is the project's memory for this harness;
            the first that exists counts. None where the adapter cannot pass a memory on.
    """

    name: str
    title: str
    vendor: str
    dialects: tuple[str, ...]
    capabilities: Mapping[Capability, Support]
    user_variables: tuple[str, ...] = ()
    memory_files: tuple[str, ...] = ()

    def support(self, capability: Capability) -> Support:
        """Whether the harness has the capability."""
        return self.capabilities.get(capability, Support.UNKNOWN)

    def lacks(self, capability: Capability) -> bool:
        """Whether the harness declares that it has not the capability."""
        return self.support(capability) is Support.NO

    def demand(self, capability: Capability) -> None:
        """Go on only where the harness may have the capability.

        Raises:
            Unsupported: it declares that it has not.
        """
        if self.lacks(capability):
            raise Unsupported(f"{self.title} has no {capability.value.replace('_', ' ')}", where=self.name)


def load_manifest(package: str) -> Manifest:
    """Read `manifest.toml` of an adapter package.

    Args:
        package: import name of the package that holds the file.

    Raises:
        BadRequest: the file is missing, or does not hold what a manifest holds; names file and field.
    """
    return _read(files(package).joinpath("manifest.toml"))


def read_manifest(path: Path) -> Manifest:
    """Read a manifest from a file.

    Raises:
        BadRequest: the file is missing, or does not hold what a manifest holds; names file and field.
    """
    return _read(path)


def _read(source: Traversable) -> Manifest:
    try:
        text = source.read_text(encoding="utf-8")
        data = msgspec.convert(tomllib.loads(text), _ManifestFile)
    except FileNotFoundError:
        raise BadRequest(
            "the adapter has no manifest", where=str(source), advice="add a manifest.toml"
        ) from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as fault:
        raise BadRequest(
            f"the manifest cannot be used: {fault}", where=str(source), advice="correct that field"
        ) from fault
    return Manifest(
        name=data.name,
        title=data.title,
        vendor=data.vendor,
        dialects=data.dialects,
        capabilities=data.capabilities,
        user_variables=data.user_variables,
        memory_files=data.memory_files,
    )
