"""A good stream is accepted; each single defect in it is caught by the grammar or by the SDK's types."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import cast

import pytest

from checkrein.scripted_models import DIALECTS, NativeCall, Usage
from checkrein.scripted_models.dialect import Event, Part
from tests.scripted_models import sdk_types

Stream = list[Event]

#: Fields that the API itself calls optional or nullable: a stream without one is still a good stream.
OPTIONAL = {
    "anthropic-messages": (
        "content_block.caller",
        "content_block.citations",
        "delta.container",
        "delta.stop_details",
        "message.container",
        "message.context_management",
        "message.stop_details",
        "message.usage.cache_creation",
        "message.usage.inference_geo",
        "message.usage.service_tier",
        "*usage.cache_creation_input_tokens",
        "*usage.cache_read_input_tokens",
        "*usage.output_tokens_details",
        "*usage.server_tool_use",
        "usage.input_tokens",
    ),
    "openai-responses": (
        "*.encrypted_content",
        "item.content.*.logprobs",
        "part.logprobs",
        "response.background",
        "response.completed_at",
        "response.error",
        "response.incomplete_details",
        "response.instructions",
        "response.max_output_tokens",
        "response.max_tool_calls",
        "response.metadata",
        "response.previous_response_id",
        "response.prompt_cache_key",
        "response.reasoning*",
        "response.safety_identifier",
        "response.service_tier",
        "response.temperature",
        "response.text",
        "response.text.format",
        "response.text.verbosity",
        "response.top_logprobs",
        "response.top_p",
        "response.truncation",
        "response.user",
    ),
    "openai-chat": (
        "choices.*.delta.refusal",
        "choices.*.logprobs",
        "service_tier",
        "system_fingerprint",
        "usage.*_details*",
    ),
}
#: The usage of a response is only known, and only required, at its end.
NO_USAGE_YET = ("response.created", "response.in_progress")


@dataclass(frozen=True, slots=True)
class Good:
    """A good stream and what it says."""

    dialect: str
    events: Stream
    parts: list[Part]


def good(dialect: str) -> Good:
    body: dict[str, object] = {"model": "m", "stream_options": {"include_usage": True}}
    renderer = DIALECTS[dialect].renderer(body, 1)
    events = renderer.begin()
    for word in ("let", " me", " think"):
        events += renderer.thinking(word)
    for word in ("I", " will", " look"):
        events += renderer.text(word)
    for id, name in (("call_1", "Bash"), ("call_2", "Read")):
        events += renderer.call_begin(id, NativeCall(name=name, input={"command": "ls"}))
        for piece in ('{"comm', 'and":', '"ls"}'):
            events += renderer.call_fragment(piece)
    if dialect == "openai-responses":
        events += renderer.call_begin("call_3", NativeCall(name="apply_patch", input="*** x", custom=True))
        events += renderer.call_fragment("*** ")
        events += renderer.call_fragment("x")
    events += renderer.finish(Usage())
    return Good(dialect, copy.deepcopy(events), renderer.parts)


GOOD = {dialect: good(dialect) for dialect in DIALECTS}


def problems(stream: Good, events: Stream) -> list[str]:
    grammar = DIALECTS[stream.dialect].grammar()
    found = [problem for event in events for problem in grammar.feed(event)]
    found += grammar.end(stream.parts)
    return found + [problem for event in events for problem in sdk_types.complaints(stream.dialect, event)]


def renumbered(events: Stream) -> Stream:
    """As a faulty server would number them: the defect is then not given away by the numbers."""
    return [
        {**event, "sequence_number": place} if "sequence_number" in event else event
        for place, event in enumerate(events)
    ]


def labelled(event: Event, place: int) -> str:
    return f"{place}-{sdk_types.type_of(event)}"


def places() -> Iterator[object]:
    """Every event except pings, which may be anywhere or nowhere."""
    for stream in GOOD.values():
        for place, event in enumerate(stream.events):
            if event.get("type") != "ping":
                yield pytest.param(stream, place, id=f"{stream.dialect}-{labelled(event, place)}")


def neighbours() -> Iterator[object]:
    for stream in GOOD.values():
        for place, (one, two) in enumerate(zip(stream.events, stream.events[1:], strict=False)):
            if "ping" not in (one.get("type"), two.get("type")):
                yield pytest.param(stream, place, id=f"{stream.dialect}-{labelled(one, place)}")


def fields() -> Iterator[object]:
    for stream in GOOD.values():
        for place, event in enumerate(stream.events):
            for path in paths(event):
                if event.get("type") != "ping" and not _optional(
                    stream.dialect, sdk_types.type_of(event), path
                ):
                    name = ".".join(map(str, path))
                    yield pytest.param(
                        stream, place, path, id=f"{stream.dialect}-{labelled(event, place)}-{name}"
                    )


def paths(value: object, before: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every field within an event; the inside of a call's input is the caller's own."""
    if isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            yield (*before, name)
            yield from paths(inner, (*before, name))
    elif isinstance(value, list):
        for place, inner in enumerate(cast("list[object]", value)):
            yield from paths(inner, (*before, place))


