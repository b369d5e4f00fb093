"""Renders one answer as the chunks of a Chat Completions stream, or as one plain completion."""

from checkrein.scripted_models.dialect import Event, Part, PartKind
from checkrein.scripted_models.errors import ScriptError
from checkrein.scripted_models.openai_errors import error
from checkrein.scripted_models.profile import NativeCall
from checkrein.scripted_models.reply import Usage

#: A fixed time, so that the same script gives the same bytes: 2025-10-09T08:53:20Z.
CREATED = 1760000000

#: The end of a stream, which is no JSON on the wire (`data: [DONE]`).
DONE: Event = {"[DONE]": True}


class ChatRenderer:
    """One answer.

    This API never shows what a model thinks, it only counts it: a script's thinking is not sent. A custom call is
    not streamed by this API.
    """

    def __init__(self, *, model: str, number: int, include_usage: bool) -> None:
        self._model = model
        self._number = number
        self._include_usage = include_usage
        self._calls = 0
        self.parts: list[Part] = []

    def begin(self) -> list[Event]:
        """Start the completion."""
        return [self._chunk({"role": "assistant", "content": "", "refusal": None})]

    def text(self, fragment: str) -> list[Event]:
        """Say `fragment`."""
        if not self.parts or self.parts[-1].kind is not PartKind.TEXT:
            self.parts.append(Part(kind=PartKind.TEXT))
        self.parts[-1].text += fragment
        return [self._chunk({"content": fragment})]

    def thinking(self, fragment: str) -> list[Event]:
        """Think `fragment`: nothing is sent."""
        return []

    def call_begin(self, id: str, call: NativeCall) -> list[Event]:
        """Open a call.

        Raises:
            ScriptError: the call is a custom one.
        """
        if call.custom:
            raise ScriptError(f"tool {call.name!r} takes text, and Chat Completions streams no custom calls")
        self.parts.append(Part(kind=PartKind.CALL, id=id, name=call.name))
        self._calls += 1
        opened: Event = {"id": id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        return [self._call_chunk(opened)]

    def call_fragment(self, fragment: str) -> list[Event]:
        """Send a piece of the open call's input."""
        self.parts[-1].text += fragment
        return [self._call_chunk({"function": {"arguments": fragment}})]

    def finish(self, usage: Usage) -> list[Event]:
        """End the completion; the usage is told if the request asked for it."""
        events = [self._chunk({}, finish_reason=self._finish_reason)]
        if self._include_usage:
            events.append({**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(usage)})
        return [*events, DONE]

    def failure(self, status: int, message: str) -> list[Event]:
        """Break off with an error in place of a chunk, as the API does when it fails within a stream."""
        return [error(status, message)]

    def plain(self, usage: Usage) -> Event:
        """Return the whole completion."""
        texts = [part.text for part in self.parts if part.kind is PartKind.TEXT]
        message: Event = {
            "role": "assistant",
            "content": "".join(texts) if texts or not self._calls else None,
            "refusal": None,
            "annotations": [],
        }
        if self._calls:
            message["tool_calls"] = [
                {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": part.text}}
                for part in self.parts
                if part.kind is PartKind.CALL
            ]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish_reason}
        return {**self._head("chat.completion"), "choices": [choice], "usage": _usage(usage)}

    @property
    def _finish_reason(self) -> str:
        return "tool_calls" if self._calls else "stop"

    def _head(self, kind: str) -> Event:
        return {
            "id": f"chatcmpl-scripted-{self._number:04}",
            "object": kind,
            "created": CREATED,
            "model": self._model,
            "service_tier": "default",
            "system_fingerprint": "fp_scripted",
        }

    def _chunk(self, delta: Event, *, finish_reason: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage: Event = {"usage": None} if self._include_usage else {}
        return {**self._head("chat.completion.chunk"), "choices": [choice], **usage}

    def _call_chunk(self, call: Event) -> Event:
        return self._chunk({"tool_calls": [{"index": self._calls - 1, **call}]})


def _usage(usage: Usage) -> Event:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
