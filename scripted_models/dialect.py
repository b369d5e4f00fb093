"""The interface of a dialect: one wire format of model API. Each dialect has a folder of its own."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from checkrein.scripted_models.json_reading import JsonObject
from checkrein.scripted_models.lanes import Lane
from checkrein.scripted_models.profile import NativeCall, ParsedRequest
from checkrein.scripted_models.reply import Usage
from checkrein.scripted_models.views import HistoryItem, View

#: One event of a stream, or one JSON answer.
Event = dict[str, object]


class PartKind(StrEnum):
    """What one part of an answer is."""

    TEXT = "text"
    THINKING = "thinking"
    CALL = "call"


@dataclass(slots=True, kw_only=True)
class Part:
    """One part of an answer; `text` is the text said or thought, or a call's input as sent."""

    kind: PartKind
    text: str = ""
    id: str = ""
    name: str = ""


class Route(StrEnum):
    """What a path is for."""

    MODEL = "model"
    COUNT_TOKENS = "count_tokens"
    MODELS = "models"
    OTHER = "other"


class Renderer(Protocol):
    """Renders one answer, piece by piece; each method returns the events to send now."""

    @property
    def parts(self) -> list[Part]:
        """What has been rendered so far."""
        ...

    def begin(self) -> list[Event]: ...
    def text(self, fragment: str) -> list[Event]: ...
    def thinking(self, fragment: str) -> list[Event]: ...
    def call_begin(self, id: str, call: NativeCall) -> list[Event]: ...
    def call_fragment(self, fragment: str) -> list[Event]: ...
    def finish(self, usage: Usage) -> list[Event]: ...
    def failure(self, status: int, message: str) -> list[Event]: ...

    def plain(self, usage: Usage) -> Event:
        """Return the whole answer as one JSON object, for a request that did not ask for a stream."""
        ...


class Grammar(Protocol):
    """Checks one stream: order, nesting, indices, and at the end whether it said what it was to say."""

    def feed(self, event: Event) -> list[str]:
        """Take the next event; return a sentence for each thing wrong with it."""
        ...

    def end(self, expected: list[Part] | None = None) -> list[str]:
        """The stream is over; return what is missing, or differs from the expected parts."""
        ...


class Dialect(Protocol):
    """One wire format."""

    @property
    def name(self) -> str: ...

    def route(self, method: str, path: str) -> Route: ...
    def read(self, body: JsonObject) -> View: ...
    def renderer(self, body: JsonObject, number: int) -> Renderer: ...

    def frame(self, event: Event) -> bytes:
        """Return one event as it stands in the stream, as a server-sent event."""
        ...

    def grammar(self) -> Grammar: ...
    def error(self, status: int, message: str) -> Event: ...
    def token_count(self, tokens: int) -> Event: ...
    def models(self) -> Event: ...
    def classify(self, request: ParsedRequest) -> Lane: ...
    def conversation(self, request: ParsedRequest) -> str: ...

    def settled(self, history: tuple[HistoryItem, ...]) -> tuple[HistoryItem, ...]:
        """Return the history without what a harness of this dialect was seen to re-render."""
        ...

    def side_text(self, text: str, body: JsonObject) -> str:
        """Return the side answer's text in the format that the request asks for."""
        ...


def encode(event: Event) -> bytes:
    """Return an event or an answer as JSON. Lone surrogates travel as escapes, everything else as UTF-8."""
    try:
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(event, separators=(",", ":")).encode()


def typed_event(event: Event) -> bytes:
    """Return a server-sent event that is named by its own `type`."""
    return b"event: %b\ndata: %b\n\n" % (str(event["type"]).encode(), encode(event))
