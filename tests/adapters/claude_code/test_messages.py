"""Lines that are not as expected, questions that nobody can answer, and turns that begin in odd ways."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import msgspec
import pytest

from checkrein.adapters.claude_code.connection import ClaudeCodeConnection
from checkrein.adapters.errors import (
    BadRequest,
    CallRefused,
    HandshakeFailed,
    HarnessDied,
    SessionNotFound,
    SteerRejected,
)
from checkrein.adapters.native import (
    NativeEvent,
    Notice,
    NoticeKind,
    SteerMoved,
    SteerProgress,
    TextDone,
    TurnClosed,
    TurnOpened,
    TurnStatus,
)
from tests.adapters.claude_code.recordings import Json, Pipe, connected

pytestmark = pytest.mark.anyio

PROMPT = "11111111-1111-4111-8111-111111111111"
STEER = "22222222-2222-4222-8222-222222222222"
STRANGE = "33333333-3333-4333-8333-333333333333"


@pytest.fixture
def pipe() -> Pipe:
    return Pipe()


@pytest.fixture
def connection(pipe: Pipe) -> ClaudeCodeConnection:
    return connected(pipe)


def told(connection: ClaudeCodeConnection, *messages: Json | bytes) -> list[NativeEvent]:
    lines = [line if isinstance(line, bytes) else msgspec.json.encode(line) for line in messages]
    return list(connection.decode(lines))


def lifecycle(message_id: str, state: str, **more: str) -> Json:
    return {"type": "command_lifecycle", "command_uuid": message_id, "state": state, **more}


INIT: Json = {"type": "system", "subtype": "init", "permissionMode": "default"}


def result(**about: object) -> Json:
    whole = {"subtype": "success", "is_error": False, "terminal_reason": "completed", "result": "fine"}
    return {"type": "result", **whole, **about}


async def sent(connection: ClaudeCodeConnection, pipe: Pipe, message_id: str, *, steer: bool = False) -> None:
    """The connection has sent a message, and the harness has queued it."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.steer if steer else connection.start_turn, message_id, "text")
        await pipe.reaches(len(pipe.sent) + 1)
        told(connection, lifecycle(message_id, "queued"))


@pytest.mark.parametrize(
    "line",
    [
        b"warning: something on stdout",
        b'{"type": "result", ',
        b"\xff\xfe\x00",
        b"42",
        b"null",
        b'{"kind": "no type"}',
        b'{"type": 7}',
    ],
)
async def test_a_line_that_is_no_message_is_told_as_stray_output(
    connection: ClaudeCodeConnection, line: bytes
) -> None:
    [notice] = told(connection, line)
    assert isinstance(notice, Notice)
    assert notice.kind is NoticeKind.STRAY_OUTPUT


async def test_bytes_that_are_no_text_do_not_lose_the_message_around_them(
    connection: ClaudeCodeConnection,
) -> None:
    line = b'{"type":"assistant","message":{"content":[{"type":"text","text":"a\xffb"}]}}'
    assert told(connection, line) == [TextDone(text="a\ufffdb")]


async def test_an_empty_line_is_nothing(connection: ClaudeCodeConnection) -> None:
    assert told(connection, b"", b"  ") == []


async def test_an_unknown_type_or_subtype_is_told_once(connection: ClaudeCodeConnection) -> None:
    new: Json = {"type": "brand_new", "x": 1}
    newer: Json = {"type": "system", "subtype": "newer"}
    events = told(connection, new, new, newer, newer, {"type": "keep_alive"}, {"type": "tool_progress"})
    assert [event.text for event in events if isinstance(event, Notice)] == [
        "passed over an unknown message: brand_new",
        "passed over an unknown message: system newer",
    ]


async def test_a_message_for_people_is_told_and_routine_ones_are_not(
    connection: ClaudeCodeConnection,
) -> None:
    routine: Json = {"type": "system", "subtype": "session_state_changed", "state": "idle"}
    spoken: Json = {"type": "system", "subtype": "informational", "content": "asking again"}
    assert told(connection, routine, spoken) == [
        Notice(kind=NoticeKind.WARNING, text="informational: asking again")
    ]


