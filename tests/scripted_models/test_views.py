"""What the model saw, read from bodies of the shapes that the real harnesses send."""

from __future__ import annotations

import pytest

from checkrein.scripted_models import DIALECTS, HistoryItem, ItemKind, Sees, ToolCall, ToolResult, View, sees
from checkrein.scripted_models.json_reading import JsonObject

#: Trimmed from recorded requests: a steer while a tool runs, Claude Code 2.1.332 / 2.1.296 and Codex 0.171.0.
STEERED: dict[str, tuple[str, JsonObject]] = {
    "claude-code 2.1.332, text block behind the result": (
        "anthropic-messages",
        {
            "system": [{"type": "text", "text": "You are an agent."}],
            "messages": [
                {"role": "user", "content": "build it"},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "c", "name": "Bash", "input": {}}],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c", "content": "built ok", "is_error": False},
                        {
                            "type": "text",
                            "text": "The user sent a new message:\nkeep it small\n\nThis is how",
                        },
                    ],
                },
            ],
        },
    ),
    "claude-code 2.1.332, inside the result": (
        "anthropic-messages",
        {
            "system": "You are an agent.",
            "messages": [
                {"role": "user", "content": "build it"},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "c", "name": "Bash", "input": {}}],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "c",
                            "content": [
                                {"type": "text", "text": "built ok\n\nThe user sent:\nkeep it small"}
                            ],
                        }
                    ],
                },
            ],
        },
    ),
    "claude-code 2.1.296, trailing system message": (
        "anthropic-messages",
        {
            "system": "You are an agent.",
            "messages": [
                {"role": "user", "content": "build it"},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "c", "name": "Bash", "input": {}}],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "c", "content": "built ok"}],
                },
                {"role": "system", "content": "The user sent a new message:\nkeep it small"},
            ],
        },
    ),
    "pi 1.6.0": (
        "openai-chat",
        {
            "messages": [
                {"role": "system", "content": "You are an agent."},
                {"role": "user", "content": "build it"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
                    ],
                },
                {"role": "tool", "content": "built ok\n", "tool_call_id": "c"},
                {"role": "user", "content": "keep it small"},
            ],
        },
    ),
    "codex 0.171.0": (
        "openai-responses",
        {
            "instructions": "You are an agent.",
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "build it"}]},
                {"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "c"},
                {"type": "function_call_output", "call_id": "c", "output": "Output:\nbuilt ok\n"},
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "keep it small"}],
                },
            ],
        },
    ),
}


@pytest.mark.parametrize("shape", sorted(STEERED))
def test_a_steer_is_found_wherever_the_harness_puts_it(shape: str) -> None:
    dialect, body = STEERED[shape]
    view = DIALECTS[dialect].read(body)
    assert "keep it small" in view.fresh_text
    assert "build it" not in view.fresh_text
    assert view.count("keep it small") == 1
    assert [call.id for call in view.calls] == ["c"]
    assert "built ok" in view.results["c"].text
    assert "You are an agent." in view.system_texts
    assert "build it" in view.user_texts
    expected = sees(
        user="build it", steer="keep it small", once="keep it small", result={"c": sees.ok("built ok")}
    )
    assert expected.mismatches(view) == ()


def test_responses_items_of_every_kind_are_read() -> None:
    body: JsonObject = {
        "input": [
            {"role": "developer", "content": "be brief"},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "hello"}],
            },
            {"type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": "*** x"},
            {
                "type": "custom_tool_call_output",
                "call_id": "p",
                "output": [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}],
            },
            {"type": "additional_tools", "tools": ["x"]},
            {"role": "user", "content": [{"type": "input_image", "image_url": "x"}]},
        ]
    }
    view = DIALECTS["openai-responses"].read(body)
    assert [item.kind for item in view.history] == [
        ItemKind.SYSTEM,
        ItemKind.THINKING,
        ItemKind.ASSISTANT,
        ItemKind.CALL,
        ItemKind.RESULT,
        ItemKind.OTHER,
        ItemKind.OTHER,
    ]
    assert view.calls == (ToolCall(id="p", name="apply_patch", input="*** x"),)
    assert view.results == {"p": ToolResult(error=None, text="one\ntwo")}
    assert view.assistant_texts == ("hello",)


