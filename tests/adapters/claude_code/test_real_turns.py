"""Turns, steers and interrupts on the real Claude Code."""

from __future__ import annotations

import json

import anyio
import pytest

from checkrein.adapters.errors import SessionNotFound, SteerReason, SteerRejected
from checkrein.adapters.native import TextDelta
from checkrein.adapters.native import Usage as TurnUsage
from checkrein.adapters.outcome import OutcomeStatus, StoppedBy
from checkrein.adapters.steering import SteerState
from checkrein.scripted_models import ModelServer, Script, Usage, fail, hold, say, sees, shell, steer_text
from checkrein.scripted_models import tool as call
from tests.adapters.claude_code.conftest import STEP, Arena

pytestmark = pytest.mark.anyio


async def test_a_turn_is_completed_and_says_what_the_model_said(arena: Arena, server: ModelServer) -> None:
    script = Script()
    script.main([say("Hello "), say("there.")], sees=sees(user="greet me"))
    with arena.play(server, script):
        async with arena.open() as session:
            assert session.harness.version
            turn = await session.start("greet me")
            outcome = await turn.outcome()
    assert (outcome.status, outcome.text) == (OutcomeStatus.COMPLETED, "Hello there.")


async def test_a_steer_while_a_tool_runs_is_in_the_next_request(arena: Arena, server: ModelServer) -> None:
    script = Script()
    tool = script.held_tool("build")
    script.main([shell(tool)], sees=sees(user="build it"))
    script.main([say("kept")], sees=steer_text("keep the signature\n/help \u2028 \U0001f40e"))
    with arena.play(server, script):
        async with arena.open(policy="auto") as session:
            turn = await session.start("build it")
            await tool.started(timeout=STEP)
            steer = await turn.steer("keep the signature\n/help \u2028 \U0001f40e")
            assert steer.state is SteerState.ACCEPTED
            tool.finish("built")
            outcome = await turn.outcome()
            assert steer.state is SteerState.DELIVERED
    assert outcome.text == "kept"


async def test_a_steer_that_begins_with_a_slash_reaches_the_model(arena: Arena, server: ModelServer) -> None:
    script = Script()
    tool = script.held_tool("build")
    script.main([shell(tool)], sees=sees(user="/help"))
    script.main([say("done")], sees=steer_text("/compact"))
    with arena.play(server, script):
        async with arena.open(policy="auto") as session:
            turn = await session.start("/help")
            await tool.started(timeout=STEP)
            await turn.steer("/compact")
            tool.finish()
            assert (await turn.outcome()).text == "done"


async def test_a_steer_that_comes_too_late_starts_the_next_turn(arena: Arena, server: ModelServer) -> None:
    script = Script()
    gate = script.gate("mid")
    script.main([say("first "), hold(gate), say("answer")])
    script.main([say("second answer")], sees=steer_text("one more thing"))
    with arena.play(server, script):
        async with arena.open() as session:
            turn = await session.start("go")
            await gate.reached(timeout=STEP)
            steer = await turn.steer("one more thing")
            gate.open()
            assert (await turn.outcome()).text == "first answer"
            assert await steer.settled() is SteerState.QUEUED
            following = session.turns[1]
            assert following.opened_by == "steer"
            assert (await following.outcome()).text == "second answer"


async def test_a_steer_without_a_turn_never_reaches_the_harness(arena: Arena, server: ModelServer) -> None:
    script = Script()
    script.main([say("done")])
    with arena.play(server, script):
        async with arena.open() as session:
            turn = await session.start("go")
            await turn.outcome()
            with pytest.raises(SteerRejected) as rejected:
                await turn.steer("too late")
    assert rejected.value.reason is SteerReason.TURN_ENDED
    assert not any(b"too late" in line for line in arena.sent)


async def test_an_interrupt_in_mid_text_hangs_up_and_the_next_turn_goes_on(
    arena: Arena, server: ModelServer
) -> None:
    script = Script()
    gate = script.gate("mid", never_opened=True)
    script.main([say("I will "), hold(gate), say("never say this")])
    script.main([say("fine")], sees=sees(user=["[Request interrupted by user]", "something else"]))
    with arena.play(server, script) as model:
        async with arena.open() as session:
            turn = await session.start("go")
            await gate.reached(timeout=STEP)
            outcome = await turn.interrupt()
            assert (outcome.status, outcome.stopped_by) == (OutcomeStatus.INTERRUPTED, StoppedBy.HARNESS)
            await model.step(0).hung_up(timeout=STEP)
            assert (await (await session.start("something else")).outcome()).text == "fine"


async def test_an_interrupt_ends_the_running_tool_and_drops_the_queued_steer(
    arena: Arena, server: ModelServer
) -> None:
    script = Script()
    tool = script.held_tool("build")
    script.main([shell(tool)])
    script.main([say("fine")], sees=sees(user="next", lacks="never read this"))
    with arena.play(server, script):
        async with arena.open(policy="auto") as session:
            turn = await session.start("go")
            await tool.started(timeout=STEP)
            steer = await turn.steer("never read this")
            outcome = await turn.interrupt()
            assert outcome.status is OutcomeStatus.INTERRUPTED
            assert steer.state is SteerState.CANCELLED
            await tool.ended(timeout=STEP)
            assert (await (await session.start("next")).outcome()).text == "fine"


