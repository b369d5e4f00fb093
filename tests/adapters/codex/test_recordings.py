"""Recordings of the real app-server 0.171.0, replayed: what is sent is what was sent, and which events come of it."""

from __future__ import annotations

import re
from typing import cast

import pytest

from checkrein.adapters.interface import Origin
from checkrein.adapters.native import (
    Asked,
    BackgroundJob,
    Notice,
    NoticeKind,
    QuestionVoided,
    SteerMoved,
    SteerProgress,
    TextDelta,
    TextDone,
    ToolFinished,
    ToolKind,
    ToolStarted,
    ToolStatus,
    TurnClosed,
    TurnOpened,
    TurnStatus,
    UsageReported,
)
from checkrein.adapters.policy import Policy
from tests.adapters.codex.replayed_process import Message, Replay, replay, spec

pytestmark = pytest.mark.anyio

RECORDINGS = {
    "basic": spec(),
    "approvals": spec(),
    "interrupt-with-question-open": spec(),
    "failed-after-retries": spec(),
    "steer-mid-text": spec(),
    "steer-mid-tool": spec(policy=Policy.AUTO),
    "steer-dropped-by-interrupt": spec(policy=Policy.AUTO),
    "steer-then-interrupt-before-answer": spec(policy=Policy.AUTO),
    "background-command": spec(policy=Policy.AUTO),
}


async def replayed(name: str) -> Replay:
    return await replay(name, RECORDINGS[name])


@pytest.mark.parametrize("name", sorted(RECORDINGS))
async def test_what_is_sent_is_what_was_sent_to_the_real_one(name: str) -> None:
    run = await replayed(name)
    assert run.failures == []
    assert [_steady(message) for message in run.sent] == [_steady(message) for message in run.recorded]
    assert run.of(Notice) == [] or name in ("failed-after-retries", "basic") or _only_warnings(run)


async def test_a_turn_is_opened_told_and_closed_in_this_order() -> None:
    run = await replayed("basic")
    assert run.opened is not None
    assert run.opened.policy_asked == run.opened.policy_effective
    assert run.opened.version == "0.171.0"
    told = [event for event in run.events if not isinstance(event, Notice)]
    kinds = [type(event) for event in told]
    assert kinds[:2] == [UsageReported, TurnOpened]
    assert set(kinds[2:-3]) == {TextDelta}
    assert kinds[-3:] == [TextDone, UsageReported, TurnClosed]
    assert "".join(event.text for event in told if isinstance(event, TextDelta)) == "hello there"
    closed = told[-1]
    assert isinstance(closed, TurnClosed)
    assert (closed.status, closed.native_status) == (TurnStatus.COMPLETED, "completed")


async def test_a_turn_is_known_by_the_id_of_the_prompt() -> None:
    run = await replayed("basic")
    (opened,) = run.of(TurnOpened)
    assert isinstance(opened, TurnOpened)
    prompts = [
        _params(message)["clientUserMessageId"] for message in run.recorded if _is(message, "turn/start")
    ]
    assert [opened.prompt_id] == prompts


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("steer-mid-tool", SteerProgress.DELIVERED),
        ("steer-mid-text", SteerProgress.DELIVERED),
        ("steer-dropped-by-interrupt", SteerProgress.CANCELLED),
        ("steer-then-interrupt-before-answer", SteerProgress.QUEUED),
    ],
)
async def test_a_steer_is_accepted_and_then_comes_to_its_end(name: str, end: SteerProgress) -> None:
    run = await replayed(name)
    moves = [event.progress for event in run.events if isinstance(event, SteerMoved)]
    assert moves == [SteerProgress.ACCEPTED, end]


async def test_a_steer_is_delivered_only_after_a_later_answer_of_the_model() -> None:
    run = await replayed("steer-mid-text")
    (delivered,) = [
        event
        for event in run.events
        if isinstance(event, SteerMoved) and event.progress is SteerProgress.DELIVERED
    ]
    before = run.events[: run.events.index(delivered)]
    assert "".join(event.text for event in before if isinstance(event, TextDelta)) == "dropped "


