"""Turns, steers, interrupts and approvals with the real pi, in each of its dialects."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkrein.adapters import OutcomeStatus, SteerState
from checkrein.adapters.errors import SessionNotFound, SteerReason, SteerRejected
from checkrein.adapters.interface import HarnessBinary
from checkrein.adapters.native import ToolStatus
from checkrein.scripted_models import Script, Usage, hold, say, sees, shell, write_file
from tests.adapters.pi.conftest import OpenPi, Play

pytestmark = pytest.mark.anyio


async def test_what_runs_is_known_before_the_first_prompt(
    pi: OpenPi, playing: Play, pi_binary: HarnessBinary, workspace: Path
) -> None:
    with playing() as model:
        async with pi(model) as session:
            opened, harness = session.opened, session.harness
    assert harness.sha256 == pi_binary.sha256
    assert pi_binary.version in (None, harness.version)
    assert opened.policy_effective == {
        "answers": "true",
        "cwd": str(workspace),
        "mode": "rpc",
        "policy": "ask",
        "projectTrusted": "false",
        "provider": "checkrein",
    }


async def test_a_call_is_asked_about_and_runs_when_allowed(
    pi: OpenPi, script: Script, playing: Play, workspace: Path
) -> None:
    script.main(
        [say("Writing."), write_file("a.txt", "new\n", id="call_write")], usage=Usage(input=50, output=5)
    )
    script.main([say("Written.")], sees=sees(result={"call_write": sees.has("a.txt")}))
    with playing() as model:
        async with pi(model) as session:
            turn = await session.start("write it")
            async for approval in turn.approvals():
                assert (approval.call.call_id, approval.call.paths) == ("call_write", ("a.txt",))
                assert not (workspace / "a.txt").exists()
                await approval.allow()
            outcome = await turn.outcome()
    assert (outcome.status, outcome.text) == (OutcomeStatus.COMPLETED, "Written.")
    assert (workspace / "a.txt").read_text() == "new\n"
    assert turn.results["call_write"].status is ToolStatus.OK


async def test_a_denied_call_is_told_with_the_persons_words(
    pi: OpenPi, script: Script, playing: Play
) -> None:
    script.main([shell("touch a.txt", id="call_touch")])
    script.main([say("Understood.")], sees=sees(result={"call_touch": sees.error("not on main")}))
    with playing() as model:
        async with pi(model) as session:
            turn = await session.start("touch it")
            async for approval in turn.approvals():
                await approval.deny("not on main")
    assert turn.results["call_touch"].status is ToolStatus.DECLINED


async def test_steers_in_mid_tool_reach_the_next_request_together(
    pi: OpenPi, script: Script, playing: Play
) -> None:
    tool = script.held_tool("build")
    texts = ["/keep \u2028 the\nsignature \U0001f40e \"'\\ !", "and the name"]
    script.main([shell(tool)])
    script.main([say("kept")], sees=sees(steer=texts))
    with playing() as model:
        async with pi(model, policy="auto") as session:
            turn = await session.start("go")
            await tool.started(timeout=20)
            steers = [await turn.steer(text) for text in texts]
            tool.finish()
            outcome = await turn.outcome()
    assert outcome.text == "kept"
    assert [steer.state for steer in steers] == [SteerState.DELIVERED] * 2


async def test_a_steer_without_a_turn_is_refused_by_the_gate_and_never_seen(
    pi: OpenPi, script: Script, playing: Play
) -> None:
    script.main([say("one")])
    script.main([say("two")], sees=sees(lacks="too late"))
    with playing() as model:
        async with pi(model) as session:
            await (await session.start("go")).outcome()
            assert session.link is not None
            connection = session.link.connection
            with pytest.raises(SteerRejected) as rejected:
                await connection.steer("late", "too late")
            assert rejected.value.reason is SteerReason.NO_ACTIVE_TURN
            await (await session.start("again")).outcome()


async def test_an_interrupt_leaves_the_model_a_sign_of_it(pi: OpenPi, script: Script, playing: Play) -> None:
    middle = script.gate("middle", never_opened=True)
    script.main([say("On and on "), hold(middle)])
    script.main([say("Next.")], sees=sees(user=["interrupted", "next"], lacks="On and on"))
    with playing() as model:
        async with pi(model) as session:
            turn = await session.start("talk")
            await middle.reached(timeout=20)
            outcome = await turn.interrupt()
            after = await (await session.start("next")).outcome()
    assert (outcome.status, outcome.native_status) == (OutcomeStatus.INTERRUPTED, "aborted")
    assert after.text == "Next."


async def test_a_conversation_is_continued_by_another_process(
    pi: OpenPi, script: Script, playing: Play
) -> None:
    script.main([say("one")])
    script.main([say("two")], sees=sees(user="first", assistant="one"))
    with playing() as model:
        async with pi(model) as session:
            await (await session.start("first")).outcome()
            known = session.id
        async with pi(model, resume=known) as resumed:
            outcome = await (await resumed.start("second")).outcome()
    assert (resumed.id, outcome.text) == (known, "two")


async def test_a_conversation_that_does_not_exist_is_not_resumed(pi: OpenPi, playing: Play) -> None:
    with playing() as model, pytest.raises(SessionNotFound):
        async with pi(model, resume="01234567-0000-7000-8000-000000000000"):
            pass
