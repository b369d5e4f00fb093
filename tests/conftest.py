"""Fixtures for every test: the real harnesses, installed once into the user's cache."""

from __future__ import annotations

import pytest

from checkrein.adapters.provision import InstalledHarness, install_harness


@pytest.fixture(scope="session")
def real_claude_code() -> InstalledHarness:
    """The pinned Claude Code."""
    return install_harness("claude-code")


@pytest.fixture(scope="session")
def real_codex() -> InstalledHarness:
    """The pinned Codex."""
    return install_harness("codex")
