"""What the kit finds on this machine, and what it lacks: the facts that `checkrein doctor` shows."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from checkrein.adapters.errors import CheckreinError
from checkrein.adapters.provision import (
    HarnessCache,
    HarnessRequest,
    find_bundled,
    find_source,
    known_harnesses,
    locate_harness,
    program_owner,
)
from checkrein.adapters.provision.npm import find_node, node_version, npm_version
from checkrein.adapters.provision.pins import default_version
from checkrein.conformance.offline import probe_offline

#: Both pinned harnesses take about 0.8 GB; an installation under way holds its package twice for a moment.
NEEDED_FREE_BYTES = 2_000_000_000


class State(StrEnum):
    """Whether a fact is as the kit needs it."""

    PRESENT = "present"
    MISSING = "missing"
    #: The kit works, but with less than it could; the detail says what.
    LIMITED = "limited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fact about the machine.

    Args:
        subject: what was looked at.
        state: how it is.
        detail: version, place or number.
        advice: what to do about it; empty when nothing needs doing.
    """

    subject: str
    state: State
    detail: str
    advice: str = ""


def examine_machine(cache: HarnessCache) -> Sequence[Finding]:
    """Look at everything that a run of the kit needs, in the order in which a person would fix it."""
    return [
        Finding(
            subject="Python", state=State.PRESENT, detail=f"{platform.python_version()} at {sys.executable}"
        ),
        _node(),
        _git(),
        _cache(cache),
        _free_disk(cache),
        # A program that two adapters speak with is there or missing once.
        *(_harness(name, cache) for name in known_harnesses() if program_owner(name) == name),
        _offline(),
    ]


def _node() -> Finding:
    try:
        node = find_node()
        detail = f"node {node_version(node)}, npm {npm_version(node)} at {node.binary}"
    except CheckreinError as error:
        return Finding(subject="Node and npm", state=State.MISSING, detail=error.what, advice=error.advice)
    return Finding(subject="Node and npm", state=State.PRESENT, detail=detail)


def _git() -> Finding:
    path = shutil.which("git")
    if path is None:
        return Finding(
            subject="git",
            state=State.MISSING,
            detail="not on PATH",
            advice="install git with the system's packages",
        )
    return Finding(subject="git", state=State.PRESENT, detail=path)


def _cache(cache: HarnessCache) -> Finding:
    place = _nearest_existing(cache.root)
    if not (place.is_dir() and os.access(place, os.W_OK)):
        return Finding(
            subject="cache",
            state=State.MISSING,
            detail=f"{place} is no folder that can be written",
            advice="set CHECKREIN_CACHE to a folder that you may write",
        )
    return Finding(
        subject="cache", state=State.PRESENT, detail=f"{cache.root}, {_gigabytes(cache.size())} in it"
    )


def _free_disk(cache: HarnessCache) -> Finding:
    free = shutil.disk_usage(_nearest_existing(cache.root)).free
    enough = free >= NEEDED_FREE_BYTES
    return Finding(
        subject="free disk",
        state=State.PRESENT if enough else State.LIMITED,
        detail=f"{_gigabytes(free)} where the cache is",
        advice="" if enough else f"an installation may need up to {_gigabytes(NEEDED_FREE_BYTES)}",
    )


def _harness(name: str, cache: HarnessCache) -> Finding:
    try:
        if (bundled := find_bundled(HarnessRequest(name=name, version=None))) is not None:
            detail = f"{bundled.version} (comes with its adapter), sha256 {bundled.binary_sha256[:16]}…"
            return Finding(subject=name, state=State.PRESENT, detail=detail)
        pinned = default_version(find_source(name))
    except CheckreinError as error:
        return Finding(subject=name, state=State.MISSING, detail=error.what, advice=error.advice)
    others = [version for version in cache.versions(name) if version != pinned]
    beside = f"; also {', '.join(others)}" if others else ""
    try:
        installed = locate_harness(f"{name}@{pinned}" if pinned[0].isdigit() else name, cache=cache)
    except CheckreinError as error:
        return Finding(
            subject=name,
            state=State.MISSING,
            detail=f"{error.what}{beside}",
            advice=f"run: checkrein install {name}",
        )
    digest = installed.binary_sha256[:16]
    return Finding(subject=name, state=State.PRESENT, detail=f"{pinned} (pinned), sha256 {digest}…{beside}")


def _offline() -> Finding:
    status = probe_offline()
    if status.enforced:
        return Finding(subject="offline runs", state=State.PRESENT, detail="enforced by a network namespace")
    return Finding(
        subject="offline runs",
        state=State.LIMITED,
        detail=f"no network namespace ({status.reason})",
        advice="runs go behind a refusing proxy instead, and the report says that it is not enforced",
    )


def _nearest_existing(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if place.exists())


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
