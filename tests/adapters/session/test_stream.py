"""Events wait for their reader; a turn never waits for nobody."""

from __future__ import annotations

import anyio
import pytest

from checkrein.adapters.errors import EventsTaken
from checkrein.adapters.stream import EventStream

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_without_a_reader_the_oldest_are_dropped_and_counted() -> None:
    stream: EventStream[int] = EventStream(bound=3)
    for number in range(5):
        stream.put(number)
        assert stream.room() is None
    stream.close()
    assert [number async for number in stream.read()] == [2, 3, 4]
    assert stream.dropped == 2


async def test_a_lagging_reader_makes_the_producer_wait_and_loses_nothing() -> None:
    stream: EventStream[int] = EventStream(bound=2)
    reader = stream.read()
    stream.put(0)
    assert await anext(reader) == 0
    stream.put(1)
    stream.put(2)
    room = stream.room()
    assert room is not None
    assert await anext(reader) == 1
    with anyio.fail_after(5):
        await room.wait()
    assert stream.room() is None
    stream.close()
    assert [number async for number in reader] == [2]


async def test_lifting_lets_the_producer_go_on() -> None:
    stream: EventStream[int] = EventStream(bound=1)
    reader = stream.read()
    stream.put(0)
    await anext(reader)
    stream.put(1)
    room = stream.room()
    assert room is not None
    stream.lift()
    with anyio.fail_after(5):
        await room.wait()
    assert stream.room() is None


async def test_a_second_reader_is_refused_until_the_first_is_gone() -> None:
    stream: EventStream[int] = EventStream()
    first = stream.read()
    with pytest.raises(EventsTaken):
        stream.read()
    del first
    stream.put(1)
    assert await anext(stream.read()) == 1


async def test_a_reader_that_left_makes_nobody_wait() -> None:
    stream: EventStream[int] = EventStream(bound=1)
    reader = stream.read()
    stream.put(0)
    room = stream.room()
    assert room is not None
    del reader
    with anyio.fail_after(5):
        await room.wait()
    assert stream.room() is None
