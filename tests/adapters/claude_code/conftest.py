"""The real Claude Code against scripted models, on asyncio and on trio, each test bounded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from checkrein.adapters import Session, open_session
from checkrein.adapters.claude_code import HARNESS
from checkrein.adapters.claude_code.model_profile import PROFILE
from checkrein.adapters.interface import HarnessBinary, ModelEndpoint
from checkrein.adapters.transport import Direction
from checkrein.scripted_models import ModelServer, ModelSession, Script

#: for one step of the real harness, in seconds; it takes well below one on a quiet machine
STEP = 20.0

OpenSession = Callable[..., AbstractAsyncContextManager[Session]]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


class News:
    """Something that happens again and again and can be waited for."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def happened(self) -> None:
        event, self._event = self._event, anyio.Event()
        event.set()

    async def next(self) -> None:
        await self._event.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """One workspace, one home, and the lines that went over the wire."""

    open: OpenSession
    workspace: Path
    home: Path
    sent: list[bytes]
    received: list[bytes]

    def play(self, server: ModelServer, script: Script) -> ModelSession:
        """Serve the script to the sessions that are opened from here on."""
        model = server.open_session(script, PROFILE)
        self._endpoint["endpoint"] = ModelEndpoint(base_url=model.base_url, api_key="sk-ant-scripted")
        return model

    async def has_received(self, *parts: bytes) -> None:
        """Wait until lines that hold these parts have come, in this order."""
        with anyio.fail_after(STEP):
            at = 0
            for part in parts:
                while not any(part in line for line in self.received[at:]):
                    await self._news.next()
                at += next(n for n, line in enumerate(self.received[at:]) if part in line) + 1

    _endpoint: dict[str, Any]
    _news: News


@pytest.fixture
async def arena(
    anyio_backend: str, tmp_path: Path, claude_code_binary: HarnessBinary
) -> AsyncIterator[Arena]:
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    workspace.mkdir()
    home.mkdir()
    sent: list[bytes] = []
    received: list[bytes] = []
    news = News()

    def tap(direction: Direction, line: bytes) -> None:
        match direction:
            case Direction.TO_HARNESS:
                sent.append(line)
            case Direction.FROM_HARNESS:
                received.append(line)
                news.happened()
            case Direction.STDERR:
                pass

    options: dict[str, Any] = {
        "cwd": workspace,
        "home": home,
        "binary": claude_code_binary,
        "tap": tap,
        "approval_seconds": STEP,
    }

    def opened(**more: object) -> AbstractAsyncContextManager[Session]:
        return partial(open_session, HARNESS, **options)(**more)  # pyright: ignore[reportArgumentType] passed through

    with anyio.fail_after(90):
        yield Arena(
            open=opened,
            workspace=workspace,
            home=home,
            sent=sent,
            received=received,
            _endpoint=options,
            _news=news,
        )
