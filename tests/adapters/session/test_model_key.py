"""The user's key stays in the driver: a harness is told an address on loopback and a token, for one session."""

from __future__ import annotations

import anyio
import pytest

from checkrein.adapters.interface import ModelEndpoint
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import EchoHarness

pytestmark = pytest.mark.anyio

KEY = "sk-real-key-of-the-user-0123456789"
ENDPOINT = ModelEndpoint(base_url="https://model.example", api_key=KEY, model="m", retries=2)


async def test_a_harness_gets_a_token_in_place_of_the_key(harness: EchoHarness, opened: OpenSession) -> None:
    tokens: set[str] = set()
    for _ in range(2):
        async with opened(endpoint=ENDPOINT, environment={"http_proxy": "http://proxy.example"}):
            spec = harness.newest.spec
            told = spec.endpoint
            assert told is not None
            assert told.base_url.startswith("http://127.0.0.1:")
            assert (told.model, told.retries) == ("m", 2)
            assert KEY not in str(spec.environment) + told.api_key
            assert spec.environment["no_proxy"] == "127.0.0.1"
            tokens.add(told.api_key)
    assert len(tokens) == 2, "each session has a token of its own"


async def test_the_relay_ends_with_the_session(harness: EchoHarness, opened: OpenSession) -> None:
    async with opened(endpoint=ENDPOINT):
        told = harness.newest.spec.endpoint
        assert told is not None
    with pytest.raises(OSError, match="connect"):
        await anyio.connect_tcp("127.0.0.1", int(told.base_url.rpartition(":")[2]))


async def test_a_harness_with_a_login_of_its_own_has_no_relay(
    harness: EchoHarness, opened: OpenSession
) -> None:
    async with opened():
        assert harness.newest.spec.endpoint is None
