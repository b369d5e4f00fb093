"""What the adapter makes of agents that differ where ACP leaves the choice, and what it sends them."""

from __future__ import annotations

import pytest

from checkrein.adapters.errors import (
    ApprovalStale,
    CallExpired,
    HandshakeFailed,
    SessionNotFound,
    SteerReason,
    SteerRejected,
    TurnActive,
    Unsupported,
)
from checkrein.adapters.interface import Decision, DecisionKind, Origin
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
    Usage,
    UsageReported,
    UsageScope,
)
from tests.adapters.acp.played_agent import SESSION, Message, PlayedAgent, spec

pytestmark = pytest.mark.anyio

ALLOW, DENY = Decision(kind=DecisionKind.ALLOW), Decision(kind=DecisionKind.DENY)
ALWAYS = Decision(kind=DecisionKind.ALLOW_ALWAYS)

#: In an order, and with ids, that say nothing.
OPTIONS = (
    ("3", "allow_always"),
    ("1", "reject_always"),
    ("2", "reject_once"),
    ("0", "allow_once"),
)


def selected(option: str) -> Message:
    return {"outcome": {"outcome": "selected", "optionId": option}}


CANCELLED: Message = {"outcome": {"outcome": "cancelled"}}


@pytest.mark.parametrize(
    ("decision", "option"),
    [(ALLOW, "0"), (ALWAYS, "0"), (DENY, "2")],
    ids=lambda value: value.kind.value if isinstance(value, Decision) else value,
)
async def test_a_question_is_answered_by_the_kind_of_an_option(decision: Decision, option: str) -> None:
    agent = PlayedAgent()
    await agent.begin()
    agent.asks("q", *OPTIONS)
    [asked] = agent.of(Asked)
    await agent.connection.answer(asked.question, decision)
    assert agent.answer_to("q")["result"] == selected(option)


async def test_an_answer_that_would_last_is_never_given() -> None:
    agent = PlayedAgent()
    await agent.begin()
    agent.asks("q", ("only", "allow_always"))
    await agent.connection.answer(agent.of(Asked)[0].question, ALLOW)
    assert agent.answer_to("q")["result"] == CANCELLED


async def test_a_question_is_answered_with_the_id_that_it_had() -> None:
    agent = PlayedAgent()
    await agent.begin()
    agent.asks(1, *OPTIONS)
    agent.asks("1", *OPTIONS)
    first, second = (asked.question for asked in agent.of(Asked))
    await agent.connection.answer(second, DENY)
    assert agent.sent[-1]["id"] == "1"
    await agent.connection.answer(first, ALLOW)
    assert agent.sent[-1]["id"] == 1
    with pytest.raises(ApprovalStale):
        await agent.connection.answer(first, ALLOW)


async def test_a_question_has_what_updates_said_of_its_call() -> None:
    agent = PlayedAgent()
    await agent.begin()
    raw: Message = {"command": "make all", "cwd": "/workspace/sub"}
    agent.updates({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "execute", "rawInput": raw})
    agent.asks(9, *OPTIONS, call={"toolCallId": "c", "title": "Run make"})
    call = agent.of(Asked)[0].question.call
    assert (call.kind, call.command, call.cwd) == (ToolKind.COMMAND, "make all", "/workspace/sub")


@pytest.mark.parametrize(
    "method", ["fs/read_text_file", "terminal/create", "elicitation/create", "_hologram/look"]
)
async def test_what_was_not_offered_is_refused_in_the_protocols_shape(method: str) -> None:
    agent = PlayedAgent()
    await agent.begin()
    agent.says({"id": 4, "method": method, "params": {}})
    error = agent.answer_to(4)["error"]
    assert isinstance(error, dict)
    assert error["code"] == -32601
    assert [notice.kind for notice in agent.of(Notice)] == [NoticeKind.REFUSED_QUESTION]


async def test_a_permission_that_cannot_be_read_is_refused() -> None:
    agent = PlayedAgent()
    await agent.begin()
    agent.says({"id": 4, "method": "session/request_permission", "params": {"options": 5}})
    error = agent.answer_to(4)["error"]
    assert isinstance(error, dict)
    assert error["code"] == -32602


async def test_no_client_capability_is_offered() -> None:
    agent = PlayedAgent()
    await agent.open()
    params = agent.got("initialize")[0]["params"]
    assert isinstance(params, dict)
    assert params["clientCapabilities"] == {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
    }


# ---- turns ------------------------------------------------------------------------------------------------


