"""Turns, steers, interrupts and approvals over ACP, with the reference agent in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkrein.adapters import OutcomeStatus, SteerState
from checkrein.adapters.errors import SessionNotFound
from checkrein.adapters.native import ToolStatus
from checkrein.scripted_models import Script, Usage, say, sees, shell, write_file
from tests.adapters.acp.conftest import OpenReference, Play

pytestmark = pytest.mark.anyio


async def test_a_call_is_asked_about_and_runs_when_allowed(
    reference: OpenReference, script: Script, playing: Play, workspace: Path
) -> None:
    script.main(
        [say("Writing."), write_file("a.txt", "new\n", id="call_write")],
        usage=Usage(input=50, output=5, cached=10),
    )
    script.main([say("Written.")], usage=Usage(input=70, output=7))
    with playing() as model:
        async with reference(model) as session:
            turn = await session.start("write it")
            async for approval in turn.approvals():
                assert (approval.call.call_id, approval.call.paths) == ("call_write", ("a.txt",))
                assert approval.call.change == "new\n"
                assert not (workspace / "a.txt").exists()
                await approval.allow()
            outcome = await turn.outcome()
    assert (outcome.status, outcome.text) == (OutcomeStatus.COMPLETED, "Written.")
    assert (outcome.usage.input_tokens, outcome.usage.cached_tokens, outcome.usage.output_tokens) == (
        120,
        10,
        12,
    )
    assert (workspace / "a.txt").read_text() == "new\n"
    assert turn.results["call_write"].status is ToolStatus.OK


async def test_a_denied_call_is_told_with_the_persons_words(
    reference: OpenReference, script: Script, playing: Play
) -> None:
    script.main([shell("touch a.txt", id="call_touch")])
    script.main([say("Understood.")], sees=sees(steer=["not on main"]))
    with playing() as model:
        async with reference(model) as session:
            turn = await session.start("touch it")
            async for approval in turn.approvals():
                await approval.deny("not on main")
            outcome = await turn.outcome()
    assert outcome.status is OutcomeStatus.COMPLETED
    assert turn.results["call_touch"].status is ToolStatus.DECLINED


async def test_steers_in_mid_tool_reach_the_next_request_and_no_other_turn(
    reference: OpenReference, script: Script, playing: Play
) -> None:
    tool = script.held_tool("build")
    texts = ["/keep \u2028 the\nsignature \U0001f40e \"'\\ !", "and the name"]
    script.main([shell(tool, id="call_build")])
    script.main([say("kept")], sees=sees(steer=texts))
    with playing() as model:
        async with reference(model, policy="auto") as session:
            turn = await session.start("go")
            await tool.started(timeout=20)
            steers = [await turn.steer(text) for text in texts]
            tool.finish("built")
            assert [await steer.settled() for steer in steers] == [SteerState.DELIVERED] * 2
            assert (await turn.outcome()).text == "kept"
    assert turn.results["call_build"].exit_status == 0


async def test_an_interrupt_ends_the_tool_and_the_next_prompt_finds_its_receipt(
    reference: OpenReference, script: Script, playing: Play
) -> None:
    tool = script.held_tool("build")
    script.main([shell(tool, id="call_build")])
    script.main([say("Again.")], sees=sees(result={"call_build": sees.has("aborted")}))
    with playing() as model:
        async with reference(model, policy="auto") as session:
            turn = await session.start("go")
            await tool.started(timeout=20)
            outcome = await turn.interrupt()
            await tool.ended(timeout=5)
            after = await (await session.start("again")).outcome()
    assert (outcome.status, outcome.exit_status) == (OutcomeStatus.INTERRUPTED, 130)
    assert turn.results["call_build"].status is ToolStatus.ABORTED
    assert after.text == "Again."


async def test_a_conversation_is_resumed_and_forked_by_its_id(
    reference: OpenReference, script: Script, playing: Play
) -> None:
    for answer in ("One.", "Two.", "Forked."):
        script.main([say(answer)])
    with playing() as model:
        async with reference(model) as session:
            await (await session.start("first")).outcome()
            session_id = session.id
        async with reference(model, resume=session_id) as resumed:
            assert resumed.id == session_id
            assert (await (await resumed.start("second")).outcome()).text == "Two."
        async with reference(model, fork=session_id) as forked:
            assert forked.id != session_id
            assert (await (await forked.start("third")).outcome()).text == "Forked."
        views = [request.view for request in model.main_requests]
    assert [view.user_texts for view in views[1:]] == [("first", "second"), ("first", "second", "third")]


async def test_an_id_that_never_was_is_no_new_conversation(reference: OpenReference, playing: Play) -> None:
    with playing() as model, pytest.raises(SessionNotFound):
        async with reference(model, resume="../sessions"):
            pass
