"""Gates hold an answer where the script says, and a client that hangs up there is recorded."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest

from checkrein.scripted_models import (
    DeadlineExceeded,
    ModelServer,
    ModelSession,
    Script,
    ScriptError,
    hold,
    say,
    shell,
    silence,
)
from tests.scripted_models.wire import CHAT, Wire, events_of

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def asking(session: ModelSession, wire: Wire) -> AsyncGenerator[httpx2.Response]:
    body = wire.body(wire.user("hi"))
    async with (
        httpx2.AsyncClient(timeout=20, trust_env=False) as client,
        client.stream("POST", wire.url(session), json=body) as answer,
    ):
        yield answer


async def test_what_stands_before_a_gate_arrives_and_the_rest_waits(server: ModelServer, wire: Wire) -> None:
    script = Script()
    gate = script.gate("mid")
    script.main([say("before "), hold(gate), say("after")])
    with server.open_session(script, wire.profile) as session:
        async with asking(session, wire) as answer:
            chunks = answer.aiter_text()
            first = await anext(chunks)
            assert "before" in first
            assert "after" not in first
            await gate.reached(timeout=5)
            assert not gate.is_open
            gate.open()
            rest = "".join([chunk async for chunk in chunks])
        assert "after" in rest
        await session.step(0).finished(timeout=5)


async def test_a_gate_that_stands_first_holds_back_even_the_headers(server: ModelServer, wire: Wire) -> None:
    script = Script()
    gate = script.gate("first")
    script.main([hold(gate), say("hello")])
    with server.open_session(script, wire.profile) as session:
        answered: list[int] = []

        async def client() -> None:
            async with asking(session, wire) as answer:
                answered.append(answer.status_code)
                await answer.aread()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client)
            await gate.reached(timeout=5)
            assert answered == []
            gate.open()
        assert answered == [200]


async def test_saying_nothing_before_a_gate_sends_the_head_of_the_stream(
    server: ModelServer, wire: Wire
) -> None:
    script = Script()
    gate = script.gate("first")
    script.main([say(""), hold(gate), say("hello")])
    with server.open_session(script, wire.profile) as session:
        async with asking(session, wire) as answer:
            await gate.reached(timeout=5)
            assert answer.status_code == 200
            gate.open()
            assert "hello" in (await answer.aread()).decode()


async def test_a_gate_opened_in_advance_lets_the_answer_pass(server: ModelServer, wire: Wire) -> None:
    script = Script()
    gate = script.gate("mid")
    script.main([say("before "), hold(gate), say("after")])
    gate.open()
    with server.open_session(script, wire.profile) as session:
        async with asking(session, wire) as answer:
            assert "after" in (await answer.aread()).decode()


async def test_a_call_can_be_held_in_the_middle_of_its_input(server: ModelServer, wire: Wire) -> None:
    script = Script()
    gate = script.gate("half")
    script.main([shell("touch beginning; touch middle; touch the-end", id="c", hold_in_arguments=gate)])
    with server.open_session(script, wire.profile) as session:
        async with asking(session, wire) as answer:
            chunks = answer.aiter_text()
            first = await anext(chunks)
            assert "beginning" in first
            assert "the-end" not in first
            gate.open()
            rest = events_of(first + "".join([chunk async for chunk in chunks]))
        said = "".join(
            str(event.get("arguments") or event.get("delta") or event.get("choices")) for event in rest
        )
        assert "the-end" in said


async def test_neighbouring_says_are_one_text_also_across_a_gate(server: ModelServer, wire: Wire) -> None:
    script = Script()
    gate = script.gate("mid")
    gate.open()
    script.main([say("before "), hold(gate), say("after")])
    with server.open_session(script, wire.profile) as session:
        async with asking(session, wire) as answer:
            events = events_of((await answer.aread()).decode())
    if wire.profile is CHAT:
        assert sum('"role"' in json.dumps(event) for event in events) == 1
        return
    starts = [e for e in events if e["type"] in ("content_block_start", "response.output_item.added")]
    assert len(starts) == 1


async def test_a_client_that_hangs_up_at_a_gate_is_recorded_with_the_events_it_got(
    server: ModelServer, wire: Wire
) -> None:
    script = Script()
    gate = script.gate("mid", never_opened=True)
    script.main([say("one two "), hold(gate), say("three")])
    with server.open_session(script, wire.profile) as session:
        async with asking(session, wire) as answer:
            received = await anext(answer.aiter_text())
        hang_up = await session.step(0).hung_up(timeout=5)
    assert hang_up.after_events == len(events_of(received))
    assert hang_up.request == 1
    assert hang_up.at_ms > 0


async def test_a_silent_model_sends_nothing_until_the_client_hangs_up(
    server: ModelServer, wire: Wire
) -> None:
    script = Script()
    script.main([silence()])
    with server.open_session(script, wire.profile) as session:
        async with anyio.create_task_group() as tasks:

            async def client() -> None:
                async with asking(session, wire):
                    pytest.fail("a silent model answered")

            tasks.start_soon(client)
            await session.step(0).requested(timeout=5)
            tasks.cancel_scope.cancel()
        hang_up = await session.step(0).hung_up(timeout=5)
    assert hang_up.after_events == 0


async def test_a_wait_that_expires_prints_the_timeline(server: ModelServer, wire: Wire) -> None:
    script = Script()
    gate = script.gate("mid")
    script.main([hold(gate)])
    session = server.open_session(script, wire.profile)
    server.timeline.record("driver", "prompt", text="hello")
    with pytest.raises(DeadlineExceeded) as caught:
        await gate.reached(timeout=0.05)
    assert "gate 'mid' to be reached" in str(caught.value)
    assert "driver   prompt" in str(caught.value)
    assert caught.value.seconds == 0.05
    session.close(verify=False)


async def test_a_gate_declared_never_opened_cannot_be_opened() -> None:
    gate = Script().gate("mid", never_opened=True)
    with pytest.raises(ScriptError, match="never_opened"):
        gate.open()


async def test_a_cancelled_wait_ends_at_once(server: ModelServer, wire: Wire) -> None:
    script = Script()
    gate = script.gate("mid")
    session = server.open_session(script, wire.profile)
    with anyio.move_on_after(0.05) as scope:
        await gate.reached(timeout=30)
    assert scope.cancelled_caught
    session.close(verify=False)