async def test_a_turn_is_open_when_the_prompt_was_read_and_closed_by_its_answer() -> None:
    agent = PlayedAgent()
    await agent.begin()
    assert [opened.prompt_id for opened in agent.of(TurnOpened)] == ["turn"]
    agent.text("Hel")
    agent.text("lo.")
    assert agent.of(TextDone) == []
    agent.ends()
    assert [done.text for done in agent.of(TextDone)] == ["Hello."]
    [closed] = agent.of(TurnClosed)
    assert (closed.status, closed.native_status) == (TurnStatus.COMPLETED, "end_turn")


async def test_a_prompt_that_is_not_read_expires() -> None:
    agent = PlayedAgent()
    await agent.open()
    agent.answers = {}
    with pytest.raises(CallExpired):
        await agent.connection.start_turn("turn", "go")


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("cancelled", TurnStatus.INTERRUPTED),
        ("max_tokens", TurnStatus.FAILED),
        ("max_turn_requests", TurnStatus.FAILED),
        ("refusal", TurnStatus.FAILED),
        ("of_a_later_version", TurnStatus.FAILED),
    ],
)
async def test_how_a_turn_ended_is_the_agents_word(word: str, status: TurnStatus) -> None:
    agent = PlayedAgent()
    await agent.begin()
    agent.ends(word)
    assert [(closed.status, closed.native_status) for closed in agent.of(TurnClosed)] == [(status, word)]


async def test_a_prompt_that_is_answered_with_an_error_has_failed_for_its_reason() -> None:
    agent = PlayedAgent()
    await agent.begin()
    error = {"code": -32603, "message": "Internal error", "data": {"details": "the model answered 401"}}
    agent.says({"id": agent.prompt_id, "error": error})
    [closed] = agent.of(TurnClosed)
    assert (closed.status, closed.reason) == (
        TurnStatus.FAILED,
        "Internal error: the model answered 401",
    )


async def test_a_second_prompt_is_not_sent() -> None:
    agent = PlayedAgent(declared={"prompt_while_running": "replace"})
    await agent.begin()
    with pytest.raises(TurnActive, match="replace"):
        await agent.connection.start_turn("another", "go")
    assert len(agent.got("session/prompt")) == 1


async def test_what_comes_before_the_prompt_can_be_read_is_of_the_turn_before() -> None:
    agent = PlayedAgent()
    await agent.begin("first")
    agent.text("One.")
    agent.updates({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "execute"})
    agent.ends()

    def last_messages_again() -> None:
        agent.text("One.")
        agent.updates({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "execute"})

    agent.before["_checkrein/before_prompt"] = last_messages_again
    await agent.connection.start_turn("second", "again")
    agent.text("Two.")
    agent.ends()
    assert [delta.text for delta in agent.of(TextDelta)] == ["One.", "Two."]
    assert len(agent.of(ToolStarted)) == 1


async def test_what_comes_late_is_no_turn() -> None:
    agent = PlayedAgent()
    await agent.begin()
    agent.shows("go", "m1")
    agent.ends()
    agent.shows("go", "m1")
    agent.text("late")
    agent.updates({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "execute"})
    agent.says({"id": agent.prompt_id, "result": {"stopReason": "end_turn"}})
    assert len(agent.of(TurnOpened)) == len(agent.of(TurnClosed)) == 1
    assert agent.of(TextDelta) == agent.of(ToolStarted) == []


async def test_a_prompt_that_nobody_sent_is_a_turn_of_the_agents_own() -> None:
    agent = PlayedAgent()
    await agent.open()
    agent.shows("I was told to", "m1")
    [opened] = agent.of(TurnOpened)
    assert opened.prompt_id is None
    await agent.connection.interrupt()
    assert len(agent.got("session/cancel")) == 1
    agent.says({"id": "its own", "result": {"stopReason": "cancelled"}})
    assert [closed.status for closed in agent.of(TurnClosed)] == [TurnStatus.INTERRUPTED]


async def test_what_a_session_says_while_it_is_loaded_is_a_replay() -> None:
    agent = PlayedAgent(able={"loadSession": True}, asked=spec(origin=Origin.RESUME))
    agent.shows("long ago")
    opened = await agent.open()
    assert opened.session_id == SESSION
    assert agent.events == []


async def test_a_request_that_is_tried_again_voids_what_was_said() -> None:
    agent = PlayedAgent(declared={"retry_notification": "_played/retrying"})
    await agent.begin()
    agent.text("half of")
    agent.says({"method": "_played/retrying", "params": {"message": "500"}})
    agent.text("Whole.")
    agent.ends()
    assert [(notice.kind, notice.text) for notice in agent.of(Notice)] == [(NoticeKind.RETRY, "500")]
    assert [done.text for done in agent.of(TextDone)] == ["Whole."]


