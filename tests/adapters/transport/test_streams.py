"""Lines both ways: whole, in order, of any length, and never at the price of the other stream."""

from __future__ import annotations

import os
import signal
import string

import anyio
import pytest

from checkrein.adapters.transport import BrokenTransport, Direction, SendTimedOut
from tests.adapters.transport.peer_processes import StartPeer, all_lines, first_line

pytestmark = pytest.mark.anyio

MIB = 1 << 20


def pipe_capacity() -> int:
    """How many bytes a pipe takes while nobody reads it."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    taken = 0
    try:
        while True:
            taken += os.write(write, b"x" * 4096)
    except BlockingIOError:
        return taken
    finally:
        os.close(read)
        os.close(write)


async def test_lines_come_back_and_the_end_of_input_is_the_end(start_peer: StartPeer) -> None:
    process = await start_peer("echo.py")
    await process.send(b'{"a": 1}')
    assert await first_line(process) == b'{"a": 1}'
    await process.send("with its end \u2028 \U0001f984\n".encode())
    assert await first_line(process) == "with its end \u2028 \U0001f984".encode()
    await process.close_stdin()
    assert await all_lines(process) == []
    assert not process.output_torn
    assert (await process.wait_exit(10)).code == 0


async def test_a_character_split_across_reads_is_whole(start_peer: StartPeer) -> None:
    process = await start_peer("emit.py", b"first\n\xe2\x82".hex(), b"\xac second\r\n".hex())
    assert await first_line(process) == b"first"
    await process.send(b"go on")
    assert await first_line(process) == "\u20ac second".encode()


async def test_a_torn_last_line_is_delivered_and_flagged(start_peer: StartPeer) -> None:
    process = await start_peer("emit.py", b'whole\n{"half": '.hex())
    assert await all_lines(process) == [b"whole", b'{"half": ']
    assert process.output_torn


@pytest.mark.parametrize("mebibytes", [10, 64])
async def test_a_line_of_many_megabytes_is_one_line(start_peer: StartPeer, mebibytes: int) -> None:
    process = await start_peer("long_lines.py", mebibytes * MIB, 3)
    lines = await all_lines(process)
    assert [len(line) for line in lines] == [mebibytes * MIB, 3]
    assert lines[0].count(b"0") == mebibytes * MIB
    assert lines[1] == b"111"


async def test_a_flood_on_standard_error_blocks_nothing_and_is_bounded(start_peer: StartPeer) -> None:
    process = await start_peer("flood.py", 20 * MIB)
    assert await first_line(process) == b"flooded"
    await process.close_stdin()
    await process.wait_exit(10)
    assert process.stderr_total_bytes == 20 * MIB + len("the end")
    assert process.stderr_tail(9) == "x\nthe end"
    assert len(process.stderr_tail()) == 64 * 1024
    assert len(process.stderr_tail(20 * MIB)) <= 128 * 1024


async def test_nothing_is_read_that_nobody_takes(start_peer: StartPeer) -> None:
    send_report, reports = anyio.create_memory_object_stream[int](10)

    def tap(direction: Direction, line: bytes) -> None:
        if direction is Direction.STDERR:
            send_report.send_nowait(int(line))

    async with send_report, reports:
        process = await start_peer("filler.py", tap=tap)
        with anyio.fail_after(20):
            await process.send(b"fill")
            held = await reports.receive()
            # The pipe is full and stays so, however long nobody reads.
            await process.send(b"fill")
            assert await reports.receive() == 0
            taken = 0
            async for batch in process.batches():
                taken = sum(len(line) + 1 for line in batch)
                break
            await process.send(b"fill")
            refilled = await reports.receive()
        # What fits again is what was taken: no read ran ahead. A partial line may be in the framer.
        assert 0 < refilled <= taken + 2048
        await process.close_stdin()
        assert taken + sum([len(line) + 1 for line in await all_lines(process)]) >= held + refilled


async def test_concurrent_sends_stay_whole_lines(start_peer: StartPeer) -> None:
    process = await start_peer("echo.py")
    sent = [letter.encode() * 100_000 for letter in string.ascii_letters[:20]]
    received: list[bytes] = []

    async def receive() -> None:
        received.extend(await all_lines(process))

    async with anyio.create_task_group() as readers:
        readers.start_soon(receive)
        async with anyio.create_task_group() as senders:
            for line in sent:
                senders.start_soon(process.send, line)
        await process.close_stdin()
    assert sorted(received) == sorted(sent)


async def test_a_line_feed_inside_the_data_is_refused(start_peer: StartPeer) -> None:
    process = await start_peer("echo.py")
    with pytest.raises(ValueError, match="line feed"):
        await process.send(b"two\nlines")
    await process.send(b"one")
    assert await first_line(process) == b"one"


async def test_sending_to_a_dead_process_is_a_broken_transport(start_peer: StartPeer) -> None:
    process = await start_peer("end.py", 0)
    await process.wait_exit(10)
    with pytest.raises(BrokenTransport):
        await process.send(b"anybody there?")


async def test_sending_after_the_input_was_closed_is_a_broken_transport(start_peer: StartPeer) -> None:
    process = await start_peer("echo.py")
    await process.close_stdin()
    with pytest.raises(BrokenTransport, match="closed"):
        await process.send(b"late")


async def test_closing_the_input_breaks_off_a_send_that_waits(start_peer: StartPeer) -> None:
    process = await start_peer("stubborn.py", stdin_grace_seconds=0.05)
    await first_line(process)
    waiting = anyio.Event()

    async def send() -> None:
        waiting.set()
        with pytest.raises(BrokenTransport, match="closed"):
            await process.send(b"x" * MIB)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as senders:
            senders.start_soon(send)
            await waiting.wait()
            await process.close_stdin()


async def test_a_deadline_before_the_first_byte_leaves_the_transport_intact(start_peer: StartPeer) -> None:
    process = await start_peer("deaf.py")
    await first_line(process)
    full = b"x" * (pipe_capacity() - 1)
    await process.send(full, deadline_seconds=10)
    with pytest.raises(SendTimedOut):
        await process.send(b"no room", deadline_seconds=0.05)
    await process.signal(signal.SIGUSR1)
    await process.send(b"room again", deadline_seconds=10)
    await process.close_stdin()
    assert await all_lines(process) == [full, b"room again"]


async def test_a_deadline_inside_a_line_breaks_the_transport(start_peer: StartPeer) -> None:
    process = await start_peer("stubborn.py", stdin_grace_seconds=0.05)
    with pytest.raises(BrokenTransport, match="cut in the middle"):
        await process.send(b"x" * MIB, deadline_seconds=0.05)
    with pytest.raises(BrokenTransport, match="cut in the middle"):
        await process.send(b"after it")


async def test_a_cancellation_inside_a_line_breaks_the_transport(start_peer: StartPeer) -> None:
    process = await start_peer("stubborn.py", stdin_grace_seconds=0.05)
    with anyio.move_on_after(0.05):
        await process.send(b"x" * MIB)
    with pytest.raises(BrokenTransport, match="cut in the middle"):
        await process.send(b"after it")


async def test_a_cancelled_read_loses_nothing(start_peer: StartPeer) -> None:
    process = await start_peer("echo.py")
    for number in range(50):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await first_line(process)
        await process.send(b"%d" % number)
        with anyio.move_on_after(0.0001 * number):
            assert await first_line(process) == b"%d" % number
            continue
        assert await first_line(process) == b"%d" % number


async def test_the_tap_sees_every_line_in_order(start_peer: StartPeer) -> None:
    seen: list[tuple[Direction, bytes]] = []
    process = await start_peer("echo.py", tap=lambda direction, line: seen.append((direction, line)))
    await process.send(b"one\n")
    await first_line(process)
    await process.send(b"two")
    await first_line(process)
    out, back = Direction.TO_HARNESS, Direction.FROM_HARNESS
    assert seen == [(out, b"one"), (back, b"one"), (out, b"two"), (back, b"two")]


async def test_a_tap_that_fails_on_standard_error_does_not_stop_the_drain(start_peer: StartPeer) -> None:
    def tap(direction: Direction, line: bytes) -> None:
        if direction is Direction.STDERR:
            raise RuntimeError("the disk is full")

    process = await start_peer("flood.py", 2 * MIB, tap=tap)
    assert await first_line(process) == b"flooded"
