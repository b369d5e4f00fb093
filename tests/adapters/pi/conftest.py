"""The real pi over scripted models, in each dialect that it speaks, on asyncio and on trio, each test bounded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from checkrein.adapters import Session, open_session
from checkrein.adapters.interface import HarnessBinary, ModelEndpoint
from checkrein.adapters.pi import HARNESS
from checkrein.adapters.pi.model_profile import PROFILE
from checkrein.scripted_models import ModelServer, ModelSession, Script

#: how long one test may take, in seconds; the slowest takes about 5 on a quiet machine
TEST_SECONDS = 60.0

OpenPi = Callable[..., AbstractAsyncContextManager[Session]]
Play = Callable[[], ModelSession]


#: Each dialect, and each event loop: not every pair of them, since a pi takes a second to start.
WAYS = (("trio", "openai-chat"), ("asyncio", "openai-responses"), ("asyncio", "anthropic-messages"))


@pytest.fixture(params=WAYS, ids="-".join)
def way(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture
def anyio_backend(way: tuple[str, str]) -> str:
    return way[0]


@pytest.fixture
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with anyio.fail_after(TEST_SECONDS):
        yield


@pytest.fixture
def dialect(way: tuple[str, str]) -> str:
    return way[1]


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
def playing(server: ModelServer, script: Script, dialect: str) -> Play:
    """Start to play the script; at the end of the test the run is held to it."""
    return partial(server.open_session, script, replace(PROFILE, dialect=dialect))


@pytest.fixture
def pi(bounded: None, pi_binary: HarnessBinary, workspace: Path, home: Path, dialect: str) -> OpenPi:
    """Open a session with the real pi over a played script."""

    def open_pi(
        model: ModelSession, *, policy: str = "ask", resume: str | None = None
    ) -> AbstractAsyncContextManager[Session]:
        return open_session(
            HARNESS,
            cwd=workspace,
            policy=policy,
            resume=resume,
            binary=pi_binary,
            home=home,
            endpoint=ModelEndpoint(base_url=model.base_url, api_key="not-a-real-key", dialect=dialect),
        )

    return open_pi