@pytest.mark.parametrize(
    ("count", "scope"),
    [("turn", UsageScope.TURN), ("session", UsageScope.CUMULATIVE), ("unknown", None)],
)
async def test_usage_counts_what_the_declaration_says(count: str, scope: UsageScope | None) -> None:
    agent = PlayedAgent(declared={"usage": count})
    await agent.begin()
    agent.ends(
        usage={"totalTokens": 17, "inputTokens": 5, "cachedReadTokens": 10, "outputTokens": 2},
    )
    used = Usage(input_tokens=15, cached_tokens=10, output_tokens=2)
    expected = [] if scope is None else [UsageReported(usage=used, scope=scope)]
    assert agent.of(UsageReported) == expected


async def test_a_call_comes_in_pieces_and_has_one_result() -> None:
    agent = PlayedAgent()
    await agent.begin()
    text = {"type": "content", "content": {"type": "text", "text": "made"}}
    agent.updates(
        {"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "execute", "title": "make"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"},
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "c",
            "status": "failed",
            "content": [text],
            "rawOutput": {"exitCode": 2},
        },
        {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"},
    )
    assert [event.call.command for event in agent.of(ToolStarted)] == ["make"]
    assert agent.of(ToolFinished) == [
        ToolFinished(call_id="c", status=ToolStatus.ERROR, output="made", exit_status=2)
    ]


# ---- interrupts -------------------------------------------------------------------------------------------


async def test_an_interrupt_cancels_and_answers_what_is_asked_and_what_is_asked_then() -> None:
    agent = PlayedAgent()
    await agent.begin()
    agent.asks("before", *OPTIONS)
    agent.updates({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "execute"})
    await agent.connection.interrupt()
    assert len(agent.got("session/cancel")) == 1
    assert agent.answer_to("before")["result"] == CANCELLED
    agent.asks("behind", *OPTIONS)
    assert agent.answer_to("behind")["result"] == CANCELLED
    assert len(agent.of(Asked)) == 1
    agent.ends("cancelled")
    assert [event.status for event in agent.of(ToolFinished)] == [ToolStatus.ABORTED]


async def test_without_a_turn_nothing_is_cancelled() -> None:
    agent = PlayedAgent()
    await agent.open()
    await agent.connection.interrupt()
    assert agent.got("session/cancel") == []


async def test_an_agent_that_ends_the_turn_at_a_deny_is_not_told_why() -> None:
    agent = PlayedAgent(declared={"deny": "ends_turn"})
    await agent.begin()
    agent.asks("q", *OPTIONS)
    await agent.connection.answer(
        agent.of(Asked)[0].question, Decision(kind=DecisionKind.DENY, message="not on main")
    )
    assert agent.got("_session/steering") == []
    agent.ends("end_turn")
    assert agent.of(TurnClosed)[0].reason == "the agent ended the turn when a call was denied"
    assert ["did not reach the model" in notice.text for notice in agent.of(Notice)] == [True]


async def test_the_message_of_a_deny_goes_before_the_deny() -> None:
    agent = PlayedAgent()
    await agent.begin()
    agent.asks("q", *OPTIONS)
    await agent.connection.answer(
        agent.of(Asked)[0].question, Decision(kind=DecisionKind.DENY, message="not on main")
    )
    steered, answered = agent.sent[-2:]
    assert steered["method"] == "_session/steering"
    assert answered == {"jsonrpc": "2.0", "id": "q", "result": selected("2")}


# ---- steers -----------------------------------------------------------------------------------------------


async def test_a_steer_is_delivered_when_it_was_shown_and_the_model_answers() -> None:
    agent = PlayedAgent(declared={"steer_shown": True})
    await agent.begin("same text")
    agent.shows("same text")
    await agent.connection.steer("s1", "same text")
    await agent.connection.steer("s2", "another")
    agent.shows("another", "s2")
    agent.shows("same text")
    agent.text("Both.")
    moved = [(event.steer_id, event.progress) for event in agent.of(SteerMoved)]
    assert moved == [
        ("s1", SteerProgress.ACCEPTED),
        ("s2", SteerProgress.ACCEPTED),
        ("s1", SteerProgress.DELIVERED),
        ("s2", SteerProgress.DELIVERED),
    ]


@pytest.mark.parametrize(
    ("shown", "stop_reason", "progress"),
    [
        (False, "end_turn", SteerProgress.DELIVERED),
        (False, "cancelled", SteerProgress.CANCELLED),
        (True, "end_turn", SteerProgress.CANCELLED),
    ],
)
async def test_a_steer_that_was_never_shown(shown: bool, stop_reason: str, progress: SteerProgress) -> None:
    agent = PlayedAgent(declared={"steer_shown": shown})
    await agent.begin()
    await agent.connection.steer("s", "text")
    agent.ends(stop_reason)
    assert [event.progress for event in agent.of(SteerMoved)] == [SteerProgress.ACCEPTED, progress]


