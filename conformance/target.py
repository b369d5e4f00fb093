"""A target: one version of one harness, with all that the kit must know about it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from checkrein.adapters.errors import BadRequest, UnknownHarness
from checkrein.adapters.interface import HarnessAdapter, HarnessBinary
from checkrein.adapters.manifest import Manifest, Support
from checkrein.adapters.opening import installed_binary
from checkrein.adapters.provision import parse_request
from checkrein.adapters.registry import GROUP, find_harness, harness_names
from checkrein.conformance.clauses import Clause
from checkrein.scripted_models import HarnessProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a scenario runs against.

    Args:
        adapter: speaks with the harness.
        binary: what is run.
        version: of the binary.
        profile: the harness as a scripted model sees it.
        transcripts: shell patterns, relative to HOME, of the files in which the harness keeps its conversations.
    """

    adapter: HarnessAdapter
    binary: HarnessBinary
    version: str
    profile: HarnessProfile
    transcripts: tuple[str, ...] = ()

    @property
    def manifest(self) -> Manifest:
        """What the harness declares that it can do."""
        return self.adapter.manifest

    @property
    def harness(self) -> str:
        """Name of the harness."""
        return self.manifest.name

    @property
    def path(self) -> Path:
        """The executable."""
        return self.binary.path

    @property
    def sha256(self) -> str:
        """Hex digest of the executable."""
        return self.binary.sha256

    @property
    def label(self) -> str:
        """Name and version, as on the command line."""
        return f"{self.harness}@{self.version}"

    def lacks(self, clause: Clause) -> bool:
        """Whether the harness declares that it cannot do what the clause is about."""
        return clause.capability is not None and self.manifest.support(clause.capability) is Support.NO


def find_target(request: str) -> Target:
    """The target that `HARNESS` or `HARNESS@VERSION` names; without a version, the pinned one.

    An adapter's package says in its module `model_profile` what the kit must know: `PROFILE`, the harness as a scripted
    model sees it, and `TRANSCRIPTS`, where it keeps its conversations.

    Raises:
        UnknownHarness: there is no adapter of that name.
        BadRequest: the text is no harness, or its package has no profile.
        HarnessMissing: the version is not installed.
    """
    wanted = parse_request(request)
    if wanted.name not in harness_names():
        raise UnknownHarness(
            f"there is no harness {wanted.name!r}", advice=f"known: {', '.join(harness_names()) or 'none'}"
        )
    adapter = find_harness(wanted.name)
    profile, transcripts = _profile(wanted.name)
    binary = installed_binary(wanted.name, wanted.version)
    version = binary.version or wanted.version or "unknown"
    return Target(adapter=adapter, binary=binary, version=version, profile=profile, transcripts=transcripts)


def _profile(harness: str) -> tuple[HarnessProfile, tuple[str, ...]]:
    module = next(point.module for point in entry_points(group=GROUP) if point.name == harness)
    place = f"{module}.model_profile"
    try:
        found = importlib.import_module(place)
    except ModuleNotFoundError as fault:
        raise BadRequest(
            f"the adapter of {harness} does not say how a scripted model sees it",
            where=place,
            advice="add a module `model_profile` with PROFILE and TRANSCRIPTS",
        ) from fault
    profile: object = getattr(found, "PROFILE", None)
    transcripts: object = getattr(found, "TRANSCRIPTS", ())
    if not isinstance(profile, HarnessProfile) or not isinstance(transcripts, tuple):
        raise BadRequest(
            "PROFILE is no HarnessProfile, or TRANSCRIPTS no tuple", where=place, advice="correct that module"
        )
    return profile, tuple(str(pattern) for pattern in transcripts)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] the module is not ours
