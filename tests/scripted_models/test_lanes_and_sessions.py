"""Requests go to the lane that their shape says, and to the session that their path says."""

from __future__ import annotations

import hashlib

import anyio
import httpx2
import pytest

from checkrein.scripted_models import (
    DeadlineExceeded,
    HarnessProfile,
    Lane,
    ModelServer,
    Script,
    default_classifier,
    default_history_rules,
    hold,
    say,
)
from tests.scripted_models.wire import ANTHROPIC, RESPONSES, WIRES, Wire, ask

pytestmark = pytest.mark.anyio

SUBAGENT = [{"type": "text", "text": "x-anthropic-billing-header: cc_is_subagent=true;"}]


async def test_sub_agents_are_numbered_in_the_order_in_which_they_first_ask(server: ModelServer) -> None:
    wire = WIRES["anthropic-messages"]
    script = Script()
    script.main([say("main")])
    script.lane("agent:1", [say("first, one")])
    script.lane("agent:1", [say("first, two")])
    script.lane("agent:2", [say("second")])
    with server.open_session(script, wire.profile) as session:
        await ask(session, wire, wire.user("look at a"), system=SUBAGENT)
        await ask(session, wire, wire.user("look at b"), system=SUBAGENT)
        await ask(session, wire, wire.user("hi"))
        history = [wire.user("look at a"), wire.assistant("first, one"), wire.user("go on")]
        await ask(session, wire, *history, system=SUBAGENT)
        assert [str(request.lane) for request in session.requests] == [
            "agent:1",
            "agent:2",
            "main",
            "agent:1",
        ]
        assert [request.number for request in session.requests_of("agent:1")] == [1, 4]


async def test_a_profile_may_bring_its_own_classifier(server: ModelServer) -> None:
    wire = WIRES["openai-responses"]
    profile = HarnessProfile(
        dialect="openai-responses",
        toolset=RESPONSES.toolset,
        classify=lambda request: Lane.COMPACT if "summarise" in request.view.fresh_text else Lane.MAIN,
    )
    script = Script()
    script.main([say("A")], times=2)
    script.lane("compact", [say("a summary")])
    with server.open_session(script, profile) as session:
        await ask(session, wire, wire.user("a long story"))
        await ask(session, wire, wire.user("a long story"), wire.user("summarise"))
        await ask(session, wire, wire.user("a summary"), wire.user("next"))
        assert session.violations == ()


async def test_the_defaults_can_be_had_by_name() -> None:
    for dialect in WIRES:
        assert callable(default_classifier(dialect))
        assert default_history_rules(dialect)(()) == ()


async def test_two_sessions_at_once_are_kept_apart(server: ModelServer, wire: Wire) -> None:
    scripts = [Script(name="one"), Script(name="two")]
    gates = [script.gate("mid") for script in scripts]
    for script, gate in zip(scripts, gates, strict=True):
        script.main([say("this is "), hold(gate), say(script.name)])
    with (
        server.open_session(scripts[0], wire.profile) as one,
        server.open_session(scripts[1], wire.profile) as two,
    ):
        answers: dict[str, str] = {}

        async def client(name: str) -> None:
            answers[name] = (await ask(one if name == "one" else two, wire, wire.user(f"I am {name}"))).text

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client, "one")
            tasks.start_soon(client, "two")
            await gates[0].reached(timeout=5)
            await gates[1].reached(timeout=5)
            gates[1].open()
            await two.step(0).finished(timeout=5)
            assert one.step(0).in_flight == 1
            gates[0].open()
        assert "one" in answers["one"]
        assert "two" in answers["two"]
        assert [request.view.user_texts for request in one.requests] == [("I am one",)]
        assert [request.view.user_texts for request in two.requests] == [("I am two",)]


async def test_the_log_keeps_no_secret(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([say("A")])
    with server.open_session(script, wire.profile) as session:
        await ask(session, wire, wire.user("hi"))
        [request] = session.requests
    prefix = hashlib.sha256(b"secret-key").hexdigest()[:12]
    assert request.headers["x-api-key"] == f"redacted sha256:{prefix}"
    assert request.redacted == {"x-api-key"}
    assert request.headers["content-type"] == "application/json"
    assert "secret-key" not in server.timeline.render()


async def test_a_request_is_waited_for_and_returned(server: ModelServer, wire: Wire) -> None:
    script = Script(side="t")
    script.main([say("A")], times=2)
    with server.open_session(script, wire.profile) as session:
        async with anyio.create_task_group() as tasks:

            async def client() -> None:
                await ask(session, wire, wire.user("one"))
                await ask(session, wire, wire.user("one"), wire.user("two"))

            tasks.start_soon(client)
            request = await session.wait_requests(2, timeout=5)
            assert request.view.user_texts == ("one", "two")
            assert request is session.requests[1]
        with pytest.raises(DeadlineExceeded, match=r"3 request\(s\) in lane main"):
            await session.wait_requests(3, timeout=0.05)


async def test_quiet_is_proven_by_time_without_any_request(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([say("A")])
    with server.open_session(script, wire.profile) as session:
        await session.quiet_for(0.1, timeout=3)
        began = server.timeline.now_ms()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, session, wire, wire.user("hi"))
            await session.wait_requests(1, timeout=5)
            await session.quiet_for(0.2, timeout=5)
        assert server.timeline.now_ms() - began >= 200


async def test_requests_that_keep_coming_are_no_quiet(server: ModelServer, wire: Wire) -> None:
    with server.open_session(Script(), wire.profile) as session:

        async def keep_asking() -> None:
            async with httpx2.AsyncClient(trust_env=False) as client:
                while True:
                    await client.get(f"{session.base_url}/v1/models")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_asking)
            await server.timeline.wait(lambda row: row.kind == "other_request", 10)
            with pytest.raises(DeadlineExceeded, match="1 s without any request"):
                await session.quiet_for(1.0, timeout=1.5)
            tasks.cancel_scope.cancel()


async def test_a_path_without_a_session_is_not_found(server: ModelServer) -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"{server.url}/s/nobody/v1/messages", json={})
    assert answer.status_code == 404
    assert [row.kind for row in server.timeline.rows] == ["stray_request"]


@pytest.mark.parametrize("method", ["HEAD", "GET", "POST"])
async def test_a_path_that_no_model_has_is_not_found_and_no_model_request(
    server: ModelServer, wire: Wire, method: str
) -> None:
    with server.open_session(Script(), wire.profile) as session:
        async with httpx2.AsyncClient(trust_env=False) as client:
            answer = await client.request(method, f"{session.base_url}/api/hello")
        assert answer.status_code == 404
        assert session.requests == ()
        if method == "HEAD":
            assert answer.content == b""
        else:
            assert ("type" in answer.json()) == (wire.profile is ANTHROPIC)


async def test_a_closed_session_is_gone(server: ModelServer, wire: Wire) -> None:
    session = server.open_session(Script(), wire.profile)
    session.close()
    session.close()
    async with httpx2.AsyncClient(trust_env=False) as client:
        assert (await client.post(wire.url(session), json={})).status_code == 404


@pytest.mark.parametrize("name", ["mian", "agent", "agent:0", "agent:x", ""])
def test_an_unknown_lane_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="allowed: main, side, count_tokens, compact, agent:<n>"):
        Lane.parse(name)
