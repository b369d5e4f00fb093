"""The grammar of an Anthropic Messages stream: what no client library checks."""

import json
from enum import StrEnum

from checkrein.scripted_models.dialect import Event, Part, PartKind
from checkrein.scripted_models.json_reading import JsonObject, as_object, as_text

_PARTS = {"text": PartKind.TEXT, "thinking": PartKind.THINKING, "tool_use": PartKind.CALL}
_DELTAS = {
    PartKind.TEXT: {"text_delta": "text"},
    PartKind.THINKING: {"thinking_delta": "thinking", "signature_delta": "signature"},
    PartKind.CALL: {"input_json_delta": "partial_json"},
}
_MESSAGE_FIELDS = {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"}


class _State(StrEnum):
    START = "before message_start"
    BETWEEN = "between blocks"
    BLOCK = "within a block"
    DELTA = "after message_delta"
    END = "after the end"


class MessagesGrammar:
    """`message_start (block_start delta* block_stop)* message_delta message_stop`, pings anywhere between,
    or broken off by `error`."""

    def __init__(self) -> None:
        self._state = _State.START
        self._parts: list[Part] = []
        self._signed = False
        self._failed = False

    def feed(self, event: Event) -> list[str]:
        """Take the next event; return a sentence for each thing wrong with it."""
        name = as_text(event.get("type"))
        if self._state is _State.END:
            return [f"{name or 'an event without type'} after the end of the stream"]
        match name:
            case "ping":
                return []
            case "error":
                self._state, self._failed = _State.END, True
                problem = as_object(event.get("error"))
                return [
                    f"error without {key}" for key in ("type", "message") if not as_text(problem.get(key))
                ]
            case "message_start":
                return self._message_start(as_object(event.get("message")))
            case "content_block_start":
                return self._block_start(event)
            case "content_block_delta":
                return self._block_delta(event)
            case "content_block_stop":
                return self._block_stop(event)
            case "message_delta":
                return self._message_delta(event)
            case "message_stop":
                problems = self._expect(_State.DELTA, name)
                self._state = _State.END
                return problems
            case _:
                return [f"unknown event type {event.get('type')!r}"]

    def end(self, expected: list[Part] | None = None) -> list[str]:
        """The stream is over; return what is missing, or differs from the expected parts."""
        problems = (
            [] if self._state is _State.END else [f"the stream ends {self._state}, without message_stop"]
        )
        if expected is not None and not self._failed and self._parts != expected:
            problems.append(f"the stream said {self._parts}, not {expected}")
        return problems

    def _expect(self, state: _State, name: str) -> list[str]:
        return [] if self._state is state else [f"{name} {self._state}"]

    def _message_start(self, message: JsonObject) -> list[str]:
        problems = self._expect(_State.START, "message_start")
        self._state = _State.BETWEEN
        missing = sorted(_MESSAGE_FIELDS - message.keys())
        problems += [f"message_start without message.{key}" for key in missing]
        if message.get("content") != []:
            problems.append("message_start must have empty content")
        return problems

    def _block_start(self, event: Event) -> list[str]:
        problems = self._expect(_State.BETWEEN, "content_block_start")
        self._state = _State.BLOCK
        block = as_object(event.get("content_block"))
        if event.get("index") != len(self._parts):
            problems.append(f"block index {event.get('index')!r}, expected {len(self._parts)}")
        kind = _PARTS.get(as_text(block.get("type")))
        if kind is None:
            return [*problems, f"unknown block type {block.get('type')!r}"]
        self._parts.append(Part(kind=kind, id=as_text(block.get("id")), name=as_text(block.get("name"))))
        self._signed = False
        if kind is PartKind.CALL and (
            block.get("input") != {} or not block.get("id") or not block.get("name")
        ):
            problems.append("a tool_use block must start with id, name and empty input")
        return problems

    def _block_delta(self, event: Event) -> list[str]:
        problems = self._expect(_State.BLOCK, "content_block_delta") + self._wrong_index(event)
        if not self._parts:
            return problems
        part = self._parts[-1]
        delta = as_object(event.get("delta"))
        name = as_text(delta.get("type"))
        field = _DELTAS[part.kind].get(name)
        if field is None:
            return [*problems, f"{name or 'a delta without type'} within a {part.kind} block"]
        if not isinstance(delta.get(field), str):
            problems.append(f"{name} without {field}")
        if self._signed:
            problems.append(f"{name} after the signature")
        if name == "signature_delta":
            self._signed = True
        else:
            part.text += as_text(delta.get(field))
        return problems

    def _block_stop(self, event: Event) -> list[str]:
        problems = self._expect(_State.BLOCK, "content_block_stop") + self._wrong_index(event)
        self._state = _State.BETWEEN
        if not self._parts:
            return problems
        part = self._parts[-1]
        if part.kind is PartKind.THINKING and not self._signed:
            problems.append("a thinking block without signature")
        if part.kind is PartKind.CALL and not _is_object(part.text or "{}"):
            problems.append(f"a call's input is not a JSON object: {part.text!r}")
        return problems

    def _message_delta(self, event: Event) -> list[str]:
        problems = self._expect(_State.BETWEEN, "message_delta")
        self._state = _State.DELTA
        delta = as_object(event.get("delta"))
        called = any(part.kind is PartKind.CALL for part in self._parts)
        wanted = ("tool_use",) if called else ("end_turn", "max_tokens", "stop_sequence", "refusal")
        if delta.get("stop_reason") not in wanted:
            problems.append(f"stop_reason {delta.get('stop_reason')!r}, expected one of {wanted}")
        if "stop_sequence" not in delta:
            problems.append("message_delta without delta.stop_sequence")
        if not isinstance(as_object(event.get("usage")).get("output_tokens"), int):
            problems.append("message_delta without usage.output_tokens")
        return problems

    def _wrong_index(self, event: Event) -> list[str]:
        index = len(self._parts) - 1
        return [] if event.get("index") == index else [f"index {event.get('index')!r}, expected {index}"]


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
