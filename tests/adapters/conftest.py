"""The harnesses that the adapter tests run on: those of `checkrein install`, or the ones named by the environment."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from checkrein.adapters.interface import HarnessBinary
from checkrein.adapters.provision import InstalledHarness, launcher_of


def _binary(request: pytest.FixtureRequest, *, variable: str, fixture: str, harness: str) -> HarnessBinary:
    if given := os.environ.get(variable):
        path = Path(given)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        launcher = launcher_of(path, harness=harness)
        return HarnessBinary(path=path, version=None, sha256=digest, launcher=launcher)
    installed = request.getfixturevalue(fixture)
    assert isinstance(installed, InstalledHarness)
    return HarnessBinary(
        path=installed.binary,
        version=installed.version,
        sha256=installed.binary_sha256,
        launcher=launcher_of(installed.binary, harness=harness),
    )


@pytest.fixture(scope="session")
def claude_code_binary(request: pytest.FixtureRequest) -> HarnessBinary:
    """Claude Code: the pinned one, or the file that `CHECKREIN_TEST_CLAUDE_CODE` names."""
    return _binary(
        request, variable="CHECKREIN_TEST_CLAUDE_CODE", fixture="real_claude_code", harness="claude-code"
    )


@pytest.fixture(scope="session")
def codex_binary(request: pytest.FixtureRequest) -> HarnessBinary:
    """Codex: the pinned one, or the file that `CHECKREIN_TEST_CODEX` names."""
    return _binary(request, variable="CHECKREIN_TEST_CODEX", fixture="real_codex", harness="codex")


@pytest.fixture(scope="session")
def pi_binary(request: pytest.FixtureRequest) -> HarnessBinary:
    """pi: the pinned one, or the file that `CHECKREIN_TEST_PI` names."""
    return _binary(request, variable="CHECKREIN_TEST_PI", fixture="real_pi", harness="pi")
