"""The official SDKs' own event types, used strictly: what they reject, and what they do not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, cast, get_args, get_origin

import pydantic
from anthropic.types.beta import BetaMessage, BetaMessageTokensCount, BetaRawMessageStreamEvent
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel

#: Real events that the SDK's union does not hold.
UNTYPED = {
    "anthropic-messages": {"ping", "error"},
    "openai-responses": set[str](),
    "openai-chat": {"error", "[DONE]"},
}
PLAIN: dict[str, type[BaseModel]] = {
    "anthropic-messages": BetaMessage,
    "openai-responses": Response,
    "openai-chat": ChatCompletion,
}
TOKEN_COUNT = BetaMessageTokensCount


def _by_type(union: object) -> dict[str, type[BaseModel]]:
    members = get_args(union)
    if get_origin(union) is Annotated:
        members = get_args(members[0])
    table: dict[str, type[BaseModel]] = {}
    for member in members:
        for name in get_args(member.model_fields["type"].annotation):
            table[name] = member
    return table


EVENTS = {
    "anthropic-messages": _by_type(BetaRawMessageStreamEvent),
    "openai-responses": _by_type(ResponseStreamEvent),
    "openai-chat": {"chat.completion.chunk": ChatCompletionChunk},
}


def type_of(event: Mapping[str, object]) -> str:
    """The name of an event's type: Chat Completions has chunks, errors, and the end."""
    if "error" in event and "type" not in event:
        return "error"
    return str(event.get("type", event.get("object", next(iter(event), ""))))


def complaints(dialect: str, event: Mapping[str, object]) -> list[str]:
    """What is wrong with one event by the SDK's types."""
    name = type_of(event)
    if name in UNTYPED[dialect]:
        return []
    model = EVENTS[dialect].get(name)
    return [f"unknown event type {name}"] if model is None else model_complaints(model, event)


def model_complaints(model: type[BaseModel], value: Mapping[str, object]) -> list[str]:
    """What is wrong with a JSON object by one SDK type: validated strictly, and no field unknown to it."""
    try:
        parsed = model.model_validate(value, strict=True)
    except pydantic.ValidationError as error:
        return [f"{'.'.join(map(str, found['loc']))}: {found['msg']}" for found in error.errors()]
    return [f"field unknown to the SDK: {path}" for path in _unknown(parsed, model.__name__)]


def _unknown(value: object, path: str) -> Iterator[str]:
    if isinstance(value, BaseModel):
        for name in value.model_extra or {}:
            yield f"{path}.{name}"
        for name in type(value).model_fields:
            yield from _unknown(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, list):
        for place, item in enumerate(cast("list[object]", value)):
            yield from _unknown(item, f"{path}[{place}]")
