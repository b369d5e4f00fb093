"""A running model server, on both event loops and in both dialects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checkrein.scripted_models import ModelServer
from tests.scripted_models.wire import WIRES, Wire


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=sorted(WIRES))
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[str(request.param)]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running
