"""A one-shot harness of a few lines: this Python, described by a TOML text of the test."""

from __future__ import annotations

import hashlib
import importlib
import sys
import textwrap
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from checkrein.adapters import Session, open_session
from checkrein.adapters.interface import HarnessBinary
from checkrein.adapters.interrupting import LadderTimes
from checkrein.adapters.oneshot import OneShotAdapter

OpenSession = Callable[..., AbstractAsyncContextManager[Session]]
MakeAdapter = Callable[..., OneShotAdapter]

MANIFEST = """
name = "tiny"
title = "Tiny"
vendor = "tests"
dialects = []
[capabilities]
live_control = "no"
steer = "no"
approvals = "no"
interrupt = "yes"
resume = "yes"
fork = "no"
"""

#: With these a test that waits for a command that a run does not take, or for its input to matter, does not end.
ENDLESS = LadderTimes(harness=600.0, stdin=600.0, term=10.0)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeAdapter:
    """Makes the adapter of a package that holds that description."""

    def made(description: str) -> OneShotAdapter:
        package = tmp_path / f"tiny_{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:8]}"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "manifest.toml").write_text(MANIFEST)
        (package / "oneshot.toml").write_text(textwrap.dedent(description))
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        importlib.invalidate_caches()
        return OneShotAdapter(package.name)

    return made


@pytest.fixture
def opened(tmp_path: Path) -> OpenSession:
    """Opens a session of an adapter, with the policy that a one-shot harness can have."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    python = HarnessBinary(path=Path(sys.executable), version="1.0", sha256="0" * 64)
    return partial(open_session, cwd=workspace, policy="auto", binary=python, ladder=ENDLESS)
