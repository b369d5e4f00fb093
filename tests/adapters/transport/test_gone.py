"""Waiting for the end of processes that are not ours."""

from __future__ import annotations

import json
import time

import anyio
import pytest

from checkrein.adapters.transport import gone
from tests.adapters.transport.peer_processes import StartPeer, first_line

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("handles", [True, False], ids=["by-handle", "by-looking"])
async def test_the_wait_ends_with_the_last_process(
    start_peer: StartPeer, monkeypatch: pytest.MonkeyPatch, handles: bool
) -> None:
    monkeypatch.setattr(gone, "HAS_HANDLES", handles and gone.HAS_HANDLES)
    process = await start_peer("family.py")
    family = json.loads(await first_line(process))
    ended: list[str] = []

    async def wait(stray: int) -> None:
        await gone.wait_gone({stray}, 20)
        ended.append("waited")

    async with anyio.create_task_group() as waiters:
        waiters.start_soon(wait, family["stray"])
        swept = await process.sweep(keep={family["stray"]})
        assert [child.pid for child in swept] == [family["tool"]]
        assert ended == []
        await process.sweep()
    assert ended == ["waited"]


@pytest.mark.parametrize("handles", [True, False], ids=["by-handle", "by-looking"])
async def test_the_wait_gives_up_at_its_deadline(
    start_peer: StartPeer, monkeypatch: pytest.MonkeyPatch, handles: bool
) -> None:
    monkeypatch.setattr(gone, "HAS_HANDLES", handles and gone.HAS_HANDLES)
    process = await start_peer("echo.py")
    begun = time.monotonic()
    await gone.wait_gone({process.pid}, 0.05)
    assert 0.05 <= time.monotonic() - begun < 5
    assert process.exit_status is None


async def test_processes_that_are_gone_already_are_not_waited_for(start_peer: StartPeer) -> None:
    process = await start_peer("end.py", 0)
    await process.wait_exit(10)
    with anyio.fail_after(5):
        await gone.wait_gone({process.pid}, 20)