async def test_a_known_message_of_another_shape_is_told_and_the_next_one_is_read(
    connection: ClaudeCodeConnection,
) -> None:
    broken: Json = {"type": "assistant", "message": 5}
    good: Json = {"type": "assistant", "message": {"content": [{"type": "text", "text": "hi"}]}}
    notice, text = told(connection, broken, good)
    assert isinstance(notice, Notice)
    assert notice.kind is NoticeKind.UNKNOWN_MESSAGE
    assert "assistant" in notice.text
    assert text == TextDone(text="hi")


async def test_unknown_fields_and_line_separators_inside_a_line_do_no_harm(
    connection: ClaudeCodeConnection,
) -> None:
    block = {"type": "text", "text": "a\u2028b\U0001f40e", "new": [1, {"deep": None}]}
    line: Json = {"type": "assistant", "message": {"content": [block], "new": 1}, "newer": {}}
    assert told(connection, line) == [TextDone(text="a\u2028b\U0001f40e")]


@pytest.mark.parametrize(
    ("subtype", "response"),
    [
        ("hook_callback", None),
        ("mcp_message", None),
        ("brand_new", None),
        ("elicitation", {"action": "decline"}),
        ("request_user_dialog", {"behavior": "cancelled"}),
    ],
)
async def test_a_question_of_another_kind_is_refused_in_its_own_shape_and_shown(
    connection: ClaudeCodeConnection, subtype: str, response: Json | None
) -> None:
    asked: Json = {"type": "control_request", "request_id": "r1", "request": {"subtype": subtype, "x": 1}}
    [notice] = told(connection, asked)
    assert isinstance(notice, Notice)
    assert notice.kind is NoticeKind.REFUSED_QUESTION
    assert subtype in notice.text
    [reply] = [msgspec.json.decode(line) for line in connection.take_replies()]
    assert reply["type"] == "control_response"
    assert reply["response"]["request_id"] == "r1"
    assert reply["response"]["subtype"] == ("error" if response is None else "success")
    assert reply["response"].get("response") == response
    assert connection.take_replies() == []


@pytest.mark.parametrize("request_", [{"subtype": "can_use_tool", "tool_name": 5}, {"subtype": 5}, "x", None])
async def test_a_question_of_an_unknown_shape_is_refused_instead_of_left_waiting(
    connection: ClaudeCodeConnection, request_: object
) -> None:
    [notice] = told(connection, {"type": "control_request", "request_id": "r1", "request": request_})
    assert isinstance(notice, Notice)
    assert notice.kind is NoticeKind.REFUSED_QUESTION
    [reply] = [msgspec.json.decode(line) for line in connection.take_replies()]
    assert (reply["response"]["subtype"], reply["response"]["request_id"]) == ("error", "r1")


async def test_a_turn_without_a_message_of_ours_says_why(connection: ClaudeCodeConnection) -> None:
    opened, closed = told(
        connection,
        lifecycle(STRANGE, "started", wakeup_source="schedule_wakeup"),
        INIT,
        result(user_message_uuids=[STRANGE]),
        lifecycle(STRANGE, "completed"),
    )
    assert opened == TurnOpened(native_id="", prompt_id=None, cause="schedule_wakeup")
    assert isinstance(closed, TurnClosed)


async def test_a_prompt_that_joins_a_turn_of_the_harness_makes_that_turn_ours(
    connection: ClaudeCodeConnection, pipe: Pipe
) -> None:
    assert told(connection, INIT) == [
        TurnOpened(native_id="", prompt_id=None, cause="the harness began a turn by itself")
    ]
    await sent(connection, pipe, PROMPT)
    assert told(connection, lifecycle(PROMPT, "started")) == [TurnOpened(native_id=PROMPT, prompt_id=PROMPT)]
    [closed] = told(connection, result(user_message_uuids=[PROMPT]))
    assert isinstance(closed, TurnClosed)
    assert closed.native_id == PROMPT


async def test_an_interrupt_of_a_turn_of_the_harness_does_not_drop_the_prompt_behind_it(
    connection: ClaudeCodeConnection, pipe: Pipe
) -> None:
    told(connection, INIT)
    await sent(connection, pipe, PROMPT)
    await interrupted(connection, pipe)
    assert pipe.sent[-1]["request"] == {"subtype": "interrupt", "cancel_queued": False}
    events = told(connection, result(terminal_reason="aborted_streaming"), lifecycle(PROMPT, "started"))
    assert events[-1] == TurnOpened(native_id=PROMPT, prompt_id=PROMPT)