def test_chat_messages_of_every_kind_are_read() -> None:
    body: JsonObject = {
        "messages": [
            {"role": "developer", "content": "be brief"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": "x"}],
            },
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "p", "type": "custom", "custom": "x"}],
            },
            {"role": "tool", "tool_call_id": "p", "content": [{"type": "text", "text": "one"}]},
            {"role": "assistant", "content": "hello"},
            {"role": "system", "content": "a late instruction"},
        ]
    }
    view = DIALECTS["openai-chat"].read(body)
    assert view.prompt_texts == ("be brief",)
    assert [item.kind for item in view.history] == [
        ItemKind.USER,
        ItemKind.OTHER,
        ItemKind.CALL,
        ItemKind.RESULT,
        ItemKind.ASSISTANT,
        ItemKind.SYSTEM,
    ]
    assert view.results == {"p": ToolResult(error=None, text="one")}
    assert view.assistant_texts == ("hello",)


def test_an_input_that_is_one_text_is_the_users() -> None:
    assert DIALECTS["openai-responses"].read({"input": "hi"}).user_texts == ("hi",)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    "body", [{}, {"messages": 5, "input": 5}, {"messages": [5, None], "input": [5, None]}]
)
def test_a_body_of_an_unknown_shape_is_read_without_an_error(dialect: str, body: JsonObject) -> None:
    assert DIALECTS[dialect].read(body).user_texts == ()


def item(kind: ItemKind, text: str, *, id: str = "", error: bool | None = None) -> HistoryItem:
    return HistoryItem(kind=kind, text=text, id=id, error=error)


VIEW = View(
    prompt_texts=("prompt",),
    history=(
        item(ItemKind.USER, "go"),
        item(ItemKind.ASSISTANT, "on it"),
        item(ItemKind.CALL, "{}", id="good"),
        item(ItemKind.CALL, "{}", id="bad"),
        item(ItemKind.CALL, "{}", id="unknown"),
        item(ItemKind.RESULT, "fine", id="good", error=False),
        item(ItemKind.RESULT, "broken", id="bad", error=True),
        item(ItemKind.RESULT, "who knows", id="unknown"),
    ),
)


@pytest.mark.parametrize(
    "expected",
    [
        sees(user="go", assistant="on", system="prompt", once="fine"),
        sees(user=["g", "o"], lacks="nowhere", assistant_lacks="go", no_result="none"),
        sees(result={"good": "fine", "bad": ["bro", "ken"], "unknown": sees.has()}),
        sees(result={"good": sees.ok("fine"), "bad": sees.error("broken")}),
        # A dialect without an error mark contradicts neither expectation.
        sees(result={"unknown": sees.ok("who")}),
        sees(result={"unknown": sees.error("who")}),
        sees(steer=["fine", "who knows"]),
    ],
)
def test_an_expectation_that_is_met_has_no_mismatch(expected: Sees) -> None:
    assert expected.mismatches(VIEW) == ()


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        (sees(user="stop"), "no user text holds 'stop'"),
        (sees(assistant="done"), "no assistant text holds 'done'"),
        (sees(system="x"), "no system text holds 'x'"),
        (sees(steer="on it"), "nothing since the model's last answer holds 'on it'"),
        (sees(assistant_lacks="on"), "an assistant text holds 'on'"),
        (sees(lacks="fine"), "the history holds 'fine' 1 time(s)"),
        (sees(once="nowhere"), "0 time(s) instead of once"),
        (sees(once="o"), "5 time(s) instead of once"),
        (sees(result={"none": "x"}), "call 'none' has no result"),
        (sees(result={"good": "x"}), "does not hold 'x': 'fine'"),
        (sees(result={"good": sees.error()}), "has error=False, expected True"),
        (sees(result={"bad": sees.ok()}), "has error=True, expected False"),
        (sees(no_result="good"), "call 'good' has a result, which it must not"),
    ],
)
def test_an_expectation_that_is_not_met_says_what_is_wrong(expected: Sees, sentence: str) -> None:
    [found] = expected.mismatches(VIEW)
    assert sentence in found
