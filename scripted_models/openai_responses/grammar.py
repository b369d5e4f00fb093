"""The grammar of a Responses stream: what no client library checks."""

import json
from dataclasses import dataclass

from checkrein.scripted_models.dialect import Event, Part, PartKind
from checkrein.scripted_models.json_reading import JsonObject, as_list, as_object, as_text

#: The events that end a stream, and the status that their response must have.
TERMINALS = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ItemShape:
    """How an item of one type unfolds: (part.added)? delta* done (part.done)? and then output_item.done."""

    kind: PartKind
    delta: str
    done: str
    #: The field of the `done` event that repeats the whole text.
    whole: str
    part_added: str | None = None
    part_done: str | None = None
    part_index: str | None = None


_SHAPES = {
    "message": _ItemShape(
        kind=PartKind.TEXT,
        delta="response.output_text.delta",
        done="response.output_text.done",
        whole="text",
        part_added="response.content_part.added",
        part_done="response.content_part.done",
        part_index="content_index",
    ),
    "reasoning": _ItemShape(
        kind=PartKind.THINKING,
        delta="response.reasoning_summary_text.delta",
        done="response.reasoning_summary_text.done",
        whole="text",
        part_added="response.reasoning_summary_part.added",
        part_done="response.reasoning_summary_part.done",
        part_index="summary_index",
    ),
    "function_call": _ItemShape(
        kind=PartKind.CALL,
        delta="response.function_call_arguments.delta",
        done="response.function_call_arguments.done",
        whole="arguments",
    ),
    "custom_tool_call": _ItemShape(
        kind=PartKind.CALL,
        delta="response.custom_tool_call_input.delta",
        done="response.custom_tool_call_input.done",
        whole="input",
    ),
}


