"""What the adapter makes of recorded conversations of 2.1.296 and 2.1.332."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeVar

import anyio
import msgspec
import pytest

from checkrein.adapters.errors import ApprovalStale
from checkrein.adapters.interface import Decision, DecisionKind, Opened, Origin
from checkrein.adapters.native import (
    Asked,
    BackgroundJob,
    NativeEvent,
    Notice,
    NoticeKind,
    QuestionVoided,
    SteerMoved,
    SteerProgress,
    TextDelta,
    TextDone,
    ToolFinished,
    ToolStarted,
    ToolStatus,
    TurnClosed,
    TurnOpened,
    TurnStatus,
    Usage,
    UsageReported,
)
from tests.adapters.claude_code.recordings import Pipe, Replay, connected, names, recording

pytestmark = pytest.mark.anyio

E = TypeVar("E", bound=NativeEvent)

BOTH = pytest.mark.parametrize("version", ["2.1.296", "2.1.332"])


def of(events: list[NativeEvent], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def prompts(name: str) -> list[str]:
    rows = [row["message"] for row in recording(name) if row["direction"] == "to_harness"]
    return [message["uuid"] for message in rows if message["type"] == "user"]


def endings(events: list[NativeEvent]) -> list[tuple[TurnStatus, str]]:
    return [(event.status, event.native_status) for event in of(events, TurnClosed)]


@pytest.fixture
async def replay(anyio_backend: str) -> AsyncIterator[Replay]:
    async with anyio.create_task_group() as tasks:
        yield Replay(tasks)
        tasks.cancel_scope.cancel()


async def test_turns_open_and_close_with_the_id_of_their_prompt(replay: Replay) -> None:
    name = "three-turns-last-interrupted-2.1.332"
    events = await replay.play(name)
    opened = of(events, TurnOpened)
    assert [event.prompt_id for event in opened] == prompts(name)
    assert [event.native_id for event in of(events, TurnClosed)] == prompts(name)
    assert endings(events) == [
        (TurnStatus.COMPLETED, "completed"),
        (TurnStatus.COMPLETED, "completed"),
        (TurnStatus.INTERRUPTED, "aborted_streaming"),
    ]
    assert replay.failures == []


async def test_usage_is_told_as_totals_with_the_cached_input_counted(replay: Replay) -> None:
    events = await replay.play("three-turns-last-interrupted-2.1.332")
    totals = [event.usage for event in of(events, UsageReported)]
    assert [(u.input_tokens, u.cached_tokens, u.output_tokens) for u in totals] == [
        (600 + 180 + 5, 180, 60),
        (607 + 183 + 5, 183, 65),
        (618 + 185 + 5, 185, 66),
    ]
    costs = [usage.cost_usd for usage in totals]
    assert costs == [0.003661, pytest.approx(0.0037896), pytest.approx(0.003854)]


async def test_text_and_tools_are_told_once(replay: Replay) -> None:
    events = await replay.play("three-turns-last-interrupted-2.1.332")
    assert [event.text for event in of(events, TextDone)] == ["a", "b", "c", "d", "part"]
    assert "".join(event.text for event in of(events, TextDelta)) == "abcdpart"
    assert [event.call.command for event in of(events, ToolStarted)] == ["echo one", "echo two"]
    finished = of(events, ToolFinished)
    assert [(event.output, event.exit_status) for event in finished] == [("one", 0), ("two", 0)]
    assert {event.call_id for event in finished} == {event.call.call_id for event in of(events, ToolStarted)}


async def test_steers_that_join_the_turn_are_delivered_when_the_model_answers(replay: Replay) -> None:
    name = "two-steers-2.1.332"
    events = await replay.play(name)
    _, first, second = prompts(name)
    assert [(event.steer_id, event.progress) for event in of(events, SteerMoved)] == [
        (first, SteerProgress.ACCEPTED),
        (second, SteerProgress.ACCEPTED),
        (first, SteerProgress.DELIVERED),
        (second, SteerProgress.DELIVERED),
    ]
    assert len(of(events, TurnOpened)) == 1
    delivered = next(n for n, e in enumerate(events) if e == of(events, SteerMoved)[2])
    assert any(isinstance(event, TextDelta) for event in events[delivered:])


async def test_the_exit_status_of_a_command_is_told_when_it_is_known(replay: Replay) -> None:
    events = await replay.play("two-steers-2.1.332")
    names = {event.call.call_id: event.call for event in of(events, ToolStarted)}
    told = {names[e.call_id].command: (e.status, e.exit_status) for e in of(events, ToolFinished)}
    assert told == {
        "grep zzz /dev/null": (ToolStatus.OK, None),  # it found nothing: no error, and no number is told
        None: (ToolStatus.OK, None),
        "false": (ToolStatus.ERROR, 1),
        "exit 3": (ToolStatus.ERROR, 3),
        "until [ -f g ]; do sleep 0.1; done": (ToolStatus.OK, 0),
    }


@BOTH
async def test_a_steer_that_came_too_late_opens_the_next_turn(replay: Replay, version: str) -> None:
    name = f"late-steer-{version}"
    events = await replay.play(name)
    prompt, steer = prompts(name)
    assert [event.prompt_id for event in of(events, TurnOpened)] == [prompt, steer]
    assert [event.progress for event in of(events, SteerMoved)] == [SteerProgress.ACCEPTED]
    assert endings(events) == [(TurnStatus.COMPLETED, "completed")] * 2


@BOTH
async def test_a_denied_call_is_declined_and_the_turn_completes(replay: Replay, version: str) -> None:
    events = await replay.play(f"denied-twice-{version}")
    assert [event.question.call.command for event in of(events, Asked)] == ["touch a", "touch b"]
    finished = of(events, ToolFinished)
    assert [(event.status, event.output) for event in finished] == [
        (ToolStatus.DECLINED, "No: use the other file"),
        (ToolStatus.DECLINED, "second no"),
    ]
    assert endings(events) == [(TurnStatus.COMPLETED, "completed")] * 2
    sent = [line["response"]["response"] for line in replay.pipe.sent if line["type"] == "control_response"]
    assert sent == [
        {"behavior": "deny", "message": "No: use the other file"},
        {"behavior": "deny", "message": "second no"},
    ]


@BOTH
async def test_an_interrupt_keeps_the_finished_result_and_aborts_the_running_call(
    replay: Replay, version: str
) -> None:
    events = await replay.play(f"interrupt-tool-running-{version}")
    assert [event.status for event in of(events, ToolFinished)] == [ToolStatus.OK, ToolStatus.ABORTED]
    assert endings(events) == [(TurnStatus.INTERRUPTED, "aborted_tools"), (TurnStatus.COMPLETED, "completed")]
    [interrupt] = [line["request"] for line in replay.pipe.sent if line["type"] == "control_request"]
    assert interrupt == {"subtype": "interrupt", "cancel_queued": True}


async def test_an_interrupt_voids_the_question_and_cancels_the_queued_steer(replay: Replay) -> None:
    name = "interrupt-approval-open-2.1.332"
    events = await replay.play(name)
    _, steer, _ = prompts(name)
    [asked] = of(events, Asked)
    assert of(events, QuestionVoided) == [QuestionVoided(question_id=asked.question.question_id)]
    assert [(event.steer_id, event.progress) for event in of(events, SteerMoved)] == [
        (steer, SteerProgress.ACCEPTED),
        (steer, SteerProgress.CANCELLED),
    ]
    assert [event.status for event in of(events, ToolFinished)] == [ToolStatus.ABORTED]
    sent = len(replay.pipe.sent)
    with pytest.raises(ApprovalStale):
        await replay.connection.answer(asked.question, Decision(kind=DecisionKind.ALLOW))
    assert len(replay.pipe.sent) == sent


async def test_a_steer_that_had_joined_the_interrupted_turn_was_delivered_and_not_dropped(
    replay: Replay,
) -> None:
    """Its lifecycle says `cancelled` before `result`, but the request held it, and the next one does, too."""
    name = "interrupt-after-steer-joined-2.1.332"
    events = await replay.play(name)
    _, steer, _ = prompts(name)
    assert [(event.steer_id, event.progress, event.evidence) for event in of(events, SteerMoved)] == [
        (steer, SteerProgress.ACCEPTED, "command_lifecycle queued"),
        (steer, SteerProgress.DELIVERED, "result.user_message_uuids"),
    ]


async def test_an_interrupt_right_behind_the_prompt_ends_its_turn(replay: Replay) -> None:
    name = "interrupt-before-request-2.1.332"
    events = await replay.play(name)
    assert [event.prompt_id for event in of(events, TurnOpened)] == prompts(name)
    assert endings(events) == [
        (TurnStatus.INTERRUPTED, "aborted_streaming"),
        (TurnStatus.COMPLETED, "completed"),
    ]


@BOTH
async def test_the_terminal_reason_decides_and_not_the_subtype(replay: Replay, version: str) -> None:
    """A message of priority `now` ends the turn with subtype `success`, is_error false, aborted_tools."""
    events = await replay.play(f"message-of-priority-now-{version}")
    assert endings(events) == [(TurnStatus.INTERRUPTED, "aborted_tools"), (TurnStatus.COMPLETED, "completed")]


async def test_a_refused_key_is_told_as_retries_and_then_as_failure(replay: Replay) -> None:
    events = await replay.play("unauthorized-2.1.332")
    retries = [notice.text for notice in of(events, Notice) if notice.kind is NoticeKind.RETRY]
    assert retries == [
        "model request failed (401, authentication_failed); try 1 of 2",
        "model request failed (401, authentication_failed); try 2 of 2",
    ]
    failed, _ = of(events, TurnClosed)
    assert failed.status is TurnStatus.FAILED
    assert failed.reason.startswith("api_error, status 401: ")
    assert [event.text for event in of(events, TextDone)] == ["b"], "the made-up error text is no answer"


async def test_a_background_job_and_the_turn_that_it_starts_are_told(replay: Replay) -> None:
    name = "background-job-2.1.332"
    events = await replay.play(name)
    assert [(event.job_id, event.alive) for event in of(events, BackgroundJob)] == [
        ("bxngjen0m", True),
        ("bxngjen0m", False),
    ]
    first, last = prompts(name)
    opened = of(events, TurnOpened)
    assert [(event.prompt_id, event.cause) for event in opened] == [
        (first, ""),
        (None, 'Background command "d" completed (exit code 0)'),
        (last, ""),
    ]
    assert len(of(events, TurnClosed)) == 3


async def test_an_answer_of_the_harness_itself_completes_a_turn_without_terminal_reason(
    replay: Replay,
) -> None:
    events = await replay.play("own-commands-2.1.332")
    assert endings(events) == [(TurnStatus.COMPLETED, "success")] * 2


@pytest.mark.parametrize("name", names())
async def test_no_recording_holds_a_message_that_the_adapter_does_not_know(replay: Replay, name: str) -> None:
    events = await replay.play(name)
    kinds = {notice.kind for notice in of(events, Notice)}
    assert not kinds & {NoticeKind.UNKNOWN_MESSAGE, NoticeKind.STRAY_OUTPUT, NoticeKind.WARNING}
    assert len(of(events, TurnOpened)) == len(of(events, TurnClosed)) > 0


async def test_a_resumed_process_tells_where_the_count_stood_before_the_turn(anyio_backend: str) -> None:
    pipe = Pipe()
    connection = connected(pipe, origin=Origin.RESUME)
    rows = [row["message"] for row in recording("resumed-2.1.332") if row["direction"] == "from_harness"]
    replies = {row["response"]["request_id"]: row for row in rows if row["type"] == "control_response"}
    hello, usage = replies["req-1"], replies["req-2"]
    rules = [
        {"behavior": "ask", "source": "flagSettings", "rule": rule}
        for rule in ("Bash(git:*)", "EnterWorktree")
    ]
    listing = {"subtype": "success", "response": {"state": {"rules": rules}}}
    answers = [hello["response"], listing, usage["response"]]
    events: list[NativeEvent] = []
    opens: list[Opened] = []
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:

            async def answer() -> None:
                for number, reply in enumerate(answers):
                    await pipe.reaches(number + 1)
                    reply["request_id"] = pipe.sent[number]["request_id"]
                    events.extend(
                        connection.decode(
                            [msgspec.json.encode({"type": "control_response", "response": reply})]
                        )
                    )

            tasks.start_soon(answer)
            opens.append(await connection.open())
    [opened] = opens
    assert [line["request"]["subtype"] for line in pipe.sent] == [
        "initialize",
        "list_permission_rules",
        "get_usage",
    ]
    assert opened.version == "2.1.332"
    assert opened.policy_asked == opened.policy_effective
    [baseline] = of(events, UsageReported)
    assert baseline.baseline
    assert baseline.usage == Usage(
        input_tokens=618 + 185 + 5, cached_tokens=185, output_tokens=66, cost_usd=0.0038540000000000002
    )
