"""Sessions over the echo harness, on asyncio and on trio, each test bounded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from checkrein.adapters import Session, open_session
from checkrein.adapters.interrupting import LadderTimes
from tests.adapters.session.echo_harness import EchoHarness

OpenSession = Callable[..., AbstractAsyncContextManager[Session]]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def harness(anyio_backend: str) -> AsyncIterator[EchoHarness]:
    with anyio.fail_after(30):
        yield EchoHarness()


@pytest.fixture
def opened(harness: EchoHarness, tmp_path: Path) -> OpenSession:
    defaults: dict[str, Any] = {
        "cwd": tmp_path,
        "binary": harness.binary,
        "approval_seconds": 20.0,
        "call_seconds": 5.0,
        "ladder": LadderTimes(harness=5.0, settle=1.0, tools=1.0),
    }
    return partial(open_session, harness, **defaults)