async def interrupted(
    connection: ClaudeCodeConnection, pipe: Pipe, *, cancelled: tuple[str, ...] = ()
) -> list[NativeEvent]:
    events: list[NativeEvent] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.interrupt)
        await pipe.reaches(len(pipe.sent) + 1)
        receipt = {"still_queued": [], "cancelled": list(cancelled)}
        answer = {"subtype": "success", "request_id": pipe.sent[-1]["request_id"], "response": receipt}
        events += told(connection, {"type": "control_response", "response": answer})
    return events


async def test_a_prompt_that_is_dropped_before_it_runs_still_has_an_end(
    connection: ClaudeCodeConnection, pipe: Pipe
) -> None:
    await sent(connection, pipe, PROMPT)
    opened, closed = told(connection, lifecycle(PROMPT, "cancelled"))
    assert opened == TurnOpened(native_id=PROMPT, prompt_id=PROMPT)
    assert isinstance(closed, TurnClosed)
    assert (closed.status, closed.native_status) == (TurnStatus.INTERRUPTED, "cancelled")


async def test_a_steer_that_only_the_receipt_names_is_cancelled(
    connection: ClaudeCodeConnection, pipe: Pipe
) -> None:
    await sent(connection, pipe, PROMPT)
    told(connection, lifecycle(PROMPT, "started"))
    await sent(connection, pipe, STEER, steer=True)
    [moved] = await interrupted(connection, pipe, cancelled=(STEER,))
    assert moved == SteerMoved(
        steer_id=STEER, progress=SteerProgress.CANCELLED, evidence="interrupt receipt: cancelled"
    )
    assert told(connection, lifecycle(STEER, "cancelled")) == []


async def test_a_steer_is_delivered_by_the_result_that_lists_it_when_nothing_else_showed_it(
    connection: ClaudeCodeConnection, pipe: Pipe
) -> None:
    await sent(connection, pipe, PROMPT)
    told(connection, lifecycle(PROMPT, "started"))
    await sent(connection, pipe, STEER, steer=True)
    told(connection, lifecycle(STEER, "started"))
    moved, closed = told(connection, result(user_message_uuids=[PROMPT, STEER]))
    assert moved == SteerMoved(
        steer_id=STEER, progress=SteerProgress.DELIVERED, evidence="result.user_message_uuids"
    )
    assert isinstance(closed, TurnClosed)


async def test_a_steer_that_joined_but_that_no_request_held_is_queued(
    connection: ClaudeCodeConnection, pipe: Pipe
) -> None:
    await sent(connection, pipe, PROMPT)
    told(connection, lifecycle(PROMPT, "started"))
    await sent(connection, pipe, STEER, steer=True)
    told(connection, lifecycle(STEER, "started"))
    assert told(connection, lifecycle(STEER, "cancelled")) == []
    moved, _ = told(connection, result(terminal_reason="aborted_tools", user_message_uuids=[PROMPT]))
    assert isinstance(moved, SteerMoved)
    assert moved.progress is SteerProgress.QUEUED


async def test_a_message_that_the_harness_refuses_is_rejected(
    connection: ClaudeCodeConnection, pipe: Pipe
) -> None:
    async def steer() -> None:
        with pytest.raises(SteerRejected) as rejected:
            await connection.steer(STEER, "text")
        assert rejected.value.by == "harness"

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(steer)
        await pipe.reaches(1)
        told(connection, lifecycle(STEER, "refused"))


@pytest.mark.parametrize(
    ("about", "status", "reason"),
    [
        ({}, TurnStatus.COMPLETED, "completed"),
        ({"terminal_reason": None}, TurnStatus.COMPLETED, "completed"),
        ({"is_error": True}, TurnStatus.FAILED, "completed: fine"),
        (
            {
                "is_error": True,
                "terminal_reason": "api_error",
                "api_error_status": 401,
                "result": "API Error: no",
            },
            TurnStatus.FAILED,
            "api_error, status 401: API Error: no",
        ),
        ({"terminal_reason": "max_turns"}, TurnStatus.FAILED, "max_turns: fine"),
        (
            {"terminal_reason": "brand_new", "result": None, "errors": ["a", "b"]},
            TurnStatus.FAILED,
            "brand_new: a; b",
        ),
        (
            {"subtype": "error_during_execution", "terminal_reason": None, "result": None},
            TurnStatus.FAILED,
            "error_during_execution: without a message",
        ),
        (
            {"subtype": "error_during_execution", "is_error": True, "terminal_reason": "aborted_streaming"},
            TurnStatus.INTERRUPTED,
            "interrupted (aborted_streaming)",
        ),
        ({"terminal_reason": "aborted_tools"}, TurnStatus.INTERRUPTED, "interrupted (aborted_tools)"),
    ],
)
async def test_how_a_turn_ended(
    connection: ClaudeCodeConnection, about: Json, status: TurnStatus, reason: str
) -> None:
    told(connection, INIT)
    [closed] = told(connection, result(**about))
    assert isinstance(closed, TurnClosed)
    assert (closed.status, closed.reason) == (status, reason)