class ResponsesGrammar:
    """`created in_progress item* terminal`, one item at a time, with contiguous sequence numbers from 0."""

    def __init__(self) -> None:
        self._sequence = 0
        #: The names that may come next; empty once the stream has ended.
        self._next = ("response.created",)
        self._item: JsonObject = {}
        self._shape: _ItemShape | None = None
        self._done_items: list[JsonObject] = []
        self._parts: list[Part] = []
        self._failed = False

    def feed(self, event: Event) -> list[str]:
        """Take the next event; return a sentence for each thing wrong with it."""
        name = as_text(event.get("type"))
        problems: list[str] = []
        if event.get("sequence_number") != self._sequence:
            problems.append(f"sequence_number {event.get('sequence_number')!r}, expected {self._sequence}")
        self._sequence += 1
        if name == "error" and self._next:
            self._next, self._failed = (), True
            return problems if as_text(event.get("message")) else [*problems, "error without message"]
        if name == "response.failed" and self._next and self._next != ("response.created",):
            return problems + self._terminal(name, as_object(event.get("response")))
        if name not in self._next:
            wanted = " or ".join(self._next) or "nothing"
            problems.append(f"{name or 'an event without type'} where {wanted} was due")
        return problems + self._follow(name, event)

    def end(self, expected: list[Part] | None = None) -> list[str]:
        """The stream is over; return what is missing, or differs from the expected parts."""
        problems = [f"the stream ends where {' or '.join(self._next)} was due"] if self._next else []
        if expected is not None and not self._failed and self._parts != expected:
            problems.append(f"the stream said {self._parts}, not {expected}")
        return problems

    def _follow(self, name: str, event: Event) -> list[str]:
        match name:
            case "response.created" | "response.in_progress":
                created = name == "response.created"
                self._next = ("response.in_progress",) if created else self._between_items()
                response = as_object(event.get("response"))
                problems = self._status(name, response, "in_progress")
                return problems if response.get("output") == [] else [*problems, f"{name} with output"]
            case "response.output_item.added":
                return self._item_added(event)
            case "response.output_item.done":
                return self._item_done(event)
            case "response.completed" | "response.incomplete" | "response.failed":
                return self._terminal(name, as_object(event.get("response")))
            case _:
                return self._within_item(name, event)

    def _between_items(self) -> tuple[str, ...]:
        return ("response.output_item.added", *TERMINALS)

    def _item_added(self, event: Event) -> list[str]:
        self._item = as_object(event.get("item"))
        self._shape = shape = _SHAPES.get(as_text(self._item.get("type")))
        problems = self._index(event)
        if shape is None:
            self._next = ("response.output_item.done",)
            return [*problems, f"unknown item type {self._item.get('type')!r}"]
        self._parts.append(
            Part(kind=shape.kind, id=as_text(self._item.get("call_id")), name=as_text(self._item.get("name")))
        )
        self._next = (shape.part_added,) if shape.part_added else (shape.delta, shape.done)
        if not as_text(self._item.get("id")):
            problems.append("an item without id")
        if _whole(self._item) not in ("", None):
            problems.append("an item that is added must be empty")
        return problems + _wrong_status(self._item, "in_progress")

    def _within_item(self, name: str, event: Event) -> list[str]:
        shape = self._shape
        if shape is None:
            return []
        problems = self._index(event)
        if event.get("item_id") != self._item.get("id"):
            problems.append(f"{name} for item {event.get('item_id')!r}, open is {self._item.get('id')!r}")
        if shape.part_index is not None and event.get(shape.part_index) != 0:
            problems.append(f"{name} without {shape.part_index} 0")
        part = self._parts[-1]
        if name == shape.part_added:
            self._next = (shape.delta, shape.done)
            if as_object(event.get("part")).get("text") != "":
                problems.append(f"{name} with text")
        elif name == shape.delta:
            self._next = (shape.delta, shape.done)
            part.text += as_text(event.get("delta"))
            if not isinstance(event.get("delta"), str):
                problems.append(f"{name} without delta")
        elif name == shape.done:
            self._next = (shape.part_done or "response.output_item.done",)
            problems += _differs(name, event.get(shape.whole), part.text)
        elif name == shape.part_done:
            self._next = ("response.output_item.done",)
            problems += _differs(name, as_object(event.get("part")).get("text"), part.text)
        return problems

    def _item_done(self, event: Event) -> list[str]:
        item = as_object(event.get("item"))
        problems = self._index(event)
        for key in ("id", "type", "call_id", "name"):
            if item.get(key) != self._item.get(key):
                problems.append(f"output_item.done with {key} {item.get(key)!r}, was {self._item.get(key)!r}")
        if self._parts and self._shape is not None:
            problems += _differs("output_item.done", _whole(item), self._parts[-1].text)
        if item.get("type") == "function_call" and not _is_object(as_text(item.get("arguments"))):
            problems.append(f"a call's arguments are not a JSON object: {item.get('arguments')!r}")
        self._done_items.append(item)
        self._shape = None
        self._next = self._between_items()
        return problems + _wrong_status(item, "completed")

    def _terminal(self, name: str, response: JsonObject) -> list[str]:
        problems = self._status(name, response, TERMINALS[name])
        self._next = ()
        self._failed = name == "response.failed"
        if list(as_list(response.get("output"))) != self._done_items:
            problems.append(f"{name} with output that differs from the items that were done")
        if name == "response.completed" and not as_object(response.get("usage")):
            problems.append("response.completed without usage")
        if self._failed and not as_object(response.get("error")):
            problems.append("response.failed without error")
        return problems

    def _status(self, name: str, response: JsonObject, status: str) -> list[str]:
        found = response.get("status")
        return [] if found == status else [f"{name} with status {found!r}, expected {status!r}"]

    def _index(self, event: Event) -> list[str]:
        index = len(self._done_items)
        found = event.get("output_index")
        return [] if found == index else [f"output_index {found!r}, expected {index}"]


def _whole(item: JsonObject) -> str | None:
    """Return the text of a whole item; None if it is not there."""
    match item.get("type"):
        case "message" | "reasoning":
            parts = as_list(item.get("content" if item.get("type") == "message" else "summary"))
            return "".join(as_text(as_object(part).get("text")) for part in parts)
        case "function_call" | "custom_tool_call":
            value = item.get("arguments" if item.get("type") == "function_call" else "input")
            return value if isinstance(value, str) else None
        case _:
            return None


def _wrong_status(item: JsonObject, status: str) -> list[str]:
    """Custom tool calls have no status in this API."""
    if item.get("type") == "custom_tool_call" or item.get("status") == status:
        return []
    return [f"an item with status {item.get('status')!r}, expected {status!r}"]


def _differs(name: str, whole: object, text: str) -> list[str]:
    return [] if whole == text else [f"{name} repeats {whole!r}, but the deltas were {text!r}"]


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
