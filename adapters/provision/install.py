"""From `HARNESS[@VERSION]` to a binary in the cache."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import msgspec

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.provision.bundled import find_bundled
from checkrein.adapters.provision.cache import HarnessCache, default_cache, tree_size
from checkrein.adapters.provision.errors import (
    BinaryMissing,
    CorruptEntry,
    DiskFull,
    NoSuchVersion,
    NotInstalled,
    NpmFailed,
    UnsupportedPlatform,
)
from checkrein.adapters.provision.installed import (
    RECORD_NAME,
    InstalledHarness,
    InstallRecord,
    file_sha256,
    read_entry,
)
from checkrein.adapters.provision.npm import (
    Node,
    NpmRefused,
    find_node,
    install_package,
    node_version,
    published_versions,
)
from checkrein.adapters.provision.pins import default_version
from checkrein.adapters.provision.platforms import platform_name
from checkrein.adapters.provision.request import HarnessRequest, parse_request
from checkrein.adapters.provision.runtime import check_node
from checkrein.adapters.provision.source import NpmPackage, NpmSource, find_source

#: How long one installation may take, and how long to wait for another process that installs the same.
#: 15 minutes is a 400 MB binary on a line of 4 Mbit/s. CHECKREIN_INSTALL_SECONDS overrides it.
DEFAULT_DEADLINE_SECONDS = 900.0

#: How many of the newest versions an error names.
_NAMED_VERSIONS = 5


class Phase(StrEnum):
    """What an installation is doing."""

    RESOLVING = "resolving"
    WAITING = "waiting"
    DOWNLOADING = "downloading"
    CHECKING = "checking"
    INSTALLED = "installed"
    ALREADY = "already"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an installation is.

    Args:
        harness: name of the harness.
        version: as it was asked for, exact as soon as that is known.
        phase: what it is doing.
        bytes_written: on the disk so far; npm does not say how many there will be.
    """

    harness: str
    version: str
    phase: Phase
    bytes_written: int = 0


def _no_listener(_: Progress) -> None:
    return None


def install_harness(
    request: str,
    *,
    cache: HarnessCache | None = None,
    source: NpmSource | None = None,
    node: Node | None = None,
    on_progress: Callable[[Progress], None] = _no_listener,
    deadline_seconds: float | None = None,
) -> InstalledHarness:
    """Put a harness into the cache; one that is there and whole, or comes with its adapter, is left as it is.

    Safe when several processes install the same version at once: the second waits for the first.

    Args:
        request: `HARNESS`, `HARNESS@VERSION` or `HARNESS@TAG`; without a version, the pinned one.
        cache: where to; None for the user's own (`CHECKREIN_CACHE`).
        source: where npm has it; None looks the adapter's install table up by name.
        node: what to run npm with; None for the one of this Python environment.
        on_progress: called at each phase, and about four times a second while npm runs.
        deadline_seconds: for the whole installation; None for `CHECKREIN_INSTALL_SECONDS`, else 900.

    Raises:
        BadRequest, UnknownHarness, NoSuchVersion: what was asked for does not exist.
        ProvisionError: one of its other kinds, when the machine, the network or the disk does not allow it.
    """
    wanted = parse_request(request)
    if source is None and (bundled := find_bundled(wanted)) is not None:
        on_progress(Progress(harness=bundled.harness, version=bundled.version, phase=Phase.ALREADY))
        return bundled
    source = find_source(wanted.name) if source is None else source
    cache = default_cache() if cache is None else cache
    limit = time.monotonic() + (
        _deadline_from_environment() if deadline_seconds is None else deadline_seconds
    )
    wanted_version = wanted.version or default_version(source)

    def tell(phase: Phase, version: str, written: int = 0) -> None:
        on_progress(Progress(harness=source.harness, version=version, phase=phase, bytes_written=written))

    exact = HarnessRequest(name=source.harness, version=wanted_version)
    version = wanted_version
    if exact.is_tag:
        tell(Phase.RESOLVING, version)
        version = _resolve_tag(node or find_node(), source, version, cache)
    if there := _whole_entry(cache, source.harness, version):
        tell(Phase.ALREADY, version)
        return there
    package = source.package_for(version, platform_name())
    if source.node is not None:
        check_node(source.harness, source.node)
    node = node or find_node()
    with cache.lock(
        source.harness,
        version,
        deadline_seconds=limit - time.monotonic(),
        on_wait=lambda: tell(Phase.WAITING, version),
    ):
        if there := _whole_entry(cache, source.harness, version):
            tell(Phase.ALREADY, version)
            return there
        with cache.partial(source.harness, version) as work:
            tell(Phase.DOWNLOADING, version)
            record = _build(
                node,
                source,
                package,
                version,
                cache=cache,
                work=work,
                deadline_seconds=limit - time.monotonic(),
                on_tick=lambda: tell(Phase.DOWNLOADING, version, tree_size(work)),
                on_check=lambda: tell(Phase.CHECKING, version, tree_size(work)),
            )
            with cache.writing():
                (work / "entry" / RECORD_NAME).write_bytes(msgspec.json.format(msgspec.json.encode(record)))
            cache.publish(work / "entry", source.harness, version)
    installed = read_entry(cache, source.harness, version)
    tell(Phase.INSTALLED, version, record.binary_size)
    return installed