async def test_text_with_half_a_surrogate_pair_is_refused_before_anything_is_sent(
    connection: ClaudeCodeConnection, pipe: Pipe
) -> None:
    with pytest.raises(BadRequest):
        await connection.start_turn(PROMPT, "half \ud83d of it")
    assert pipe.sent == []


@pytest.mark.parametrize("text", ["/help", " /help", "\n\t/tmp/x is wrong", "\ufeff/x", "\u2028/x"])
async def test_a_leading_slash_is_sent_as_text_in_front_of_a_second_block(
    connection: ClaudeCodeConnection, pipe: Pipe, text: str
) -> None:
    await said(connection, pipe, text)
    assert pipe.sent[0]["message"]["content"] == [
        {"type": "text", "text": text},
        {"type": "text", "text": "\n"},
    ]


@pytest.mark.parametrize("text", ["plain", "!ls", "#note", "@file", "-x", "a /b", "\u200b/x", ""])
async def test_any_other_text_is_sent_as_it_is(
    connection: ClaudeCodeConnection, pipe: Pipe, text: str
) -> None:
    await said(connection, pipe, text)
    assert pipe.sent[0]["message"]["content"] == text


async def said(connection: ClaudeCodeConnection, pipe: Pipe, text: str) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.start_turn, PROMPT, text)
        await pipe.reaches(1)
        told(connection, lifecycle(PROMPT, "queued"))


STDERR = {
    "No conversation found with session ID: 759f": SessionNotFound,
    "Error: Session ID 759f is already in use.": HandshakeFailed,
    "Segmentation fault": HarnessDied,
}


@pytest.mark.parametrize("words", STDERR)
async def test_a_process_that_dies_while_it_opens_is_told_by_its_last_words(
    connection: ClaudeCodeConnection, pipe: Pipe, words: str
) -> None:
    async def open_() -> None:
        with pytest.raises(STDERR[words]):
            await connection.open()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(open_)
        await pipe.reaches(1)
        connection.fail_calls(HarnessDied("it ended", status="exit status 1", stderr=words))


@pytest.mark.parametrize(
    "reply",
    [
        {"subtype": "success", "response": {}},
        {"subtype": "success", "response": {"claude_code_version": 5}},
        {"subtype": "error", "error": "Unsupported control request subtype: initialize"},
    ],
)
async def test_an_answer_that_is_no_handshake_is_a_typed_error(
    connection: ClaudeCodeConnection, pipe: Pipe, reply: Json
) -> None:
    async def open_() -> None:
        with pytest.raises(HandshakeFailed):
            await connection.open()

    def answers() -> Iterator[Json]:
        yield reply
        yield {"subtype": "success", "response": {"state": {"rules": []}}}

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(open_)
        for number, answer in enumerate(answers()):
            with anyio.move_on_after(0.2):
                await pipe.reaches(number + 1)
                whole = {**answer, "request_id": pipe.sent[number]["request_id"]}
                told(connection, {"type": "control_response", "response": whole})


async def test_a_refused_interrupt_is_a_typed_error(connection: ClaudeCodeConnection, pipe: Pipe) -> None:
    async def interrupt() -> None:
        with pytest.raises(CallRefused) as refused:
            await connection.interrupt()
        assert (refused.value.code, refused.value.message) == ("unsupported_request", "no")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(interrupt)
        await pipe.reaches(1)
        reply = {
            "subtype": "error",
            "request_id": pipe.sent[0]["request_id"],
            "error": "no",
            "error_code": "unsupported_request",
        }
        told(connection, {"type": "control_response", "response": reply})
