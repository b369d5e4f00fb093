"""Every event that the server emits has the form that the official SDKs' types and the grammar require."""

from __future__ import annotations

import pytest

from checkrein.scripted_models import (
    DIALECTS,
    ModelServer,
    Script,
    Usage,
    edit_file,
    fail,
    pause,
    read_file,
    say,
    shell,
    think,
    tool,
    write_file,
)
from checkrein.scripted_models.dialect import Event
from checkrein.scripted_models.json_reading import as_list, as_object, as_text
from checkrein.scripted_models.reply import Element
from tests.scripted_models import sdk_types
from tests.scripted_models.wire import Wire, ask, events_of

pytestmark = pytest.mark.anyio

ODD = "two  spaces,\ttab,\nline\u2028separator, 🐴 astral, e\u0301 combining, \\ \" ' /  "
REPLIES: dict[str, list[Element]] = {
    "nothing": [],
    "text": [say("Hello there, this is text.")],
    "odd-text": [say(ODD)],
    "text-in-parts": [say("one "), pause(0), say("two "), say("three")],
    "thinking": [think("let me think"), say("Hello")],
    "thinking-alone": [think("hm")],
    "shell": [say("Running."), shell("ls -la && echo 'done'", id="call_1")],
    "several-tools": [shell("ls", id="a"), read_file("a.txt", id="b"), say("and"), shell("pwd", id="c")],
    "files": [write_file("n.txt", "x\ny\n", id="w"), edit_file("n.txt", "x", "z", id="e")],
    "long-input": [tool("Bash", {"command": "x" * 5000, "n": [1, {"a": None}]}, id="long")],
    "empty-input": [tool("Bash", {}, id="empty")],
    "breaks-off": [say("Hello "), fail(529, message="overloaded")],
}
USAGE = Usage(input=123, output=45, cached=23, reasoning=7)


@pytest.mark.parametrize("name", REPLIES)
async def test_every_event_passes_the_sdk_types_and_the_grammar(
    server: ModelServer, wire: Wire, name: str
) -> None:
    script = Script()
    script.main(REPLIES[name], usage=USAGE)
    with server.open_session(script, wire.profile) as session:
        answer = await ask(session, wire, wire.user("hi"))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_of(answer.text)
    assert [
        problem for event in events for problem in sdk_types.complaints(wire.profile.dialect, event)
    ] == []
    assert grammar_complaints(wire.profile.dialect, events) == []


@pytest.mark.parametrize("name", [name for name in REPLIES if name not in ("breaks-off", "files")])
async def test_the_plain_answer_passes_the_sdk_types(server: ModelServer, wire: Wire, name: str) -> None:
    script = Script()
    script.main(REPLIES[name], usage=USAGE)
    with server.open_session(script, wire.profile) as session:
        answer = await ask(session, wire, wire.user("hi"), stream=False)
    assert answer.headers["content-type"] == "application/json"
    assert sdk_types.model_complaints(sdk_types.PLAIN[wire.profile.dialect], answer.json()) == []


async def test_odd_text_arrives_character_by_character_the_same(server: ModelServer, wire: Wire) -> None:
    script = Script()
    script.main([say(ODD)])
    with server.open_session(script, wire.profile) as session:
        answer = await ask(session, wire, wire.user("hi"))
    said = ""
    for event in events_of(answer.text):
        if event.get("type") == "response.output_text.delta":
            said += as_text(event["delta"])
        said += as_text(as_object(event.get("delta")).get("text"))
        for choice in as_list(event.get("choices")):
            said += as_text(as_object(as_object(choice).get("delta")).get("content"))
    assert said == ODD


def grammar_complaints(dialect: str, events: list[Event]) -> list[str]:
    grammar = DIALECTS[dialect].grammar()
    return [problem for event in events for problem in grammar.feed(event)] + grammar.end()