def _optional(dialect: str, event: str, path: tuple[str | int, ...]) -> bool:
    name = ".".join(map(str, path))
    if name == "response.usage" and event in NO_USAGE_YET:
        return True
    return any(fnmatchcase(name, pattern) for pattern in OPTIONAL[dialect])


def without(event: Event, path: tuple[str | int, ...]) -> Event:
    changed = copy.deepcopy(event)
    inner: object = changed
    for step in path[:-1]:
        inner = cast("dict[str | int, object]", inner)[step]
    del cast("dict[str | int, object]", inner)[path[-1]]
    return changed


def with_the_next_number(event: Event, path: tuple[str | int, ...]) -> Event:
    changed = copy.deepcopy(event)
    inner: object = changed
    for step in path[:-1]:
        inner = cast("dict[str | int, object]", inner)[step]
    holder = cast("dict[str | int, int]", inner)
    holder[path[-1]] += 1
    return changed


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_the_good_stream_is_accepted(dialect: str) -> None:
    assert problems(GOOD[dialect], GOOD[dialect].events) == []


@pytest.mark.parametrize(("stream", "place"), list(places()))
def test_a_dropped_event_is_caught(stream: Good, place: int) -> None:
    assert problems(stream, renumbered(stream.events[:place] + stream.events[place + 1 :]))


@pytest.mark.parametrize(("stream", "place"), list(places()))
def test_a_doubled_event_is_caught(stream: Good, place: int) -> None:
    assert problems(stream, renumbered(stream.events[: place + 1] + stream.events[place:]))


@pytest.mark.parametrize(("stream", "place"), list(neighbours()))
def test_swapped_neighbours_are_caught(stream: Good, place: int) -> None:
    events = list(stream.events)
    events[place], events[place + 1] = events[place + 1], events[place]
    assert problems(stream, renumbered(events))


@pytest.mark.parametrize(("stream", "place", "path"), list(fields()))
def test_a_dropped_field_is_caught(stream: Good, place: int, path: tuple[str | int, ...]) -> None:
    events = list(stream.events)
    events[place] = without(events[place], path)
    assert problems(stream, events)


@pytest.mark.parametrize(("stream", "place"), list(places()))
def test_a_wrong_index_is_caught(stream: Good, place: int) -> None:
    names = ("index", "output_index", "content_index", "summary_index", "sequence_number")
    for path in paths(stream.events[place]):
        if path[-1] in names:
            events = list(stream.events)
            events[place] = with_the_next_number(events[place], path)
            assert problems(stream, events), path


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_a_stream_that_stops_early_is_caught(dialect: str) -> None:
    stream = GOOD[dialect]
    for length in range(len(stream.events)):
        assert problems(stream, stream.events[:length]), length


Mutation = Callable[[Event], Event]


def of_an_unknown_type(event: Event) -> Event:
    return {**event, "object" if "object" in event else "type": "bogus"}


def with_an_unknown_field(event: Event) -> Event:
    return {**event, "bogus": 1}


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("mutation", [of_an_unknown_type, with_an_unknown_field])
def test_a_strange_event_is_caught(dialect: str, mutation: Mutation) -> None:
    stream = GOOD[dialect]
    for place, event in enumerate(stream.events):
        if event.get("type") != "ping":
            assert problems(stream, [*stream.events[:place], mutation(event), *stream.events[place + 1 :]]), (
                place
            )


def test_sequence_numbers_that_do_not_start_at_nought_are_caught() -> None:
    stream = GOOD["openai-responses"]
    shifted: Stream = [{**event, "sequence_number": place + 1} for place, event in enumerate(stream.events)]
    assert problems(stream, shifted)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_a_stream_that_says_something_else_is_caught(dialect: str) -> None:
    stream, other = GOOD[dialect], good(dialect)
    other.parts[-2].text = '{"command":"rm"}'
    grammar = DIALECTS[dialect].grammar()
    for event in stream.events:
        assert grammar.feed(event) == []
    assert grammar.end(other.parts)