async def test_each_question_holds_its_call_and_each_call_its_result() -> None:
    run = await replayed("approvals")
    calls = [event.question.call for event in run.events if isinstance(event, Asked)]
    assert [call.call_id for call in calls] == ["c1", "c2", "p1", "c3"]
    assert [call.kind for call in calls] == [
        ToolKind.COMMAND,
        ToolKind.COMMAND,
        ToolKind.EDIT,
        ToolKind.COMMAND,
    ]
    assert calls[0].command == "/bin/bash -lc 'echo one > one.txt'"
    assert calls[0].cwd == "/workspace"
    assert calls[2].paths == ("/workspace/new.txt",)
    assert "text" in (calls[2].change or "")
    results = {event.call_id: event for event in run.events if isinstance(event, ToolFinished)}
    assert {call: result.status for call, result in results.items()} == {
        "c1": ToolStatus.OK,
        "c2": ToolStatus.DECLINED,
        "p1": ToolStatus.OK,
        "c3": ToolStatus.ERROR,
    }
    assert results["c3"].exit_status == 3
    assert run.of(QuestionVoided) == []


async def test_an_interrupt_voids_the_question_that_is_open() -> None:
    run = await replayed("interrupt-with-question-open")
    assert run.of(QuestionVoided) == [QuestionVoided(question_id="0")]
    (closed,) = run.of(TurnClosed)
    assert isinstance(closed, TurnClosed)
    assert closed.status is TurnStatus.INTERRUPTED
    (finished,) = run.of(ToolFinished)
    assert isinstance(finished, ToolFinished)
    assert finished.status is ToolStatus.ABORTED


async def test_an_aborted_command_is_told_with_what_it_printed_once_it_is_dead() -> None:
    run = await replayed("steer-dropped-by-interrupt")
    assert run.events[-1] == ToolFinished(call_id="c1", status=ToolStatus.ABORTED, output="begun\n")
    assert run.of(BackgroundJob) == []


async def test_a_command_that_the_model_left_running_becomes_a_job() -> None:
    run = await replayed("background-command")
    first_end = next(event for event in run.events if isinstance(event, TurnClosed))
    before = run.events[: run.events.index(first_end)]
    assert BackgroundJob(job_id="b1", alive=True) in before
    assert [event.call_id for event in before if isinstance(event, ToolFinished)] == ["b1"]
    assert [event.call.call_id for event in run.events if isinstance(event, ToolStarted)] == ["b1"]


async def test_retries_are_notices_and_the_failure_holds_status_and_message() -> None:
    run = await replayed("failed-after-retries")
    retries = [event for event in run.events if isinstance(event, Notice) and event.kind is NoticeKind.RETRY]
    assert len(retries) == 3
    (closed,) = run.of(TurnClosed)
    assert isinstance(closed, TurnClosed)
    assert closed.status is TurnStatus.FAILED
    assert "HTTP 503" in closed.reason
    assert "busy" in closed.reason


async def test_a_resume_tells_where_the_count_stood() -> None:
    run = await replay("resumed", spec(origin=Origin.RESUME, session_id=_resumed_id()))
    assert run.failures == []
    reports = [event for event in run.events if isinstance(event, UsageReported)]
    assert [(event.baseline, event.usage.input_tokens, event.usage.output_tokens) for event in reports] == [
        (True, 1000, 50),
        (False, 2100, 57),
    ]


def _resumed_id() -> str:
    from importlib.resources import files

    text = files("checkrein.fixtures").joinpath("wire", "codex", "resumed-0.171.0.jsonl").read_text()
    found = re.search(r'"thread/resume","params":\{"cwd".*?"threadId":"([^"]+)"', text)
    assert found is not None
    return found[1]


def _params(message: Message) -> Message:
    return cast("Message", message.get("params", {}))


def _is(message: Message, method: str) -> bool:
    return message.get("method") == method


def _only_warnings(run: Replay) -> bool:
    return all(isinstance(event, Notice) and event.kind is NoticeKind.WARNING for event in run.of(Notice))


def _steady(message: Message) -> Message:
    """The message without the id that the adapter makes up for the message of a deny."""
    params = _params(message)
    if str(params.get("clientUserMessageId")).startswith("deny-"):
        return {**message, "params": {**params, "clientUserMessageId": "deny"}}
    return message