def locate_harness(
    request: str, *, cache: HarnessCache | None = None, source: NpmSource | None = None
) -> InstalledHarness:
    """Find a harness that is installed; touches neither the network nor the disk.

    Args:
        request: `HARNESS` or `HARNESS@VERSION`; without a version, the pinned one.
        cache: where to look; None for the user's own.
        source: the harness's install table; None looks it up by name.

    Raises:
        BadRequest: the text is no harness, or names a tag, which only npm can resolve.
        UnknownHarness: no adapter has that name.
        NotInstalled: it is not in the cache.
        CorruptEntry: what the cache holds is not what was installed.
    """
    wanted = parse_request(request)
    if wanted.is_tag:
        raise BadRequest(
            f"{request} names a tag, not a version",
            advice=f"run: checkrein install {request}, then name the version",
        )
    if source is None and (bundled := find_bundled(wanted)) is not None:
        return bundled
    source = find_source(wanted.name) if source is None else source
    cache = default_cache() if cache is None else cache
    return read_entry(cache, source.harness, wanted.version or default_version(source))


def _whole_entry(cache: HarnessCache, harness: str, version: str) -> InstalledHarness | None:
    try:
        return read_entry(cache, harness, version)
    except (NotInstalled, CorruptEntry):
        return None


def _resolve_tag(node: Node, source: NpmSource, tag: str, cache: HarnessCache) -> str:
    # A name that no version can have, so that it cannot meet an installation under way.
    with cache.partial(source.harness, f"tag,{tag},{os.getpid()}") as work:
        try:
            published = published_versions(node, source.versions_of, work=work)
        except NpmRefused as refusal:
            raise NpmFailed(code=refusal.code, message=refusal.summary) from refusal
        except DiskFull as fault:
            raise DiskFull(cache=cache.root) from fault
    if tag not in published.tags:
        raise NoSuchVersion(harness=source.harness, version=tag, newest=sorted(published.tags))
    return published.tags[tag]


def _build(
    node: Node,
    source: NpmSource,
    package: NpmPackage,
    version: str,
    *,
    cache: HarnessCache,
    work: Path,
    deadline_seconds: float,
    on_tick: Callable[[], None],
    on_check: Callable[[], None],
) -> InstallRecord:
    entry = work / "entry"
    with cache.writing():
        entry.mkdir()
        try:
            integrity = install_package(
                node,
                package.name,
                package.version,
                project=entry,
                own_folder=work / "npm",
                deadline_seconds=deadline_seconds,
                on_tick=on_tick,
            )
        except DiskFull as fault:
            raise DiskFull(cache=cache.root) from fault
        except NpmRefused as refusal:
            raise _refusal(refusal, node, source, version, work) from refusal
        on_check()
        binary = entry / "node_modules" / package.name / package.binary
        if not binary.is_file():
            raise BinaryMissing(
                harness=source.harness, package=f"{package.name}@{package.version}", binary=package.binary
            )
        binary.chmod(binary.stat().st_mode | 0o555)
        status = binary.stat()
        return InstallRecord(
            harness=source.harness,
            version=version,
            package=f"{package.name}@{package.version}",
            integrity=integrity,
            binary=str(binary.relative_to(entry)),
            binary_sha256=file_sha256(binary),
            binary_size=status.st_size,
            binary_mtime=int(status.st_mtime),
            installed_at=datetime.now(UTC).isoformat(timespec="seconds"),
            node_version=node_version(node),
        )


def _refusal(
    refusal: NpmRefused, node: Node, source: NpmSource, version: str, work: Path
) -> NoSuchVersion | UnsupportedPlatform | NpmFailed:
    if refusal.code == "EBADPLATFORM":
        return UnsupportedPlatform(
            harness=source.harness, platform=platform_name(), supported=sorted(source.platforms)
        )
    try:
        versions = published_versions(node, source.versions_of, work=work).versions
    except NpmRefused:
        return NpmFailed(code=refusal.code, message=refusal.summary)
    # Pre-releases and per-platform builds (`0.171.0-linux-x64`) are versions for npm, but not what a person looks for.
    releases = [published for published in versions if "-" not in published]
    if version in versions:
        return UnsupportedPlatform(
            harness=f"{source.harness} {version}",
            platform=platform_name(),
            supported=sorted(source.platforms),
        )
    return NoSuchVersion(harness=source.harness, version=version, newest=releases[-_NAMED_VERSIONS:])


def _deadline_from_environment() -> float:
    text = os.environ.get("CHECKREIN_INSTALL_SECONDS")
    if text is None:
        return DEFAULT_DEADLINE_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise BadRequest(
            f"{text!r} is not a number of seconds",
            where="CHECKREIN_INSTALL_SECONDS",
            advice="set it to, say, 900",
        )
    return seconds
