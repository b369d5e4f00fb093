"""The meddler on the wire does what it is told to the message that is picked, and leaves all others as they are."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio
import pytest

from checkrein.adapters.transport import Direction, HarnessProcess
from tests.conformance.sabotage.wire_meddler import (
    ANYTHING,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    MeddledReadEnd,
    MeddledWriteEnd,
    Meddler,
    Meddling,
    Pick,
    Swap,
    meddled,
)

#: The messages a to f, of which the second, the fourth and the last are of the kind `x`.
KINDS = {"a": "o", "b": "x", "c": "o", "d": "x", "e": "end", "f": "x"}
X = Pick(way=Direction.FROM_HARNESS, fields={"kind": "x"})
SECOND_X = Pick(way=Direction.FROM_HARNESS, fields={"kind": "x"}, nth=2)
END = Pick(way=Direction.FROM_HARNESS, fields={"kind": "end"})


def message(name: str, **more: object) -> bytes:
    return json.dumps({"name": name, "kind": KINDS[name], **more}).encode()


def arriving(*meddlings: Meddling, way: Direction = Direction.FROM_HARNESS) -> str:
    """The names of what arrives of the messages a to f; behind a bar what arrives at the end of the stream."""
    meddler = Meddler(meddlings, acted=lambda _: None)
    passed = [line for name in KINDS for line in meddler.pass_on(way, message(name))]
    left = meddler.end(way)
    return "|".join("".join(json.loads(line)["name"] for line in lines) for lines in (passed, left))


def test_a_dropped_message_never_arrives() -> None:
    assert arriving(Meddling(pick=X, act=Drop())) == "ace|"
    assert arriving(Meddling(pick=SECOND_X, act=Drop())) == "abcef|"


def test_a_duplicated_message_arrives_twice() -> None:
    assert arriving(Meddling(pick=SECOND_X, act=Duplicate())) == "abcddef|"


def test_a_delayed_message_arrives_behind_another() -> None:
    assert arriving(Meddling(pick=X, act=Delay(until=END))) == "acebd|f"


def test_a_message_is_delayed_until_the_nth_other_has_passed() -> None:
    any_message = Pick(way=Direction.FROM_HARNESS, nth=2)
    first = Pick(way=Direction.FROM_HARNESS, fields={"name": "a"})
    assert arriving(Meddling(pick=first, act=Delay(until=any_message))) == "bcadef|"


def test_swapped_messages_arrive_in_each_others_place() -> None:
    first = Pick(way=Direction.FROM_HARNESS, fields={"kind": "x"}, nth=1)
    assert arriving(Meddling(pick=first, act=Swap(other=END))) == "aecdbf|"


def test_what_waits_for_a_message_that_never_comes_arrives_at_the_end() -> None:
    never = Pick(way=Direction.FROM_HARNESS, fields={"kind": "never"})
    assert arriving(Meddling(pick=SECOND_X, act=Delay(until=never))) == "abcef|d"
    assert arriving(Meddling(pick=SECOND_X, act=Swap(other=never))) == "abc|def"


def test_a_corrupted_message_arrives_with_other_values() -> None:
    pick = Pick(way=Direction.TO_HARNESS, fields={"list.0.deep": ANYTHING})
    act = Corrupt(changed={"list.0.deep": [1]}, texts={'"b"': '"c"'})
    meddler = Meddler([Meddling(pick=pick, act=act)], acted=lambda _: None)
    changed = meddler.pass_on(Direction.TO_HARNESS, message("b", list=[{"deep": 2, "flat": "“3”"}]))
    assert json.loads(changed[0]) == {"name": "c", "kind": "x", "list": [{"deep": [1], "flat": "“3”"}]}


def test_a_second_copy_may_differ() -> None:
    act = Duplicate(changed={"name": "another"})
    meddler = Meddler([Meddling(pick=X, act=act)], acted=lambda _: None)
    first, second = meddler.pass_on(Direction.FROM_HARNESS, message("b"))
    assert first == message("b")
    assert json.loads(second) == {"name": "another", "kind": "x"}


def test_a_value_that_the_message_does_not_have_cannot_be_changed() -> None:
    meddler = Meddler([Meddling(pick=X, act=Corrupt(changed={"other": 1}))], acted=lambda _: None)
    with pytest.raises(AssertionError, match="there is no other to change"):
        meddler.pass_on(Direction.FROM_HARNESS, message("b"))


def test_meddlings_follow_one_another() -> None:
    third = Pick(way=Direction.FROM_HARNESS, fields={"kind": "x"}, nth=3)
    doubled = Meddling(pick=X, act=Duplicate())
    assert arriving(doubled, Meddling(pick=third, act=Delay(until=END))) == "abbcdedff|"


def test_the_other_direction_is_left_alone() -> None:
    assert arriving(Meddling(pick=X, act=Drop()), way=Direction.TO_HARNESS) == "abcdef|"


def test_what_is_no_message_passes_byte_for_byte() -> None:
    meddler = Meddler([Meddling(pick=X, act=Drop())], acted=lambda _: None)
    for line in (b"", b"stray \xff text", b'"text"', b'{ "kind":  "o" }\r'):
        assert meddler.pass_on(Direction.FROM_HARNESS, line) == [line]


def test_each_act_is_told() -> None:
    dropping, delaying = Meddling(pick=SECOND_X, act=Drop()), Meddling(pick=END, act=Delay(until=X))
    acts: list[Meddling] = []
    meddler = Meddler([dropping, delaying], acted=acts.append)
    for name in KINDS:
        meddler.pass_on(Direction.FROM_HARNESS, message(name))
    assert acts == [dropping, delaying]


@pytest.mark.anyio
async def test_reading_puts_torn_lines_together_and_keeps_an_unfinished_last_one() -> None:
    read_from, write_to = os.pipe()
    end = MeddledReadEnd(read_from, Meddler([Meddling(pick=X, act=Drop())], acted=lambda _: None))
    data = message("a") + b"\n" + message("b") + b"\n" + message("c") + b"\n" + b"{torn"
    arrived = b""
    for start in range(0, len(data), 7):
        os.write(write_to, data[start : start + 7])
        arrived += end.read_now() or b""
    os.close(write_to)
    while piece := end.read_now():
        arrived += piece
    end.close()
    assert arrived == message("a") + b"\n" + message("c") + b"\n{torn"


@pytest.mark.anyio
async def test_writing_into_a_full_pipe_goes_on_where_it_stopped() -> None:
    read_from, write_to = os.pipe()
    meddling = Meddling(pick=Pick(way=Direction.TO_HARNESS, fields={"kind": "x"}), act=Duplicate())
    end = MeddledWriteEnd(write_to, Meddler([meddling], acted=lambda _: None))
    line = memoryview(message("b", filling="." * 100_000) + b"\n")
    arrived = b""
    while end.write_now(line) == 0:
        arrived += os.read(read_from, 65536)
    end.close()
    while piece := os.read(read_from, 65536):
        arrived += piece
    os.close(read_from)
    assert arrived == bytes(line) * 2


ECHO = "import sys\nfor line in sys.stdin: sys.stdout.write(line); sys.stdout.flush()"


async def echoed(directory: Path, seen: list[tuple[Direction, str]]) -> str:
    """The names of what comes back from a program that echoes the messages a to f."""

    def tap(way: Direction, line: bytes) -> None:
        seen.append((way, json.loads(line)["name"]))

    process = await HarnessProcess.start([sys.executable, "-I", "-S", "-c", ECHO], cwd=directory, tap=tap)
    for name in KINDS:
        await process.send(message(name))
    await process.close_stdin()
    with anyio.fail_after(20):
        names = [json.loads(line)["name"] async for batch in process.batches() for line in batch]
    await process.aclose()
    return "".join(names)


@pytest.mark.anyio
async def test_it_sits_below_the_tap_of_a_process(tmp_path: Path) -> None:
    seen: list[tuple[Direction, str]] = []
    sent = Pick(way=Direction.TO_HARNESS, fields={"name": "a"})
    with meddled([Meddling(pick=sent, act=Drop()), Meddling(pick=SECOND_X, act=Duplicate())]) as acts:
        assert await echoed(tmp_path, seen) == "bcddef"
    assert len(acts) == 2
    assert "".join(name for way, name in seen if way is Direction.TO_HARNESS) == "abcdef"
    assert "".join(name for way, name in seen if way is Direction.FROM_HARNESS) == "bcddef"
    assert await echoed(tmp_path, []) == "abcdef"
