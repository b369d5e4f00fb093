"""A run that departs from its script, in whatever way, is found out; one that keeps to it is not."""

from __future__ import annotations

import anyio
import httpx2
import pytest

from checkrein.scripted_models import (
    DIALECTS,
    HarnessProfile,
    Lane,
    ModelServer,
    ModelSession,
    Script,
    ScriptError,
    ScriptViolation,
    ViolationKind,
    hold,
    say,
    sees,
    shell,
    steer_text,
)
from tests.scripted_models.wire import ANTHROPIC, WIRES, Json, Wire, ask, kinds

pytestmark = pytest.mark.anyio


def departures(session: ModelSession) -> list[str]:
    with pytest.raises(ScriptViolation) as caught:
        session.close()
    assert "--- merged timeline ---" in str(caught.value)
    return kinds(caught.value.violations)


async def test_a_run_that_keeps_to_the_script_verifies(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([say("Running."), shell("ls", id="c")], sees=sees(user="hi"))
    script.main([say("Done.")], sees=sees(result={"c": "out"}))
    with server.open_session(script, wire.profile) as session:
        await ask(session, wire, wire.user("hi"))
        history = [wire.user("hi"), wire.assistant("Running."), wire.call("c"), wire.result("c", "out")]
        await ask(session, wire, *history)
        session.verify()
        assert session.violations == ()
        assert len(session.main_requests) == 2


async def test_an_unscripted_request_gets_500_in_the_dialects_shape(server: ModelServer, wire: Wire) -> None:
    session = server.open_session(Script(), wire.profile)
    answer = await ask(session, wire, wire.user("hi"))
    assert answer.status_code == 500
    assert answer.json() == DIALECTS[wire.profile.dialect].error(500, answer.json()["error"]["message"])
    assert departures(session) == ["unscripted_request"]


async def test_a_side_request_without_a_side_answer_is_unscripted(server: ModelServer) -> None:
    wire = WIRES["anthropic-messages"]
    script = Script()
    script.main([say("for main only")])
    session = server.open_session(script, wire.profile)
    await ask(session, wire, wire.user("a title please"), tools=False)
    assert departures(session) == ["unscripted_request", "leftover_step"]


async def test_a_side_request_never_takes_a_main_step(server: ModelServer) -> None:
    wire = WIRES["anthropic-messages"]
    script = Script(side="a title")
    script.lane("side", [say("the first title")])
    script.main([say("main")])
    with server.open_session(script, wire.profile) as session:
        first = await ask(session, wire, wire.user("title"), tools=False)
        second = await ask(session, wire, wire.user("title"), tools=False)
        main = await ask(session, wire, wire.user("hi"))
        assert [str(request.lane) for request in session.requests] == ["side", "side", "main"]
        assert [request.step for request in session.requests] == [0, -1, 0]
    assert "first" in first.text
    assert "a" in second.text
    assert "main" in main.text


async def test_a_leftover_step_is_found(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([say("never asked for")])
    assert departures(server.open_session(script, wire.profile)) == ["leftover_step"]


async def test_a_step_that_is_asked_for_too_rarely_is_found(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([say("twice")], times=2)
    session = server.open_session(script, wire.profile)
    await ask(session, wire, wire.user("hi"))
    assert departures(session) == ["leftover_step"]


async def test_a_gate_that_nothing_came_to_is_found(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.gate("mid")
    assert departures(server.open_session(script, wire.profile)) == ["gate_not_reached"]


@pytest.mark.parametrize("declared", [False, True])
async def test_a_gate_that_stays_shut_must_be_declared(
    server: ModelServer, wire: Wire, declared: bool
) -> None:
    script = Script()
    gate = script.gate("mid", never_opened=declared)
    script.main([say("x "), hold(gate)])
    session = server.open_session(script, wire.profile)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, session, wire, wire.user("hi"))
        await gate.reached(timeout=5)
        tasks.cancel_scope.cancel()
    await session.step(0).hung_up(timeout=5)
    if declared:
        session.close()
    else:
        assert departures(session) == ["gate_not_opened"]


async def test_a_step_still_being_answered_at_the_end_is_found(server: ModelServer, wire: Wire) -> None:
    script = Script()
    gate = script.gate("mid", never_opened=True)
    script.main([say("x "), hold(gate)])
    session = server.open_session(script, wire.profile)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, session, wire, wire.user("hi"))
        await gate.reached(timeout=5)
        assert departures(session) == ["unfinished_step"]
        tasks.cancel_scope.cancel()


async def test_a_held_tool_that_never_started_is_found(server: ModelServer) -> None:
    script = Script()
    script.held_tool("build")
    assert departures(server.open_session(script, ANTHROPIC)) == ["tool_not_started"]


async def test_a_held_tool_that_must_not_start_and_does_not_is_fine(server: ModelServer) -> None:
    script = Script()
    script.held_tool("build", never_started=True)
    server.open_session(script, ANTHROPIC).close()


@pytest.mark.parametrize(
    ("never_started", "kind"), [(False, "tool_not_released"), (True, "tool_started_unexpectedly")]
)
async def test_a_held_tool_that_runs_at_the_end_is_found(
    server: ModelServer, never_started: bool, kind: str
) -> None:
    script = Script()
    build = script.held_tool("build", never_started=never_started)
    session = server.open_session(script, ANTHROPIC)
    async with await anyio.open_process(["/bin/sh", "-c", build.command]) as process:
        await build.started(timeout=20)
        assert departures(session) == [kind]
        with anyio.fail_after(20):
            await process.wait()


async def test_a_mismatch_is_found_and_the_step_is_answered_all_the_same(
    server: ModelServer, wire: Wire
) -> None:
    script = Script()
    script.main([say("Hello.")], sees=sees(user="move the retry"))
    session = server.open_session(script, wire.profile)
    answer = await ask(session, wire, wire.user("something else"))
    assert answer.status_code == 200
    assert departures(session) == ["sees_mismatch"]


async def test_a_call_without_a_result_is_found(server: ModelServer, wire: Wire) -> None:
    session = server.open_session(one_step(), wire.profile)
    await ask(session, wire, wire.user("hi"), wire.call("c"), wire.user("and now?"))
    assert departures(session) == ["call_not_answered_once"]


async def test_a_call_with_two_results_is_found(server: ModelServer, wire: Wire) -> None:
    session = server.open_session(one_step(), wire.profile)
    await ask(session, wire, wire.user("hi"), wire.call("c"), wire.result("c", "1"), wire.result("c", "2"))
    assert departures(session) == ["call_not_answered_once"]


async def test_a_result_without_a_call_is_found(server: ModelServer, wire: Wire) -> None:
    session = server.open_session(one_step(), wire.profile)
    await ask(session, wire, wire.user("hi"), wire.result("c", "1"))
    assert departures(session) == ["orphan_result"]


def changed_histories(wire: Wire) -> dict[str, list[Json]]:
    return {
        "a text changed": [wire.user("hi!"), wire.assistant("A"), wire.user("next")],
        "a text gone": [wire.assistant("A"), wire.user("next")],
        "a text put in between": [
            wire.user("hi"),
            wire.user("sneaked in"),
            wire.assistant("A"),
            wire.user("x"),
        ],
        "shorter": [wire.user("hi")],
    }


@pytest.mark.parametrize("change", sorted(changed_histories(WIRES["openai-responses"])))
async def test_a_changed_history_is_found(server: ModelServer, wire: Wire, change: str) -> None:
    session = server.open_session(one_step(times=2), wire.profile)
    await ask(session, wire, wire.user("hi"), wire.assistant("A"), wire.user("next"))
    await ask(session, wire, *changed_histories(wire)[change])
    assert departures(session) == ["history_changed"]


async def test_cache_marks_and_other_conversations_change_nothing(server: ModelServer) -> None:
    wire = WIRES["anthropic-messages"]
    with server.open_session(one_step(times=2), wire.profile) as session:
        await ask(session, wire, wire.user("hi"))
        marked: Json = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
        await ask(session, wire, {"role": "user", "content": [marked]}, wire.assistant("A"), wire.user("x"))


async def test_conversations_are_compared_apart(server: ModelServer) -> None:
    wire = WIRES["openai-responses"]
    with server.open_session(one_step(times=3), wire.profile) as session:
        await ask(session, wire, wire.user("one"), prompt_cache_key="a")
        await ask(session, wire, wire.user("two"), prompt_cache_key="b")
        await ask(session, wire, wire.user("one"), wire.assistant("A"), wire.user("x"), prompt_cache_key="a")


async def test_a_rewind_that_the_driver_announces_is_no_change(server: ModelServer, wire: Wire) -> None:
    with server.open_session(one_step(times=2), wire.profile) as session:
        await ask(session, wire, wire.user("one"), wire.assistant("A"), wire.user("two"))
        session.expect_rewind()
        await ask(session, wire, wire.user("another"))


async def test_a_harness_rule_says_what_may_change(server: ModelServer, wire: Wire) -> None:
    profile = HarnessProfile(
        dialect=wire.profile.dialect,
        toolset=wire.profile.toolset,
        history_rules=lambda history: tuple(item for item in history if "volatile" not in item.text),
    )
    with server.open_session(one_step(times=2), profile) as session:
        await ask(session, wire, wire.user("hi"), wire.user("volatile 1"))
        await ask(session, wire, wire.user("hi"), wire.assistant("A"), wire.user("volatile 2"))


async def test_a_request_that_is_not_json_is_found(server: ModelServer, wire: Wire) -> None:
    session = server.open_session(Script(), wire.profile)
    async with httpx2.AsyncClient(trust_env=False) as client:
        answer = await client.post(wire.url(session), content=b"{half")
    assert answer.status_code == 400
    assert departures(session) == ["bad_request"]


async def test_a_bad_event_is_found(server: ModelServer, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    dialect = DIALECTS[wire.profile.dialect]
    renderer = type(dialect.renderer({}, 1))

    def begin(_: object) -> list[Json]:
        return []

    monkeypatch.setattr(renderer, "begin", begin)
    session = server.open_session(one_step(), wire.profile)
    await ask(session, wire, wire.user("hi"))
    assert set(departures(session)) == {"bad_event"}


async def test_leaving_the_session_raises_unless_an_error_is_on_its_way(server: ModelServer) -> None:
    with (
        pytest.raises(ScriptViolation),
        server.open_session(one_step(), ANTHROPIC),
    ):
        pass
    with (
        pytest.raises(KeyError),
        server.open_session(one_step(), ANTHROPIC),
    ):
        raise KeyError


async def test_leaving_the_server_verifies_sessions_that_are_open() -> None:
    with (
        pytest.raises(ScriptViolation),
        ModelServer() as server,
    ):
        server.open_session(one_step(), ANTHROPIC)


async def test_a_script_is_played_once_only(server: ModelServer) -> None:
    script = Script()
    server.open_session(script, ANTHROPIC).close()
    with pytest.raises(ScriptError, match="already played"):
        server.open_session(script, ANTHROPIC)


async def test_a_step_that_is_not_there_is_an_error(server: ModelServer) -> None:
    session = server.open_session(one_step(), ANTHROPIC)
    with pytest.raises(ScriptError, match=r"lane main has 1 step\(s\), so no step 1"):
        session.step(1)
    session.close(verify=False)


async def test_an_unknown_dialect_is_an_error(server: ModelServer) -> None:
    with pytest.raises(ScriptError, match="known: anthropic-messages, openai-chat, openai-responses"):
        server.open_session(Script(), HarnessProfile(dialect="morse", toolset=ANTHROPIC.toolset))


async def test_a_call_id_used_twice_is_an_error() -> None:
    script = Script()
    script.main([shell("ls", id="c")])
    with pytest.raises(ScriptError, match="'c' is used twice"):
        script.main([shell("ls", id="c")])


async def test_a_gate_of_another_script_is_an_error() -> None:
    with pytest.raises(ScriptError, match="another script"):
        Script().main([hold(Script().gate("mid"))])


async def test_every_kind_of_violation_has_a_test() -> None:
    """This file provokes each kind; a new kind must come with a test that names it."""
    text = (await anyio.Path(__file__).read_text()) + (
        await anyio.Path(__file__).with_name("test_faults.py").read_text()
    )
    assert [kind for kind in ViolationKind if f'"{kind}"' not in text] == []


async def test_a_steer_is_expected_after_the_last_answer_and_once(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([say("A")], sees=steer_text("be quick"), times=3)
    session = server.open_session(script, wire.profile)
    ahead = [wire.user("hi"), wire.call("c"), wire.result("c", "out")]
    await ask(session, wire, *ahead, wire.user("be quick"))
    assert session.violations == ()
    session.expect_rewind()
    await ask(session, wire, *ahead, wire.user("be quick"), wire.user("be quick"))
    session.expect_rewind()
    await ask(session, wire, wire.user("be quick"), *ahead)
    assert [(violation.kind, violation.request) for violation in session.violations] == [
        (ViolationKind.SEES_MISMATCH, 2),
        (ViolationKind.SEES_MISMATCH, 3),
    ]
    session.close(verify=False)


def one_step(*, times: int = 1) -> Script:
    script = Script()
    script.lane(Lane.MAIN, [say("A")], times=times)
    return script
