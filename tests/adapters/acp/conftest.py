"""Agents that speak ACP: played ones, and the reference agent over scripted models, on asyncio and on trio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import anyio
import pytest

from checkrein.adapters import Session, open_session
from checkrein.adapters.interface import ModelEndpoint
from checkrein.adapters.transport import Tap
from checkrein.conformance.reference.kit import KIT
from checkrein.scripted_models import ModelServer, ModelSession, Script

#: how long one test may take, in seconds; the slowest takes about one on a quiet machine
TEST_SECONDS = 30.0

OpenReference = Callable[..., AbstractAsyncContextManager[Session]]
Play = Callable[[], ModelSession]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with anyio.fail_after(TEST_SECONDS):
        yield


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def playing(server: ModelServer, script: Script) -> Play:
    """Start to play the script; at the end of the test the run is held to it."""
    return partial(server.open_session, script, KIT.profile)


@pytest.fixture
def reference(bounded: None, workspace: Path, tmp_path: Path) -> OpenReference:
    """Open a session with the reference agent over a played script."""

    def open_reference(
        model: ModelSession,
        *,
        policy: str = "ask",
        resume: str | None = None,
        fork: str | None = None,
        tap: Tap | None = None,
    ) -> AbstractAsyncContextManager[Session]:
        return open_session(
            "reference",
            cwd=workspace,
            policy=policy,
            resume=resume,
            fork=fork,
            home=tmp_path / "home",
            endpoint=ModelEndpoint(base_url=model.base_url, api_key="not-a-real-key"),
            tap=tap,
        )

    return open_reference
