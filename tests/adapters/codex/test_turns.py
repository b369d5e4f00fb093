"""Turns, steers and interrupts with the real Codex."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from checkrein.adapters import HarnessBinary, OutcomeStatus, SteerState, Turn
from checkrein.adapters.errors import SteerReason, SteerRejected
from checkrein.adapters.native import Notice, TextDelta
from checkrein.scripted_models import ModelSession, Script, Usage, fail, hold, say, sees, shell
from tests.adapters.codex.conftest import OpenCodex

pytestmark = pytest.mark.anyio

Play = Callable[[], ModelSession]


async def test_a_turn_ends_with_the_models_text_and_its_own_usage(
    codex: OpenCodex, script: Script, playing: Play
) -> None:
    script.main([say("first answer")], usage=Usage(input=100, output=10, cached=40))
    script.main([say("second answer")], usage=Usage(input=200, output=20))
    with playing() as model:
        async with codex(model) as session:
            first = await (await session.start("one")).outcome()
            second = await (await session.start("two")).outcome()
    assert (first.status, first.text) == (OutcomeStatus.COMPLETED, "first answer")
    assert (first.usage.input_tokens, first.usage.cached_tokens, first.usage.output_tokens) == (100, 40, 10)
    assert (second.usage.input_tokens, second.usage.output_tokens) == (200, 20)
    assert second.usage.cost_usd is None


async def test_what_runs_is_known_before_the_first_prompt(
    codex: OpenCodex, binary: HarnessBinary, playing: Play, workspace: Path
) -> None:
    with playing() as model:
        async with codex(model) as session:
            opened = session.opened
    assert opened.version == session.harness.version == binary.version
    assert session.harness.sha256 == binary.sha256
    assert opened.policy_effective == {
        "cwd": str(workspace),
        "approvalPolicy": "untrusted",
        "sandbox": "dangerFullAccess",
        "approvalsReviewer": "user",
        "modelProvider": "checkrein",
        "model": "gpt-5.5",
        "instructionSources": "[]",
    }


async def test_a_steer_in_mid_tool_reaches_the_next_request_of_the_turn(
    codex: OpenCodex, script: Script, playing: Play
) -> None:
    tool = script.held_tool("build")
    text = "/keep \u2028 the\nsignature \U0001f40e \"'\\ !"
    script.main([shell(tool)])
    script.main([say("kept")], sees=sees(steer=text))
    with playing() as model:
        async with codex(model, policy="auto") as session:
            turn = await session.start("go")
            await tool.started(timeout=20)
            steer = await turn.steer(text)
            assert steer.state is SteerState.ACCEPTED
            tool.finish()
            outcome = await turn.outcome()
    assert outcome.status is OutcomeStatus.COMPLETED
    assert steer.state is SteerState.DELIVERED
    assert [step.state for step in steer.steps] == [
        SteerState.SENDING,
        SteerState.ACCEPTED,
        SteerState.DELIVERED,
    ]


async def test_a_steer_in_mid_stream_drops_the_answer_and_asks_anew(
    codex: OpenCodex, script: Script, playing: Play
) -> None:
    gate = script.gate("in text", never_opened=True)
    script.main([say("dropped "), hold(gate)])
    script.main([say("new answer")], sees=sees(steer="other way", lacks="dropped"))
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            await _text_seen(turn)
            steer = await turn.steer("other way")
            outcome = await turn.outcome()
    assert outcome.text == "new answer"
    assert steer.state is SteerState.DELIVERED


async def test_a_steer_without_a_turn_is_rejected(codex: OpenCodex, script: Script, playing: Play) -> None:
    script.main([say("done")])
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            await turn.outcome()
            assert session.link is not None
            with pytest.raises(SteerRejected) as rejected:
                await session.link.connection.steer("late", "too late")
    assert rejected.value.reason is SteerReason.NO_ACTIVE_TURN


async def test_the_harness_rejects_a_steer_that_is_too_large(
    codex: OpenCodex, script: Script, playing: Play
) -> None:
    gate = script.gate("before text")
    script.main([hold(gate), say("done")])
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            with pytest.raises(SteerRejected) as rejected:
                await turn.steer("x" * 1_048_577)
            gate.open()
            await turn.outcome()
    assert (rejected.value.reason, rejected.value.by) == (SteerReason.TOO_LARGE, "harness")


async def test_an_interrupt_straight_after_the_start_stops_the_turn(
    codex: OpenCodex, script: Script, playing: Play
) -> None:
    # Whether a request was on its way already is chance, so the script is not held to its number of answers.
    script.main([say("answer")], times=2)
    model = playing()
    try:
        async with codex(model) as session:
            turn = await session.start("go")
            outcome = await turn.interrupt()
            again = await turn.interrupt()
            following = await (await session.start("next")).outcome()
    finally:
        model.close(verify=False)
    assert (outcome.status, outcome.exit_status) == (OutcomeStatus.INTERRUPTED, 130)
    assert again is outcome
    assert following.text == "answer"


async def test_an_interrupt_in_mid_tool_leaves_no_process_of_the_tool(
    codex: OpenCodex, script: Script, playing: Play
) -> None:
    tool = script.held_tool("long build")
    script.main([shell(tool)])
    with playing() as model:
        async with codex(model, policy="auto") as session:
            turn = await session.start("go")
            # Younger commands die by themselves (0.171.0: below about 120 ms), which would prove nothing.
            await tool.running_for(0.6, timeout=20)
            outcome = await turn.interrupt()
            await tool.ended(timeout=10)
    assert outcome.status is OutcomeStatus.INTERRUPTED
    assert outcome.survivors == ()


async def test_a_steer_that_the_interrupt_overtakes_is_cancelled_and_never_seen(
    codex: OpenCodex, script: Script, playing: Play
) -> None:
    tool = script.held_tool("build")
    script.main([shell(tool)])
    script.main([say("next")], sees=sees(lacks="never to be seen"))
    with playing() as model:
        async with codex(model, policy="auto") as session:
            turn = await session.start("go")
            await tool.started(timeout=20)
            steer = await turn.steer("never to be seen")
            await turn.interrupt()
            await (await session.start("next")).outcome()
    assert steer.state is SteerState.CANCELLED


@pytest.mark.parametrize(("status", "times"), [(400, 1), (403, 4), (429, 1)])
async def test_an_error_of_the_model_fails_the_turn_with_its_status(
    codex: OpenCodex, script: Script, playing: Play, status: int, times: int
) -> None:
    script.main([fail(status, message="no such thing", times=times)])
    script.main([say("well again")])
    with playing() as model:
        async with codex(model) as session:
            failed = await (await session.start("go")).outcome()
            well = await (await session.start("again")).outcome()
    assert failed.status is OutcomeStatus.FAILED
    assert f"HTTP {status}" in failed.reason
    assert "no such thing" in failed.reason or status == 429  # of which Codex drops the message
    assert well.text == "well again"


async def test_retries_are_told_and_do_not_end_the_turn(
    codex: OpenCodex, script: Script, playing: Play
) -> None:
    script.main([fail(503, message="busy", times=5)])
    script.main([say("at last")])
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            events = [event async for event in turn.events()]
            outcome = await turn.outcome()
    assert outcome.text == "at last"
    assert any(isinstance(event, Notice) and "503" in event.text for event in events)


async def _text_seen(turn: Turn) -> None:
    async for event in turn.events():
        if isinstance(event, TextDelta):
            return
    raise AssertionError("the turn ended without text")
