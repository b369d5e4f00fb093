"""Renders one answer as the events of an Anthropic Messages stream, or as one plain message."""

import json

from checkrein.scripted_models.anthropic_messages.errors import error
from checkrein.scripted_models.dialect import Event, Part, PartKind
from checkrein.scripted_models.profile import NativeCall
from checkrein.scripted_models.reply import Usage

#: Stands for the signature of a thinking block; base64, as the real one is.
SIGNATURE = "c2NyaXB0ZWQ="


class MessagesRenderer:
    """One answer. Events and fields as the official SDK's Beta types have them (Claude Code asks with `?beta=true`)."""

    def __init__(self, *, model: str, number: int) -> None:
        self._model = model
        self._id = f"msg_scripted_{number:04}"
        self._open = False
        self.parts: list[Part] = []

    def begin(self) -> list[Event]:
        """Start the message."""
        # The real API knows the input tokens at the start; it sends them again, final, in message_delta.
        usage = {**_usage(Usage(input=0, output=0)), "output_tokens": 1}
        return [{"type": "message_start", "message": self._message([], None, usage)}]

    def text(self, fragment: str) -> list[Event]:
        """Say `fragment`."""
        block: Event = {"type": "text", "text": "", "citations": None}
        return [
            *self._part(PartKind.TEXT, block),
            self._delta({"type": "text_delta", "text": fragment}, fragment),
        ]

    def thinking(self, fragment: str) -> list[Event]:
        """Think `fragment`."""
        block: Event = {"type": "thinking", "thinking": "", "signature": ""}
        return [
            *self._part(PartKind.THINKING, block),
            self._delta({"type": "thinking_delta", "thinking": fragment}, fragment),
        ]

    def call_begin(self, id: str, call: NativeCall) -> list[Event]:
        """Open a call."""
        events = self._close()
        self.parts.append(Part(kind=PartKind.CALL, id=id, name=call.name))
        self._open = True
        block = {"type": "tool_use", "id": id, "name": call.name, "input": {}, "caller": {"type": "direct"}}
        return [*events, {"type": "content_block_start", "index": self._index, "content_block": block}]

    def call_fragment(self, fragment: str) -> list[Event]:
        """Send a piece of the open call's input."""
        return [self._delta({"type": "input_json_delta", "partial_json": fragment}, fragment)]

    def finish(self, usage: Usage) -> list[Event]:
        """End the message."""
        final = {key: value for key, value in _usage(usage).items() if key in DELTA_USAGE}
        delta = {
            "stop_reason": self._stop_reason,
            "stop_sequence": None,
            "stop_details": None,
            "container": None,
        }
        return [
            *self._close(),
            {"type": "message_delta", "delta": delta, "usage": final},
            {"type": "message_stop"},
        ]

    def failure(self, status: int, message: str) -> list[Event]:
        """Break off with an error event, as the API does when it fails within a stream."""
        return [error(status, message)]

    def plain(self, usage: Usage) -> Event:
        """Return the whole message."""
        content = [_block(part) for part in self.parts]
        return self._message(content, self._stop_reason, _usage(usage))

    @property
    def _index(self) -> int:
        return len(self.parts) - 1

    @property
    def _stop_reason(self) -> str:
        return "tool_use" if any(part.kind is PartKind.CALL for part in self.parts) else "end_turn"

    def _part(self, kind: PartKind, block: Event) -> list[Event]:
        """Open a block of text or thinking unless the last one is of this kind and still open."""
        if self._open and self.parts[-1].kind is kind:
            return []
        events = self._close()
        self.parts.append(Part(kind=kind))
        self._open = True
        events.append({"type": "content_block_start", "index": self._index, "content_block": block})
        if len(self.parts) == 1:
            events.append({"type": "ping"})
        return events

    def _delta(self, delta: Event, fragment: str) -> Event:
        self.parts[-1].text += fragment
        return {"type": "content_block_delta", "index": self._index, "delta": delta}

    def _close(self) -> list[Event]:
        if not self._open:
            return []
        self._open = False
        events: list[Event] = []
        if self.parts[-1].kind is PartKind.THINKING:
            events.append(self._delta({"type": "signature_delta", "signature": SIGNATURE}, ""))
        return [*events, {"type": "content_block_stop", "index": self._index}]

    def _message(self, content: list[Event], stop_reason: str | None, usage: Event) -> Event:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "stop_details": None,
            "container": None,
            "context_management": None,
            "usage": usage,
        }


#: The fields of `message_delta.usage`.
DELTA_USAGE = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "server_tool_use",
    "output_tokens_details",
)


def _usage(usage: Usage) -> Event:
    return {
        # This API counts cached tokens beside the input tokens and not among them.
        "input_tokens": usage.input - usage.cached,
        "output_tokens": usage.output,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "server_tool_use": None,
        "service_tier": "standard",
        "inference_geo": None,
        "output_tokens_details": {"thinking_tokens": usage.reasoning} if usage.reasoning else None,
    }


def _block(part: Part) -> Event:
    match part.kind:
        case PartKind.TEXT:
            return {"type": "text", "text": part.text, "citations": None}
        case PartKind.THINKING:
            return {"type": "thinking", "thinking": part.text, "signature": SIGNATURE}
        case PartKind.CALL:
            caller = {"type": "direct"}
            value: object = json.loads(part.text)
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": value, "caller": caller}
