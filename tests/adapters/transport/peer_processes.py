"""The misbehaving peers, and how the tests observe them; every wait has a deadline."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol, TypedDict, Unpack

import anyio
import psutil

from checkrein.adapters.transport import HarnessProcess, Tap
from checkrein.adapters.transport.gone import wait_until_ended

PEERS = Path(__file__).with_name("peers")


class StartOptions(TypedDict, total=False):
    """What a test may choose when it starts a peer."""

    env: Mapping[str, str]
    tap: Tap
    stdin_grace_seconds: float
    term_grace_seconds: float


class StartPeer(Protocol):
    """Starts a peer by the name of its script; the fixture `start_peer`."""

    async def __call__(
        self, name: str, *arguments: object, **options: Unpack[StartOptions]
    ) -> HarnessProcess: ...


def peer_argv(name: str, *arguments: object) -> list[str]:
    """How a peer is run."""
    return [sys.executable, "-S", str(PEERS / name), *map(str, arguments)]


async def first_line(process: HarnessProcess) -> bytes:
    """The next line, which the test knows to come alone."""
    with anyio.fail_after(10):
        async for batch in process.batches():
            assert len(batch) == 1
            return batch[0]
    raise AssertionError("the output ended")


async def all_lines(process: HarnessProcess) -> list[bytes]:
    """All lines up to the end of the output."""
    with anyio.fail_after(30):
        return [line async for batch in process.batches() for line in batch]


def alive_after(pids: Iterable[int], *, within_seconds: float = 5) -> list[int]:
    """Wait, blocking, for the processes to end and return those that have not; one that nobody reaps has ended."""
    pids = list(pids)
    wait_until_ended(pids, within_seconds)
    alive: list[int] = []
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                alive.append(pid)
        except psutil.NoSuchProcess:
            continue
    return alive


async def still_alive(pids: Iterable[int]) -> list[int]:
    """`alive_after` without blocking the event loop."""
    return await anyio.to_thread.run_sync(alive_after, list(pids))
