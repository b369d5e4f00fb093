"""Fixtures for every test: the real harnesses, installed once into the cache. And the order of a parallel run."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkrein.adapters.provision import InstalledHarness, install_harness

TESTS = Path(__file__).parent

#: Where the slowest tests are, the slowest first: a run on several processes ends soonest when these begin it.
SLOWEST_FIRST = (
    "conformance/test_real_harnesses.py",
    "conformance/test_sabotage.py",
    "project/test_packaging.py",
    "adapters/claude_code",
    "adapters/codex",
    "conformance",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker of pytest-xdist, put the slowest tests first; a run in one process keeps the usual order."""
    if hasattr(config, "workerinput"):
        items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    slow = (place for place, name in enumerate(SLOWEST_FIRST) if item.path.is_relative_to(TESTS / name))
    return next(slow, len(SLOWEST_FIRST))


@pytest.fixture(scope="session")
def real_claude_code() -> InstalledHarness:
    """The pinned Claude Code."""
    return install_harness("claude-code")


@pytest.fixture(scope="session")
def real_codex() -> InstalledHarness:
    """The pinned Codex."""
    return install_harness("codex")
