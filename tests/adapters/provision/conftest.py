"""A small real npm package that stands in for a harness, and an npm whose answers are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from checkrein.adapters.provision import HarnessCache, NpmSource
from checkrein.adapters.provision.npm import Node
from checkrein.adapters.provision.platforms import platform_name


@pytest.fixture
def cache(tmp_path: Path) -> HarnessCache:
    """An empty cache."""
    return HarnessCache(root=tmp_path / "cache")


@pytest.fixture
def small_source() -> NpmSource:
    """A package of a few kilobytes; one of its files plays the binary."""
    return NpmSource(
        harness="small",
        versions_of="is-number",
        package="is-{what}",
        version="{version}",
        binary="index.js",
        platforms={platform_name(): {"what": "number"}},
        default_version="7.0.0",
    )


@pytest.fixture
def npm_that_says(tmp_path: Path) -> Callable[[str], Node]:
    """Make a node that, whatever it is asked to run, runs these lines of shell instead."""

    def make(script: str) -> Node:
        binary = tmp_path / "npm-that-says"
        binary.write_text(f"#!/bin/sh\n{script}\n")
        binary.chmod(0o755)
        return Node(binary=binary, npm_cli=tmp_path / "npm-cli.js")

    return make
