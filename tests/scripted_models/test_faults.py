"""Each fault reaches the client as the script says, for as many requests as it says."""

from __future__ import annotations

import httpx2
import pytest

from checkrein.scripted_models import (
    ModelServer,
    NativeCall,
    Script,
    ScriptError,
    ScriptViolation,
    cut,
    fail,
    hold,
    raw,
    say,
    shell,
    tool,
)
from tests.scripted_models.sdk_types import type_of
from tests.scripted_models.wire import ANTHROPIC, RESPONSES, WIRES, Wire, ask, events_of, kinds

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 503, 529])
async def test_a_failure_has_the_status_the_headers_and_the_dialects_shape(
    server: ModelServer, wire: Wire, status: int
) -> None:
    script = Script()
    script.main([fail(status, message="scripted", headers={"retry-after": "3"})])
    with server.open_session(script, wire.profile) as session:
        answer = await ask(session, wire, wire.user("hi"))
    assert (answer.status_code, answer.headers["retry-after"]) == (status, "3")
    assert answer.json()["error"]["message"] == "scripted"
    assert ("type" in answer.json()) == (wire.profile is ANTHROPIC)


async def test_a_failure_answers_as_many_requests_as_it_says(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([fail(500, times=2)])
    script.main([say("fine")])
    with server.open_session(script, wire.profile) as session:
        statuses = [(await ask(session, wire, wire.user("hi"))).status_code for _ in range(3)]
    assert statuses == [500, 500, 200]


async def test_a_clean_cut_ends_the_body_without_the_end_of_the_stream(
    server: ModelServer, wire: Wire
) -> None:
    script = Script()
    script.main([say("half an answer"), cut("clean")])
    with server.open_session(script, wire.profile) as session:
        answer = await ask(session, wire, wire.user("hi"))
    last = type_of(events_of(answer.text)[-1])
    assert last in ("content_block_delta", "response.output_text.delta", "chat.completion.chunk")
    assert answer.headers["connection"] == "close"


async def test_a_reset_breaks_the_connection_after_what_was_said(server: ModelServer, wire: Wire) -> None:
    script = Script()
    gate = script.gate("sent")
    script.main([say("half an answer"), hold(gate), cut("reset")])
    with server.open_session(script, wire.profile) as session:
        async with (
            httpx2.AsyncClient(timeout=20, trust_env=False) as client,
            client.stream("POST", wire.url(session), json=wire.body(wire.user("hi"))) as answer,
        ):
            chunks = answer.aiter_text()
            assert "half" in await anext(chunks)
            gate.open()
            with pytest.raises(httpx2.ReadError):
                await anext(chunks)


async def test_a_reset_before_anything_was_said_sends_no_headers(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([cut("reset")])
    with (
        server.open_session(script, wire.profile) as session,
        pytest.raises((httpx2.ReadError, httpx2.RemoteProtocolError)),
    ):
        await ask(session, wire, wire.user("hi"))


async def test_a_cut_plain_answer_lacks_half_of_its_body(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([say("half an answer"), cut("clean")])
    with (
        server.open_session(script, wire.profile) as session,
        pytest.raises(httpx2.RemoteProtocolError, match=r"incomplete|peer closed"),
    ):
        await ask(session, wire, wire.user("hi"), stream=False)


async def test_a_step_can_answer_several_requests_also_with_a_cut(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([say("half"), cut("clean")], times=2)
    script.main([say("whole")])
    with server.open_session(script, wire.profile) as session:
        bodies = [(await ask(session, wire, wire.user("hi"))).text for _ in range(3)]
        assert [request.step for request in session.requests] == [0, 0, 1]
    assert ["half" in body for body in bodies] == [True, True, False]


async def test_raw_bytes_go_out_as_they_are_and_nothing_else(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([raw(b"event: x\ndata: {bad\n\n"), raw("more")])
    script.main([raw("<html>", content_type="text/html")])
    with server.open_session(script, wire.profile) as session:
        first, second = [await ask(session, wire, wire.user("hi")) for _ in range(2)]
    assert first.content == b"event: x\ndata: {bad\n\nmore"
    assert second.headers["content-type"] == "text/html"


async def test_raw_bytes_may_stand_within_a_stream_that_then_goes_on(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([say("before "), raw(b"data: {bad\n\n"), say("after")])
    with server.open_session(script, wire.profile) as session:
        answer = await ask(session, wire, wire.user("hi"))
    assert answer.text.index("before") < answer.text.index("{bad") < answer.text.index("after")
    assert type_of(events_of(answer.text.replace("data: {bad\n\n", ""))[-1]) in (
        "message_stop",
        "response.completed",
        "[DONE]",
    )


async def test_nothing_can_follow_the_end_of_an_answer() -> None:
    script = Script()
    for reply in ([fail(500), say("x")], [cut(), say("x")]):
        with pytest.raises(ScriptError, match="nothing can follow"):
            script.main(reply)


async def test_an_unknown_cut_is_an_error() -> None:
    with pytest.raises(ScriptError, match="allowed: clean, reset"):
        cut("half")


async def test_a_tool_that_takes_text_and_is_not_custom_is_the_kits_error(server: ModelServer) -> None:
    class Wrong:
        def shell(self, command: str) -> NativeCall:
            return NativeCall(name="Bash", input=command)

        write_file = edit_file = read_file = shell  # pyright: ignore[reportAssignmentType] never called

    profile = type(RESPONSES)(dialect="openai-responses", toolset=Wrong())  # pyright: ignore[reportArgumentType] as above
    script = Script()
    script.main([shell("ls")])
    session = server.open_session(script, profile)
    async with httpx2.AsyncClient(timeout=20, trust_env=False) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post(
                f"{session.base_url}/v1/responses", json={"model": "m", "stream": True, "input": "hi"}
            )
    with pytest.raises(ScriptViolation) as caught:
        session.close()
    assert "kit_error" in kinds(caught.value.violations)


async def test_a_custom_tool_is_a_custom_call_in_responses(server: ModelServer) -> None:
    script = Script()
    script.main([tool("apply_patch", "*** Begin Patch", id="p")])
    with server.open_session(script, RESPONSES) as session:
        async with httpx2.AsyncClient(timeout=20, trust_env=False) as client:
            body = {"model": "m", "stream": True, "input": "hi"}
            answer = await client.post(f"{session.base_url}/v1/responses", json=body)
    items = [
        event["item"] for event in events_of(answer.text) if event["type"] == "response.output_item.done"
    ]
    assert items == [
        {
            "id": "ctc_scripted_0001_0",
            "type": "custom_tool_call",
            "call_id": "p",
            "name": "apply_patch",
            "input": "*** Begin Patch",
        }
    ]


async def test_a_custom_tool_is_the_kits_error_in_chat(server: ModelServer) -> None:
    wire = WIRES["openai-chat"]
    script = Script()
    script.main([tool("apply_patch", "*** Begin Patch", id="p")])
    session = server.open_session(script, wire.profile)
    with pytest.raises(httpx2.RemoteProtocolError):
        await ask(session, wire, wire.user("hi"))
    with pytest.raises(ScriptViolation, match="streams no custom calls"):
        session.close()


async def test_a_step_answers_every_request_until_its_gate_is_opened(server: ModelServer, wire: Wire) -> None:
    script = Script()
    repaired = script.gate("repaired")
    script.main([say("half"), cut()], until=repaired)
    script.main([say("whole")])
    with server.open_session(script, wire.profile) as session:
        for _ in range(3):
            assert b"half" in (await ask(session, wire, wire.user("hi"))).content
        repaired.open()
        assert b"whole" in (await ask(session, wire, wire.user("hi"))).content
