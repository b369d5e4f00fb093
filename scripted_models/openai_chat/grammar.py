"""The grammar of a Chat Completions stream: what no client library checks."""

import json
from collections.abc import Sequence
from enum import StrEnum

from checkrein.scripted_models.dialect import Event, Part, PartKind
from checkrein.scripted_models.json_reading import JsonObject, as_list, as_object, as_text
from checkrein.scripted_models.openai_chat.events import DONE

#: What is the same in every chunk of a stream.
_SAME = ("id", "object", "created", "model")


class _State(StrEnum):
    START = "before the first chunk"
    OPEN = "within the answer"
    FINISHED = "after the finish reason"
    COUNTED = "after the usage"
    END = "after the end"


class ChatGrammar:
    """`role (content | call piece)* finish usage? [DONE]`, or broken off by `error`.

    The usage chunk must be there exactly when the chunks before it have a `usage` of null.
    """

    def __init__(self) -> None:
        self._state = _State.START
        self._head: JsonObject = {}
        self._counts = False
        self._parts: list[Part] = []
        self._calls: list[Part] = []
        self._failed = False

    def feed(self, event: Event) -> list[str]:
        """Take the next event; return a sentence for each thing wrong with it."""
        if self._state is _State.END:
            return ["a chunk after the end of the stream"]
        if "error" in event:
            self._state, self._failed = _State.END, True
            broken = as_object(event["error"])
            return [] if as_text(broken.get("message")) and "type" in broken else ["error without message"]
        if event == DONE:
            due = _State.COUNTED if self._counts else _State.FINISHED
            problems = [] if self._state is due else [f"[DONE] {self._state}"]
            self._state = _State.END
            return problems
        problems = self._same_head(event)
        choices = as_list(event.get("choices"))
        if not choices:
            return problems + self._usage(event)
        if self._state in (_State.FINISHED, _State.COUNTED):
            problems.append(f"a choice {self._state}")
        if ("usage" in event) != self._counts or event.get("usage") is not None:
            problems.append("a chunk with a choice has a usage of null if usage is asked for, else none")
        choice = as_object(choices[0])
        if len(choices) != 1 or choice.get("index") != 0 or "finish_reason" not in choice:
            problems.append("a chunk must have one choice, of index 0, with a finish_reason")
        return problems + self._choice(as_object(choice.get("delta")), choice.get("finish_reason"))

    def end(self, expected: list[Part] | None = None) -> list[str]:
        """The stream is over; return what is missing, or differs from the expected parts."""
        problems = [] if self._state is _State.END else [f"the stream ends {self._state}, without [DONE]"]
        if expected is not None and not self._failed and self._parts != expected:
            problems.append(f"the stream said {self._parts}, not {expected}")
        return problems

    def _same_head(self, event: Event) -> list[str]:
        head: JsonObject = {name: event.get(name) for name in _SAME}
        if self._state is _State.START:
            self._head, self._counts = head, "usage" in event
        return [] if head == self._head else [f"a chunk of {head}, the first was of {self._head}"]

    def _usage(self, event: Event) -> list[str]:
        problems = [] if self._state is _State.FINISHED and self._counts else [f"usage {self._state}"]
        self._state = _State.COUNTED
        usage = as_object(event.get("usage"))
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
        match counts:
            case [int() as given, int() as said, int() as total] if given + said == total:
                return problems
            case _:
                return [*problems, f"usage that does not add up: {counts}"]

    def _choice(self, delta: JsonObject, finish_reason: object) -> list[str]:
        if self._state is _State.START:
            self._state = _State.OPEN
            good = delta.get("role") == "assistant" and delta.get("content") == "" and finish_reason is None
            return [] if good else ["the first chunk must open an empty answer of the assistant"]
        if finish_reason is not None:
            return self._finish(delta, finish_reason)
        match sorted(delta):
            case ["content"] if isinstance(delta["content"], str):
                if not self._parts or self._parts[-1].kind is not PartKind.TEXT:
                    self._parts.append(Part(kind=PartKind.TEXT))
                self._parts[-1].text += delta["content"]
                return []
            case ["tool_calls"]:
                return self._call_piece(as_list(delta["tool_calls"]))
            case names:
                return [f"a delta of {names or 'nothing'}; it must say something, or be a piece of a call"]

    def _call_piece(self, calls: Sequence[object]) -> list[str]:
        piece = as_object(calls[0] if len(calls) == 1 else None)
        function = as_object(piece.get("function"))
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            return ["a piece of a call without arguments, or of several calls"]
        if piece.get("index") == len(self._calls):
            call = Part(kind=PartKind.CALL, id=as_text(piece.get("id")), name=as_text(function.get("name")))
            self._calls.append(call)
            self._parts.append(call)
            good = piece.get("type") == "function" and call.id and call.name and arguments == ""
            return [] if good else ["a call must begin with id, type, name and empty arguments"]
        if (
            piece.get("index") != len(self._calls) - 1
            or not self._parts
            or self._parts[-1].kind is PartKind.TEXT
        ):
            return [f"a piece of call {piece.get('index')!r}, the open one is {len(self._calls) - 1}"]
        self._calls[-1].text += arguments
        return [] if sorted(piece) == ["function", "index"] else ["a call is named in its first piece only"]

    def _finish(self, delta: JsonObject, finish_reason: object) -> list[str]:
        self._state = _State.FINISHED
        wanted = ("tool_calls",) if self._calls else ("stop", "length", "content_filter")
        problems = (
            [] if finish_reason in wanted else [f"finish_reason {finish_reason!r}, expected one of {wanted}"]
        )
        if delta:
            problems.append("the chunk with the finish reason must say nothing")
        problems += [
            f"a call's arguments are not a JSON object: {call.text!r}"
            for call in self._calls
            if not _is_object(call.text)
        ]
        return problems


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
