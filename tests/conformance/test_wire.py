"""The wire of a scenario: what was said, in order, and waiting for it."""

from __future__ import annotations

import anyio
import pytest

from checkrein.adapters.transport import Direction
from checkrein.conformance.wire import Wire, WireRow
from checkrein.scripted_models import DeadlineExceeded, Timeline


@pytest.fixture
def wire() -> Wire:
    return Wire(Timeline())


def test_lines_are_parsed_and_kept_in_order_by_direction(wire: Wire) -> None:
    wire.tap(Direction.TO_HARNESS, b'{"method":"turn/start","params":{"input":[{"text":"hi"}]}}')
    wire.tap(Direction.FROM_HARNESS, b'{"method":"turn/started"}')
    wire.tap(Direction.STDERR, b'{"no":"message"}')
    wire.tap(Direction.FROM_HARNESS, b"stray \xff text")
    (sent,) = wire.sent()
    assert sent.at("params", "input", 0, "text") == "hi"
    assert sent.at("params", "missing", "deeper") is None
    assert [row.text for row in wire.received()][1] == "stray \\xff text"
    assert wire.received(lambda row: row.at("method") == "turn/started")[0].n == 2
    assert wire.rows[2].message == {}


def test_waiting_finds_what_is_there_and_what_comes(wire: Wire) -> None:
    async def wait() -> None:
        wire.tap(Direction.FROM_HARNESS, b'{"n":1}')
        first = await wire.wait(lambda row: row.at("n") == 1, 5)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(later)
            second = await wire.wait(lambda row: row.at("n") == 1, 5, after=first.n)
            assert second.n > first.n

    async def later() -> None:
        wire.tap(Direction.FROM_HARNESS, b'{"n":2}')
        wire.tap(Direction.FROM_HARNESS, b'{"n":1}')

    anyio.run(wait)


def test_waiting_in_vain_says_for_what(wire: Wire) -> None:
    with pytest.raises(DeadlineExceeded, match="in vain for the terminal event"):
        anyio.run(lambda: wire.wait(lambda _: False, 0.05, what="the terminal event"))


def test_what_is_done_at_a_line_is_done_before_the_line_is_passed_on(wire: Wire) -> None:
    seen: list[int] = []
    wire.when(lambda row: row.at("n") == 2, lambda row: seen.append(row.n))
    for line in (b'{"n":1}', b'{"n":2}'):
        wire.tap(Direction.FROM_HARNESS, line)
    assert seen == [2]


def test_what_a_watcher_raises_is_kept_from_the_session_and_told_to_the_scenario(wire: Wire) -> None:
    def look(_: WireRow) -> None:
        raise FileNotFoundError("a file that vanished")

    wire.when(lambda row: row.at("n") == 1, look)
    wire.check()
    wire.tap(Direction.FROM_HARNESS, b'{"n":1}')
    assert len(wire.rows) == 1
    with pytest.raises(FileNotFoundError, match="vanished"):
        wire.check()
