"""Real processes for the transport's tests; every one is ended, whatever the test does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Unpack

import pytest

from checkrein.adapters.transport import HarnessProcess
from tests.adapters.transport.peer_processes import StartOptions, StartPeer, peer_argv


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def start_peer(anyio_backend: str, tmp_path: Path) -> AsyncIterator[StartPeer]:
    started: list[HarnessProcess] = []

    async def start(name: str, *arguments: object, **options: Unpack[StartOptions]) -> HarnessProcess:
        process = await HarnessProcess.start(peer_argv(name, *arguments), cwd=tmp_path, **options)
        started.append(process)
        return process

    yield start
    for process in started:
        await process.aclose()
