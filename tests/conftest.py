"""Fixtures for every test: the real harnesses, installed once into the cache. And the order of a parallel run."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs] xdist brings none
from xdist.scheduler import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs] xdist brings none

from checkrein.adapters.provision import InstalledHarness, install_harness

TESTS = Path(__file__).parent

#: Where the slowest tests are, the slowest first: a run on several processes ends soonest when these begin it.
SLOWEST_FIRST = (
    "conformance/test_real_harnesses.py",
    "conformance/test_sabotage.py",
    "conformance/test_meddled_wires.py",
    "conformance/reference",
    "conformance/test_saboteurs.py",
    "project/test_packaging.py",
    "adapters/claude_code",
    "adapters/codex",
    "conformance",
)

#: Modules whose tests share something that takes long to make: each is run by one process.
SHARING = (
    "tests/conformance/test_real_harnesses.py",
    "tests/project/test_packaging.py",
    "tests/conformance/reports/test_page_in_browser.py",
)


class OneByOne(LoadScopeScheduling):
    """Hands the tests to the workers one by one, in their order; those of a module in `SHARING` together, and first.

    The marks of `--dist loadgroup`, which are meant for this, do nothing in pytest-xdist 3.8.0 with pytest 9.2.0.
    """

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return module if module in SHARING else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneByOne:
    """Tell pytest-xdist how the tests are handed out."""
    return OneByOne(config, log)


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


@pytest.fixture(scope="session")
def real_pi() -> InstalledHarness:
    """The pinned pi."""
    return install_harness("pi")
