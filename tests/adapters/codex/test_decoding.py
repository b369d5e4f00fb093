"""What the app-server may write at its worst: `decode` never raises, and nothing goes by unseen."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from checkrein.adapters.codex.items import KEPT_OUTPUT
from checkrein.adapters.errors import CallExpired, HarnessDied, TurnActive
from checkrein.adapters.interface import Connection
from checkrein.adapters.native import (
    Notice,
    NoticeKind,
    ToolFinished,
    ToolStarted,
    TurnClosed,
    TurnOpened,
    TurnStatus,
)
from tests.adapters.codex.replayed_process import connection, spec
from tests.adapters.recordings import SilentProcess

pytestmark = pytest.mark.anyio


@pytest.fixture
def silent() -> Connection:
    return connection(SilentProcess(), spec())


@pytest.mark.parametrize(
    "line",
    [
        b"thread panicked",
        b'{"id":',
        b"[1,2]",
        b"\xff\xfe",
        b'{"id":null,"result":{}}',
        b'"text"',
        b"{}",
        b"null",
    ],
)
async def test_a_line_that_is_no_message_is_shown(silent: Connection, line: bytes) -> None:
    (event,) = silent.decode([line])
    assert isinstance(event, Notice)
    assert event.kind is NoticeKind.STRAY_OUTPUT


async def test_an_empty_line_and_an_answer_to_nothing_are_passed_over(silent: Connection) -> None:
    assert (
        list(
            silent.decode(
                [b"", b"  ", b'{"id":77,"result":{}}', b'{"id":"x","error":{"code":1,"message":"m"}}']
            )
        )
        == []
    )


async def test_an_unknown_notification_is_shown_once(silent: Connection) -> None:
    line = b'{"method":"thread/hovered","params":{}}'
    (event,) = silent.decode([line, line])
    assert event == Notice(kind=NoticeKind.UNKNOWN_MESSAGE, text="unknown notification thread/hovered")
    assert list(silent.decode([line])) == []


@pytest.mark.parametrize(
    "method",
    ["turn/started", "turn/completed", "item/started", "thread/tokenUsage/updated", "serverRequest/resolved"],
)
async def test_a_known_notification_of_an_unknown_shape_is_shown(silent: Connection, method: str) -> None:
    (event,) = silent.decode([b'{"method":"%s","params":{"turn":3}}' % method.encode()])
    assert isinstance(event, Notice)
    assert event.kind is NoticeKind.UNKNOWN_MESSAGE


async def test_an_item_of_a_new_type_and_unknown_fields_disturb_nothing(silent: Connection) -> None:
    item = b'{"type":"hologram","id":"h1","status":"completed","depth":3}'
    line = b'{"method":"item/completed","params":{"threadId":"t","turnId":"u","new":1,"item":%s}}' % item
    assert list(silent.decode([line])) == []


async def test_a_turn_that_nobody_asked_for_is_told_as_such(silent: Connection) -> None:
    (opened, closed) = silent.decode(
        [
            b'{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u1"}}}',
            b'{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u1","status":"paused"}}}',
        ]
    )
    assert isinstance(opened, TurnOpened)
    assert (opened.prompt_id, opened.cause != "") == (None, True)
    assert isinstance(closed, TurnClosed)
    assert (closed.status, closed.native_status) == (TurnStatus.FAILED, "paused")


async def test_an_end_that_comes_twice_counts_once(silent: Connection) -> None:
    start = b'{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u1"}}}'
    end = b'{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u1","status":"completed"}}}'
    events = list(silent.decode([start, end, end]))
    assert sum(isinstance(event, TurnClosed) for event in events) == 1


async def test_of_a_chatty_command_the_tail_is_kept(silent: Connection) -> None:
    start = b'{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u1"}}}'
    item = b'{"type":"commandExecution","id":"c1","command":"yes","status":"%s"}'
    begun = b'{"method":"item/started","params":{"threadId":"t","turnId":"u1","item":%s}}' % (
        item % b"inProgress"
    )
    printed = b'{"threadId":"t","turnId":"u1","itemId":"c1","delta":"%s"}'
    piece = b'{"method":"item/commandExecution/outputDelta","params":%s}' % printed
    ended = b'{"method":"item/completed","params":{"threadId":"t","turnId":"u1","item":%s}}' % (
        item % b"failed"
    )
    pieces = [piece % (b"%04d" % number * 25) for number in range(1000)]
    started, finished = list(silent.decode([start, begun, *pieces, ended]))[1:]
    assert isinstance(started, ToolStarted)
    assert isinstance(finished, ToolFinished)
    assert len(finished.output) == KEPT_OUTPUT
    assert finished.output.endswith("0999")


async def test_a_call_without_an_answer_expires() -> None:
    hasty = connection(SilentProcess(), replace(spec(), call_seconds=0.05))
    with pytest.raises(CallExpired, match="turn/start"):
        await hasty.start_turn("t1", "go")


async def test_every_call_fails_at_once_when_the_process_is_gone() -> None:
    dying = connection(SilentProcess(), spec())
    raised: list[str] = []

    async def call() -> None:
        try:
            await dying.start_turn("t1", "go")
        except HarnessDied as error:
            raised.append(error.status)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        dying.fail_calls(HarnessDied("the harness's process ended", status="signal 9", stderr=""))
    assert raised == ["signal 9"]


async def test_a_second_prompt_is_refused_before_it_becomes_a_steer() -> None:
    busy = connection(SilentProcess(), replace(spec(), call_seconds=0.05))
    with pytest.raises(CallExpired):
        await busy.start_turn("t1", "go")
    with pytest.raises(TurnActive):
        await busy.start_turn("t2", "go too")