async def test_a_steer_that_was_shown_at_the_very_end_is_for_the_next_turn() -> None:
    agent = PlayedAgent(declared={"steer_shown": True})
    await agent.begin()
    await agent.connection.steer("s", "text")
    agent.shows("text", "s")
    agent.ends("cancelled")
    assert agent.of(SteerMoved)[-1].progress is SteerProgress.QUEUED


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"outcome": "promptRequired", "reason": "noRunningTurn"}, SteerReason.TURN_ENDED),
        ({"outcome": "failed"}, SteerReason.NOT_STEERABLE),
        ({"error": {"code": -32601, "message": "no such method"}}, SteerReason.UNSUPPORTED),
    ],
)
async def test_a_steer_that_the_agent_refuses(answer: Message, reason: SteerReason) -> None:
    agent = PlayedAgent(answers={"_session/steering": answer})
    await agent.begin()
    with pytest.raises(SteerRejected) as rejected:
        await agent.connection.steer("s", "text")
    assert (rejected.value.reason, rejected.value.by) == (reason, "harness")
    agent.ends()
    assert agent.of(SteerMoved) == []


async def test_an_agent_that_does_not_offer_steering_is_not_steered() -> None:
    agent = PlayedAgent(steers=False)
    await agent.begin()
    with pytest.raises(SteerRejected) as rejected:
        await agent.connection.steer("s", "text")
    assert (rejected.value.reason, rejected.value.by) == (SteerReason.UNSUPPORTED, "adapter")
    assert agent.got("_session/steering") == []


async def test_a_late_refusal_of_a_steer_is_told() -> None:
    agent = PlayedAgent()
    await agent.begin()
    del agent.answers["_session/steering"]
    with pytest.raises(CallExpired):
        await agent.connection.steer("s", "text")
    request = agent.got("_session/steering")[0]
    agent.says({"id": request["id"], "result": {"outcome": "promptRequired"}})
    assert [event.progress for event in agent.of(SteerMoved)] == [SteerProgress.CANCELLED]


# ---- opening ----------------------------------------------------------------------------------------------


async def test_the_policy_in_force_is_the_mode_that_the_agent_states() -> None:
    agent = PlayedAgent(declared={"policies": {"ask": {"mode": "careful"}}}, mode="bold")
    opened = await agent.open()
    assert (opened.policy_asked, opened.policy_effective) == ({"mode": "careful"}, {"mode": "bold"})
    assert opened.version == "7"


@pytest.mark.parametrize("says", ["careful", "bold"])
async def test_a_mode_that_is_set_is_in_force_unless_the_agent_says_otherwise(says: str) -> None:
    agent = PlayedAgent(
        declared={"policies": {"ask": {"mode": "careful", "set_mode": True}}},
        mode="bold",
        answers={"session/set_mode": {}},
    )
    if says == "bold":
        stated: Message = {"sessionUpdate": "current_mode_update", "currentModeId": "bold"}
        agent.before["session/set_mode"] = lambda: agent.updates(stated)
    opened = await agent.open()
    assert opened.policy_effective == {"mode": says}


async def test_a_policy_that_is_not_declared_cannot_be_asked_for() -> None:
    with pytest.raises(Unsupported):
        await PlayedAgent(declared={"policies": {"auto": {}}}).open()


async def test_another_version_of_the_protocol_is_no_handshake() -> None:
    with pytest.raises(HandshakeFailed):
        await PlayedAgent(answers={"initialize": {"protocolVersion": 2}}).open()


@pytest.mark.parametrize(
    "error", [{"code": -32002, "message": "gone"}, {"code": -32603, "message": "Invalid session"}]
)
async def test_a_session_that_does_not_exist(error: Message) -> None:
    agent = PlayedAgent(
        declared={"unknown_session": ["Invalid session"]},
        able={"loadSession": True},
        answers={"session/load": {"error": error}},
        asked=spec(origin=Origin.RESUME),
    )
    with pytest.raises(SessionNotFound):
        await agent.open()


@pytest.mark.parametrize("origin", [Origin.RESUME, Origin.FORK])
async def test_what_the_agent_does_not_offer_is_not_asked_for(origin: Origin) -> None:
    agent = PlayedAgent(asked=spec(origin=origin))
    with pytest.raises(Unsupported):
        await agent.open()
    assert [message["method"] for message in agent.sent] == ["initialize"]
