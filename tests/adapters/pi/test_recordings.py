"""What the adapter makes of recordings of pi 1.6.0, and that it sends what was sent when they were made."""

from __future__ import annotations

import pytest

from checkrein.adapters.native import (
    Asked,
    Notice,
    NoticeKind,
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
from tests.adapters.pi.replayed_process import replay

pytestmark = pytest.mark.anyio

RECORDINGS = (
    ("denied", Policy.ASK),
    ("interrupt-approval-open", Policy.ASK),
    ("interrupt-tool-running", Policy.AUTO),
    ("interrupt-with-steer-queued", Policy.AUTO),
    ("model-500", Policy.AUTO),
    ("three-steers-mid-tool", Policy.AUTO),
)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(("name", "policy"), RECORDINGS)
async def test_the_same_is_sent_nothing_is_unknown_and_every_turn_is_opened_and_closed(
    name: str, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    replayed = await replay(name, monkeypatch, policy=policy)
    assert replayed.sent == replayed.recorded
    assert replayed.opened is not None
    assert replayed.opened.policy_asked == replayed.opened.policy_effective
    assert replayed.opened.version == "1.6.0"
    unknown = (NoticeKind.UNKNOWN_MESSAGE, NoticeKind.STRAY_OUTPUT, NoticeKind.REFUSED_QUESTION)
    assert [notice for notice in replayed.of(Notice) if notice.kind in unknown] == []
    assert len(replayed.of(TurnOpened)) == len(replayed.of(TurnClosed)) >= 1
    started = [event.call.call_id for event in replayed.of(ToolStarted)]
    assert sorted(started) == sorted(event.call_id for event in replayed.of(ToolFinished))


async def test_a_denied_call(monkeypatch: pytest.MonkeyPatch) -> None:
    replayed = await replay("denied", monkeypatch)
    [asked] = replayed.of(Asked)
    call = asked.question.call
    assert (call.call_id, call.kind, call.command, call.cwd) == (
        "call_touch",
        ToolKind.COMMAND,
        "touch forbidden.txt",
        "/workspace",
    )
    [finished] = replayed.of(ToolFinished)
    assert finished.status is ToolStatus.DECLINED
    assert "open a branch “first”" in finished.output


async def test_three_steers_are_delivered_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    replayed = await replay("three-steers-mid-tool", monkeypatch, policy=Policy.AUTO)
    moves = [(move.steer_id, move.progress) for move in replayed.of(SteerMoved)]
    steers = [f"steer {message['id']}" for message in replayed.recorded if message["type"] == "steer"]
    assert len(steers) == 3
    assert moves == [
        *((steer, SteerProgress.ACCEPTED) for steer in steers),
        *((steer, SteerProgress.DELIVERED) for steer in steers),
    ]
    [closed] = replayed.of(TurnClosed)
    assert closed.status is TurnStatus.COMPLETED


async def test_an_interrupt_takes_back_what_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    replayed = await replay("interrupt-with-steer-queued", monkeypatch, policy=Policy.AUTO)
    progress = [move.progress for move in replayed.of(SteerMoved)]
    assert progress == [SteerProgress.ACCEPTED, SteerProgress.CANCELLED]
    assert replayed.of(TurnClosed)[0].status is TurnStatus.INTERRUPTED


async def test_an_interrupt_while_tools_run(monkeypatch: pytest.MonkeyPatch) -> None:
    replayed = await replay("interrupt-tool-running", monkeypatch, policy=Policy.AUTO)
    results = {event.call_id: event.status for event in replayed.of(ToolFinished)}
    assert results == {"call_done": ToolStatus.OK, "call_open": ToolStatus.ABORTED}
    closed = [(event.status, event.native_status) for event in replayed.of(TurnClosed)]
    assert closed[0] == (TurnStatus.INTERRUPTED, "aborted")


async def test_an_interrupt_while_a_question_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    replayed = await replay("interrupt-approval-open", monkeypatch)
    assert len(replayed.of(Asked)) == 1
    assert replayed.of(TurnClosed)[0].status is TurnStatus.INTERRUPTED


async def test_failed_answers_are_tried_again_and_the_last_one_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    replayed = await replay("model-500", monkeypatch, policy=Policy.AUTO)
    statuses = [event.status for event in replayed.of(TurnClosed)]
    assert statuses == [TurnStatus.COMPLETED, TurnStatus.FAILED, TurnStatus.COMPLETED]
    assert "500" in replayed.of(TurnClosed)[1].reason
    retries = [notice for notice in replayed.of(Notice) if notice.kind is NoticeKind.RETRY]
    assert len(retries) == 3
    texts = [event.text for event in replayed.of(TextDone)]
    assert texts == ["Second try.", "Works again."]
    assert "".join(event.text for event in replayed.of(TextDelta)) == "".join(texts)
    assert [event.usage.input_tokens for event in replayed.of(UsageReported)] == [100, 100]
