"""The official SDKs, as real clients, get what the script says."""

from __future__ import annotations

import anthropic
import httpx2
import openai
import pytest
from anthropic.types import MessageParam, ToolParam
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionUserMessageParam
from openai.types.responses import FunctionToolParam

from checkrein.scripted_models import ModelServer, ModelSession, Script, Usage, cut, fail, say, shell, think
from tests.scripted_models.wire import ANTHROPIC, CHAT, RESPONSES

pytestmark = pytest.mark.anyio

BASH: ToolParam = {"name": "Bash", "input_schema": {"type": "object"}}
HI: list[MessageParam] = [{"role": "user", "content": "hi"}]
EXEC: FunctionToolParam = {"type": "function", "name": "exec_command", "parameters": {}, "strict": False}
SHELL: ChatCompletionFunctionToolParam = {"type": "function", "function": {"name": "bash", "parameters": {}}}
ASKED: list[ChatCompletionUserMessageParam] = [{"role": "user", "content": "hi"}]
USAGE = Usage(input=30, output=12, cached=10)


def claude(session: ModelSession, *, retries: int = 0) -> anthropic.AsyncAnthropic:
    client = anthropic.DefaultAsyncHttpxClient(trust_env=False)
    return anthropic.AsyncAnthropic(
        api_key="k", base_url=session.base_url, max_retries=retries, http_client=client
    )


def gpt(session: ModelSession, *, retries: int = 0) -> openai.AsyncOpenAI:
    client = openai.DefaultAsyncHttpxClient(trust_env=False)
    url = f"{session.base_url}/v1"
    return openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=retries, http_client=client)


def thinking_text_and_tools() -> Script:
    script = Script()
    reply = [think("hm, well"), say("Running it."), shell("ls", id="one"), shell("pwd", id="two")]
    script.main(reply, usage=USAGE)
    return script


async def test_anthropic_streams_thinking_text_and_tools(server: ModelServer) -> None:
    with server.open_session(thinking_text_and_tools(), ANTHROPIC) as session:
        async with claude(session).messages.stream(
            model="m", max_tokens=9, messages=HI, tools=[BASH]
        ) as stream:
            message = await stream.get_final_message()
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert [block.text for block in message.content if block.type == "text"] == ["Running it."]
    assert [(b.id, b.name) for b in message.content if b.type == "tool_use"] == [
        ("one", "Bash"),
        ("two", "Bash"),
    ]
    assert message.stop_reason == "tool_use"
    usage = message.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens) == (20, 12, 10)


async def test_anthropic_gets_the_same_answer_plain(server: ModelServer) -> None:
    with server.open_session(thinking_text_and_tools(), ANTHROPIC) as session:
        message = await claude(session).messages.create(model="m", max_tokens=9, messages=HI, tools=[BASH])
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert next(b.input for b in message.content if b.type == "tool_use") == {
        "command": "ls",
        "description": "run it",
    }


async def test_anthropic_counts_tokens(server: ModelServer) -> None:
    with server.open_session(Script(count_tokens=321), ANTHROPIC) as session:
        counted = await claude(session).messages.count_tokens(model="m", messages=HI)
        assert counted.input_tokens == 321
        assert [str(request.lane) for request in session.requests] == ["count_tokens"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, anthropic.AuthenticationError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
    ],
)
async def test_anthropic_raises_its_own_error(
    server: ModelServer, status: int, error: type[anthropic.APIStatusError]
) -> None:
    script = Script()
    script.main([fail(status, message="no such luck", headers={"retry-after": "7"})])
    with (
        server.open_session(script, ANTHROPIC) as session,
        pytest.raises(error, match="no such luck") as caught,
    ):
        await claude(session).messages.create(model="m", max_tokens=9, messages=HI, tools=[BASH])
    assert caught.value.response.headers["retry-after"] == "7"


async def test_anthropic_retries_and_then_is_answered(server: ModelServer) -> None:
    script = Script()
    script.main([fail(529, times=2, headers={"retry-after-ms": "1"})])
    script.main([say("At last.")])
    with server.open_session(script, ANTHROPIC) as session:
        message = await claude(session, retries=2).messages.create(
            model="m", max_tokens=9, messages=HI, tools=[BASH]
        )
        assert [request.step for request in session.main_requests] == [0, 0, 1]
    assert [block.text for block in message.content if block.type == "text"] == ["At last."]


async def test_anthropic_sees_a_reset_connection(server: ModelServer) -> None:
    script = Script()
    script.main([say("Half an "), cut("reset")])
    with server.open_session(script, ANTHROPIC) as session:
        async with claude(session).messages.stream(
            model="m", max_tokens=9, messages=HI, tools=[BASH]
        ) as stream:
            with pytest.raises(httpx2.ReadError):
                await stream.get_final_message()


async def test_openai_streams_thinking_text_and_tools(server: ModelServer) -> None:
    with server.open_session(thinking_text_and_tools(), RESPONSES) as session:
        async with gpt(session).responses.stream(model="m", input="hi", tools=[EXEC]) as stream:
            response = await stream.get_final_response()
    assert [item.type for item in response.output] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
    ]
    assert response.output_text == "Running it."
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.total_tokens) == (30, 42)
    assert response.usage.input_tokens_details.cached_tokens == 10