async def test_a_steer_that_the_interrupted_request_held_is_delivered_and_stays_in_the_conversation(
    arena: Arena, server: ModelServer
) -> None:
    script = Script()
    tool = script.held_tool("build")
    gate = script.gate("unanswered", never_opened=True)
    script.main([shell(tool)])
    script.main([hold(gate)], sees=steer_text("remember this"))
    script.main([say("fine")], sees=sees(user="next", once="remember this"))
    with arena.play(server, script):
        async with arena.open(policy="auto") as session:
            turn = await session.start("go")
            await tool.started(timeout=STEP)
            steer = await turn.steer("remember this")
            tool.finish()
            await gate.reached(timeout=STEP)
            assert (await turn.interrupt()).status is OutcomeStatus.INTERRUPTED
            assert steer.state is SteerState.DELIVERED
            assert (await (await session.start("next")).outcome()).text == "fine"


async def test_a_refused_key_fails_the_turn_and_names_status_and_message(
    arena: Arena, server: ModelServer
) -> None:
    script = Script()
    script.main([fail(403, message="no such key")])
    script.main([say("better")])
    with arena.play(server, script):
        async with arena.open() as session:
            outcome = await (await session.start("go")).outcome()
            assert outcome.status is OutcomeStatus.FAILED
            assert "403" in outcome.reason
            assert "no such key" in outcome.reason
            assert (await (await session.start("again")).outcome()).text == "better"


async def test_usage_is_of_each_turn_alone_over_steps_resume_and_fork(
    arena: Arena, server: ModelServer
) -> None:
    script = Script()
    gate = script.gate("mid", never_opened=True)
    script.main([shell("echo one")], usage=Usage(input=150, cached=50, output=10))
    script.main([say("first")], usage=Usage(input=260, cached=60, output=20))
    script.main([say("second")], usage=Usage(input=10, cached=3, output=5))
    script.main([say("cut "), hold(gate), say("off")], usage=Usage(input=13, cached=2, output=7))
    script.main([say("resumed")], usage=Usage(input=17, output=3))
    script.main([say("forked")], usage=Usage(input=19, cached=1, output=4))
    used: list[TurnUsage] = []
    with arena.play(server, script):
        async with arena.open(policy="auto") as session:
            original = session.id
            used += [(await (await session.start(prompt)).outcome()).usage for prompt in ("one", "two")]
            turn = await session.start("three")
            with anyio.fail_after(STEP):
                async for event in turn.events():
                    if isinstance(event, TextDelta):
                        break
            interrupted = (await turn.interrupt()).usage
        async with arena.open(resume=original) as session:
            assert session.id == original
            used.append((await (await session.start("four")).outcome()).usage)
        async with arena.open(fork=original) as session:
            assert session.id != original
            used.append((await (await session.start("five")).outcome()).usage)
    tokens = [(usage.input_tokens, usage.cached_tokens, usage.output_tokens) for usage in used]
    assert tokens == [(410, 110, 30), (10, 3, 5), (17, 0, 3), (19, 1, 4)]
    # 2.1.332 estimates what a stopped stream cost, 2.1.296 does not count it at all.
    assert interrupted.output_tokens != 0
    costs = [usage.cost_usd or 0 for usage in used]
    assert all(0 < cost < 0.01 for cost in costs)
    assert costs[0] > 10 * costs[2]


async def test_a_resumed_conversation_holds_what_came_before_and_a_fork_leaves_it_alone(
    arena: Arena, server: ModelServer
) -> None:
    script = Script()
    script.main([say("first answer")])
    script.main([say("forked answer")], sees=sees(once=["first prompt", "first answer"], user="fork prompt"))
    script.main([say("end")], sees=sees(once=["first prompt", "first answer"], lacks="fork prompt"))
    with arena.play(server, script):
        async with arena.open() as session:
            original = session.id
            await (await session.start("first prompt")).outcome()
        async with arena.open(fork=original) as session:
            assert (await (await session.start("fork prompt")).outcome()).text == "forked answer"
        async with arena.open(resume=original) as session:
            assert (await (await session.start("last prompt")).outcome()).text == "end"


@pytest.mark.parametrize("unknown", ["0d4ba1a5-7b1f-4e06-9bb5-0c6f32a7a201", "no-uuid"])
async def test_an_unknown_id_is_a_typed_error(arena: Arena, server: ModelServer, unknown: str) -> None:
    with arena.play(server, Script()):
        for how in ("resume", "fork"):
            with pytest.raises(SessionNotFound):
                async with arena.open(**{how: unknown}):
                    pass


async def test_a_turn_that_a_background_job_starts_is_reported_and_interrupted(
    arena: Arena, server: ModelServer
) -> None:
    script = Script()
    tool = script.held_tool("job")
    background = {"command": tool.command, "description": "job", "run_in_background": True}
    script.main([call("Bash", background)])
    script.main([say("started it")])
    # The interrupt comes before or after the foreign turn's request, so that one of the two answers may be left over.
    script.main([say("yours")])
    script.main([say("yours")])
    model = arena.play(server, script)
    async with arena.open(policy="auto") as session:
        await (await session.start("start a job")).outcome()
        await tool.started(timeout=STEP)
        tool.finish("job done")
        await arena.has_received(b'"task_notification"', b'"init"', b'"result"')
        turn = await session.start("now you")
        assert (await turn.outcome()).text == "yours"
        [foreign] = session.foreign_turns
        assert "job" in foreign.cause
    model.close(verify=False)
    stops = [json.loads(line)["request"] for line in arena.sent if b'"interrupt"' in line]
    assert stops == [{"subtype": "interrupt", "cancel_queued": True}]
