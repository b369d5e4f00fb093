"""Which version of a harness is meant when none is named."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import msgspec

from checkrein.adapters.provision.source import NpmSource


def pinned_versions() -> dict[str, str]:
    """The version pinned for each harness, by name, from `pins.toml`."""
    text = files("checkrein.adapters.provision").joinpath("pins.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, str])


def default_version(source: NpmSource) -> str:
    """The pinned version; for a harness that is not pinned, its install table's own; else the newest (`latest`)."""
    return pinned_versions().get(source.harness) or source.default_version or "latest"
