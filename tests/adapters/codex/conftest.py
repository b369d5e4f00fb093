"""The real Codex over scripted models, on asyncio and on trio, each test bounded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import anyio
import pytest

from checkrein.adapters import Session, open_session
from checkrein.adapters.codex import HARNESS
from checkrein.adapters.codex.model_profile import PROFILE
from checkrein.adapters.interface import HarnessBinary, ModelEndpoint
from checkrein.adapters.provision import InstalledHarness
from checkrein.adapters.transport import Tap
from checkrein.scripted_models import ModelServer, ModelSession, Script

#: how long one test may take, in seconds; the slowest takes about 5 on a quiet machine
TEST_SECONDS = 60.0

OpenCodex = Callable[..., AbstractAsyncContextManager[Session]]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with anyio.fail_after(TEST_SECONDS):
        yield


@pytest.fixture
def binary(real_codex: InstalledHarness) -> HarnessBinary:
    return HarnessBinary(path=real_codex.binary, version=real_codex.version, sha256=real_codex.binary_sha256)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def playing(server: ModelServer, script: Script) -> Callable[[], ModelSession]:
    """Start to play the script; at the end of the test the run is held to it."""
    return partial(server.open_session, script, PROFILE)


@pytest.fixture
def codex(bounded: None, binary: HarnessBinary, workspace: Path, home: Path) -> OpenCodex:
    """Open a session with the real Codex over a played script."""

    def open_codex(
        model: ModelSession,
        *,
        policy: str = "ask",
        resume: str | None = None,
        fork: str | None = None,
        home: Path = home,
        tap: Tap | None = None,
    ) -> AbstractAsyncContextManager[Session]:
        return open_session(
            HARNESS,
            cwd=workspace,
            policy=policy,
            resume=resume,
            fork=fork,
            binary=binary,
            home=home,
            endpoint=ModelEndpoint(base_url=model.base_url, api_key="not-a-real-key"),
            tap=tap,
        )

    return open_codex