async def test_openai_gets_the_same_answer_plain(server: ModelServer) -> None:
    with server.open_session(thinking_text_and_tools(), RESPONSES) as session:
        response = await gpt(session).responses.create(model="m", input="hi", tools=[EXEC])
    calls = [(item.call_id, item.name) for item in response.output if item.type == "function_call"]
    assert calls == [("one", "exec_command"), ("two", "exec_command")]


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, openai.AuthenticationError), (429, openai.RateLimitError), (500, openai.InternalServerError)],
)
async def test_openai_raises_its_own_error(
    server: ModelServer, status: int, error: type[openai.APIStatusError]
) -> None:
    script = Script()
    script.main([fail(status, message="no such luck")])
    with (
        server.open_session(script, RESPONSES) as session,
        pytest.raises(error, match="no such luck"),
    ):
        await gpt(session).responses.create(model="m", input="hi", tools=[EXEC])


async def test_openai_notices_a_stream_without_an_end(server: ModelServer) -> None:
    script = Script()
    script.main([say("Half an "), cut("clean")])
    with server.open_session(script, RESPONSES) as session:
        async with gpt(session).responses.stream(model="m", input="hi", tools=[EXEC]) as stream:
            with pytest.raises(RuntimeError, match=r"response\.completed"):
                await stream.get_final_response()


async def test_openai_reads_a_failure_within_the_stream(server: ModelServer) -> None:
    script = Script()
    script.main([say("Half an "), fail(429, message="slow down")])
    with server.open_session(script, RESPONSES) as session:
        stream = await gpt(session).responses.create(model="m", input="hi", tools=[EXEC], stream=True)
        last = [event async for event in stream][-1]
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert (last.response.error.code, last.response.error.message) == ("rate_limit_exceeded", "slow down")


async def test_openai_lists_no_models(server: ModelServer) -> None:
    with server.open_session(Script(), RESPONSES) as session:
        assert [model async for model in gpt(session).models.list()] == []
        assert session.requests == ()


async def test_openai_side_request_with_a_schema_gets_json(server: ModelServer) -> None:
    script = Script(side="a title")
    schema: dict[str, object] = {"type": "object", "properties": {"title": {"type": "string"}}}
    with server.open_session(script, RESPONSES) as session:
        response = await gpt(session).responses.create(
            model="m",
            input="Generate a title",
            text={"format": {"type": "json_schema", "name": "t", "schema": schema}},
        )
        assert [str(request.lane) for request in session.requests] == ["side"]
    assert response.output_text == '{"title":"a title"}'


async def test_chat_streams_text_and_tools_and_counts_the_thinking(server: ModelServer) -> None:
    with server.open_session(thinking_text_and_tools(), CHAT) as session:
        async with gpt(session).chat.completions.stream(
            model="m", messages=ASKED, tools=[SHELL], stream_options={"include_usage": True}
        ) as stream:
            completion = await stream.get_final_completion()
    [choice] = completion.choices
    assert (choice.message.content, choice.finish_reason) == ("Running it.", "tool_calls")
    calls = [call for call in choice.message.tool_calls or () if call.type == "function"]
    assert [(call.id, call.function.name, call.function.arguments) for call in calls] == [
        ("one", "bash", '{"command": "ls"}'),
        ("two", "bash", '{"command": "pwd"}'),
    ]
    usage = completion.usage
    assert usage is not None
    assert usage.prompt_tokens_details is not None
    assert (usage.prompt_tokens, usage.total_tokens, usage.prompt_tokens_details.cached_tokens) == (
        30,
        42,
        10,
    )


async def test_chat_tells_no_usage_that_was_not_asked_for(server: ModelServer) -> None:
    with server.open_session(thinking_text_and_tools(), CHAT) as session:
        stream = await gpt(session).chat.completions.create(
            model="m", messages=ASKED, tools=[SHELL], stream=True
        )
        chunks = [chunk async for chunk in stream]
    assert [chunk.usage for chunk in chunks] == [None] * len(chunks)
    assert [choice.finish_reason for choice in chunks[-1].choices] == ["tool_calls"]


async def test_chat_gets_the_same_answer_plain(server: ModelServer) -> None:
    with server.open_session(thinking_text_and_tools(), CHAT) as session:
        completion = await gpt(session).chat.completions.create(model="m", messages=ASKED, tools=[SHELL])
    [choice] = completion.choices
    assert choice.message.content == "Running it."
    assert [call.id for call in choice.message.tool_calls or ()] == ["one", "two"]


async def test_chat_raises_its_own_error_also_within_a_stream(server: ModelServer) -> None:
    script = Script()
    script.main([fail(401, message="no such key")])
    script.main([say("Half an "), fail(500, message="it broke")])
    with server.open_session(script, CHAT) as session:
        completions = gpt(session).chat.completions
        with pytest.raises(openai.AuthenticationError, match="no such key"):
            await completions.create(model="m", messages=ASKED, tools=[SHELL])
        stream = await completions.create(model="m", messages=ASKED, tools=[SHELL], stream=True)
        with pytest.raises(openai.APIError, match="it broke"):
            async for _ in stream:
                pass


async def test_chat_side_request_with_a_schema_gets_json(server: ModelServer) -> None:
    script = Script(side="a title")
    schema: dict[str, object] = {"type": "object", "properties": {"title": {"type": "string"}}}
    with server.open_session(script, CHAT) as session:
        completion = await gpt(session).chat.completions.create(
            model="m",
            messages=ASKED,
            response_format={"type": "json_schema", "json_schema": {"name": "t", "schema": schema}},
        )
        assert [str(request.lane) for request in session.requests] == ["side"]
    assert completion.choices[0].message.content == '{"title":"a title"}'
