"""A target: one version of one harness, with all that the kit must know about it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path

from checkrein.adapters.errors import BadRequest, UnknownHarness
from checkrein.adapters.interface import HarnessAdapter, HarnessBinary
from checkrein.adapters.kit_facts import KitFacts
from checkrein.adapters.manifest import Manifest
from checkrein.adapters.opening import installed_binary
from checkrein.adapters.provision import launcher_of, parse_request
from checkrein.adapters.provision.installed import file_sha256
from checkrein.adapters.registry import GROUP, find_harness, harness_names
from checkrein.conformance.verdicts import EnforcedBy
from checkrein.scripted_models import HarnessProfile

#: The version of an executable that was given by its path and without one.
LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a scenario runs against.

    Args:
        adapter: speaks with the harness.
        binary: what is run.
        version: of the binary.
        kit: what the kit must know of the harness beside its adapter.
        dialect: what it speaks with its model.
    """

    adapter: HarnessAdapter
    binary: HarnessBinary
    version: str
    kit: KitFacts
    dialect: str

    @property
    def profile(self) -> HarnessProfile:
        """The harness as a scripted model sees it."""
        return replace(self.kit.profile, dialect=self.dialect)

    @property
    def transcripts(self) -> tuple[str, ...]:
        """Shell patterns, relative to HOME, of the files in which the harness keeps its conversations."""
        return self.kit.transcripts

    @property
    def manifest(self) -> Manifest:
        """What the harness declares that it can do."""
        return self.adapter.manifest

    @property
    def harness(self) -> str:
        """Name of the harness."""
        return self.manifest.name

    @property
    def known_version(self) -> str | None:
        """The version that is asked for; None when the executable was given by its path alone."""
        return None if self.version == LOCAL else self.version

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

    def enforcer(self, clause_id: str) -> EnforcedBy:
        """Who sees to it on this harness that the clause holds, unless its scenario says so."""
        return EnforcedBy.ADAPTER if clause_id in self.kit.adapter_enforces else EnforcedBy.HARNESS


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRequest:
    """A target as people write it.

    Args:
        harness: name of the harness.
        version: None for the pinned one.
        path: of an executable that is run instead of an installed one.
    """

    harness: str
    version: str | None
    path: Path | None

    def __str__(self) -> str:
        name = self.harness if self.version is None else f"{self.harness}@{self.version}"
        return name if self.path is None else f"{name}={self.path}"


def parse_target(text: str) -> TargetRequest:
    """Read `HARNESS`, `HARNESS@VERSION` or `HARNESS[@VERSION]=PATH`.

    Raises:
        UnknownHarness: there is no adapter of that name.
        BadRequest: the text is none of these, or the path is no file.
    """
    name, equals, path = text.partition("=")
    wanted = parse_request(name)
    if wanted.name not in harness_names():
        raise UnknownHarness(
            f"there is no harness {wanted.name!r}", advice=f"known: {', '.join(harness_names()) or 'none'}"
        )
    if equals and not Path(path).is_file():
        raise BadRequest("there is no such file", where=path, advice="name the harness's own program")
    return TargetRequest(
        harness=wanted.name, version=wanted.version, path=Path(path).resolve() if equals else None
    )


def find_target(text: str, *, dialect: str | None = None) -> Target:
    """The target that a text such as `codex`, `codex@0.171.0` or `codex=PATH` names; without a version, the pinned one.

    An adapter's package says in its module `kit` what the kit must know of the harness: `KIT`, a `KitFacts`.

    Args:
        dialect: what it is to speak with its model; None for what it prefers.

    Raises:
        UnknownHarness: there is no adapter of that name.
        BadRequest: the text is no harness, its package has no `KIT`, or it does not speak the dialect.
        HarnessMissing: the version is not installed.
    """
    request = parse_target(text)
    adapter = find_harness(request.harness)
    kit = _kit_facts(request.harness)
    binary = requested_binary(request)
    spoken = adapter.manifest.dialects
    if dialect is not None and dialect not in spoken:
        raise BadRequest(
            f"{adapter.manifest.title} does not speak {dialect!r}",
            where=request.harness,
            advice=f"it speaks {', '.join(spoken)}",
        )
    return Target(
        adapter=adapter,
        binary=binary,
        version=binary.version or LOCAL,
        kit=kit,
        dialect=dialect or kit.profile.dialect,
    )


def requested_binary(request: TargetRequest) -> HarnessBinary:
    """The program that is to run.

    Raises:
        HarnessMissing: the version is not installed.
    """
    if request.path is None:
        return installed_binary(request.harness, request.version)
    return HarnessBinary(
        path=request.path,
        version=request.version or LOCAL,
        sha256=file_sha256(request.path),
        launcher=launcher_of(request.path, harness=request.harness),
    )


def _kit_facts(harness: str) -> KitFacts:
    module = next(point.module for point in entry_points(group=GROUP) if point.name == harness)
    place = f"{module}.kit"
    try:
        found = importlib.import_module(place)
    except ModuleNotFoundError as fault:
        raise BadRequest(
            f"the adapter of {harness} does not say what the kit must know of the harness",
            where=place,
            advice="add a module `kit` with KIT, an instance of checkrein.adapters.kit_facts.KitFacts",
        ) from fault
    facts: object = getattr(found, "KIT", None)
    if not isinstance(facts, KitFacts):
        raise BadRequest("KIT is no KitFacts", where=place, advice="correct that module")
    return facts
