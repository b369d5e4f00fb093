"""Renders one answer as the events of a Responses stream, or as one plain response."""

from checkrein.scripted_models.dialect import Event, Part, PartKind
from checkrein.scripted_models.profile import NativeCall
from checkrein.scripted_models.reply import Usage

#: A fixed time, so that the same script gives the same bytes: 2025-10-09T08:53:20Z.
CREATED_AT = 1760000000


class ResponsesRenderer:
    """One answer, with the full set of events that the real API sends for messages, reasoning and calls."""

    def __init__(self, *, model: str, number: int) -> None:
        self._model = model
        self._number = number
        self._sequence = 0
        self._open: Event | None = None
        self._output: list[Event] = []
        self.parts: list[Part] = []

    def begin(self) -> list[Event]:
        """Start the response."""
        response = self._response("in_progress", [])
        return [
            self._event("response.created", response=response),
            self._event("response.in_progress", response=response),
        ]

    def text(self, fragment: str) -> list[Event]:
        """Say `fragment`."""
        events = self._text_part(PartKind.TEXT)
        self.parts[-1].text += fragment
        place = self._place(content_index=0)
        return [*events, self._event("response.output_text.delta", **place, delta=fragment, logprobs=[])]

    def thinking(self, fragment: str) -> list[Event]:
        """Think `fragment`, as a summary of the reasoning."""
        events = self._text_part(PartKind.THINKING)
        self.parts[-1].text += fragment
        place = self._place(summary_index=0)
        return [*events, self._event("response.reasoning_summary_text.delta", **place, delta=fragment)]

    def call_begin(self, id: str, call: NativeCall) -> list[Event]:
        """Open a call."""
        events = self._close()
        self.parts.append(Part(kind=PartKind.CALL, id=id, name=call.name))
        if call.custom:
            item: Event = {"id": self._item_id("ctc"), "type": "custom_tool_call", "input": ""}
        else:
            item = {
                "id": self._item_id("fc"),
                "type": "function_call",
                "status": "in_progress",
                "arguments": "",
            }
        return [*events, self._add({**item, "call_id": id, "name": call.name})]

    def call_fragment(self, fragment: str) -> list[Event]:
        """Send a piece of the open call's input."""
        self.parts[-1].text += fragment
        custom = self._open is not None and self._open["type"] == "custom_tool_call"
        name = "custom_tool_call_input" if custom else "function_call_arguments"
        return [self._event(f"response.{name}.delta", **self._place(), delta=fragment)]

    def finish(self, usage: Usage) -> list[Event]:
        """End the response."""
        closing = self._close()
        response = self._response("completed", list(self._output), usage=usage)
        return [*closing, self._event("response.completed", response=response)]

    def failure(self, status: int, message: str) -> list[Event]:
        """Break off with `response.failed`, as the API does when it fails within a stream."""
        error: Event = {"code": _stream_code(status), "message": message}
        return [
            self._event("response.failed", response=self._response("failed", list(self._output), error=error))
        ]

    def plain(self, usage: Usage) -> Event:
        """Return the whole response."""
        self._close()
        return self._response("completed", list(self._output), usage=usage)

    def _event(self, name: str, **fields: object) -> Event:
        event: Event = {"type": name, "sequence_number": self._sequence, **fields}
        self._sequence += 1
        return event

    def _item_id(self, prefix: str) -> str:
        return f"{prefix}_scripted_{self._number:04}_{len(self.parts) - 1}"

    def _place(self, **index: int) -> dict[str, object]:
        item = self._open or {}
        return {"output_index": len(self._output), "item_id": item.get("id"), **index}

    def _add(self, item: Event) -> Event:
        self._open = item
        return self._event("response.output_item.added", output_index=len(self._output), item=item)

    def _text_part(self, kind: PartKind) -> list[Event]:
        """Open a message or a reasoning item unless the last one is of this kind and still open."""
        if self._open is not None and self.parts[-1].kind is kind:
            return []
        events = self._close()
        self.parts.append(Part(kind=kind))
        if kind is PartKind.TEXT:
            item: Event = {"id": self._item_id("msg"), "type": "message", "status": "in_progress"}
            events.append(self._add({**item, "role": "assistant", "content": []}))
            part = _text("")
            events.append(
                self._event("response.content_part.added", **self._place(content_index=0), part=part)
            )
        else:
            item = {"id": self._item_id("rs"), "type": "reasoning", "summary": []}
            events.append(self._add({**item, "encrypted_content": None, "status": "in_progress"}))
            name = "response.reasoning_summary_part.added"
            events.append(self._event(name, **self._place(summary_index=0), part=_summary("")))
        return events

    def _close(self) -> list[Event]:
        if self._open is None:
            return []
        item, text = self._open, self.parts[-1].text
        events: list[Event] = []
        match item["type"]:
            case "message":
                place = self._place(content_index=0)
                events.append(self._event("response.output_text.done", **place, text=text, logprobs=[]))
                events.append(self._event("response.content_part.done", **place, part=_text(text)))
                item = {**item, "status": "completed", "content": [_text(text)]}
            case "reasoning":
                place = self._place(summary_index=0)
                events.append(self._event("response.reasoning_summary_text.done", **place, text=text))
                events.append(
                    self._event("response.reasoning_summary_part.done", **place, part=_summary(text))
                )
                item = {**item, "status": "completed", "summary": [_summary(text)]}
            case "custom_tool_call":
                events.append(
                    self._event("response.custom_tool_call_input.done", **self._place(), input=text)
                )
                item = {**item, "input": text}
            case _:
                events.append(
                    self._event("response.function_call_arguments.done", **self._place(), arguments=text)
                )
                item = {**item, "status": "completed", "arguments": text}
        done = self._event("response.output_item.done", output_index=len(self._output), item=item)
        self._output.append(item)
        self._open = None
        return [*events, done]

    def _response(
        self, status: str, output: list[Event], *, usage: Usage | None = None, error: Event | None = None
    ) -> Event:
        return {
            "id": f"resp_scripted_{self._number:04}",
            "object": "response",
            "created_at": CREATED_AT,
            "completed_at": CREATED_AT + 1 if status == "completed" else None,
            "status": status,
            "background": False,
            "error": error,
            "incomplete_details": None,
            "instructions": None,
            "max_output_tokens": None,
            "max_tool_calls": None,
            "model": self._model,
            "output": output,
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "prompt_cache_key": None,
            "reasoning": {"effort": None, "summary": None},
            "safety_identifier": None,
            "service_tier": "default",
            "temperature": 1.0,
            "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tool_choice": "auto",
            "tools": [],
            "top_logprobs": 0,
            "top_p": 1.0,
            "truncation": "disabled",
            "usage": None if usage is None else _usage(usage),
            "user": None,
            "metadata": {},
        }


def _stream_code(status: int) -> str:
    """Return the code of `response.failed` that stands for an HTTP status."""
    return "rate_limit_exceeded" if status == 429 else "invalid_prompt" if status < 500 else "server_error"


def _usage(usage: Usage) -> Event:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }


def _text(text: str) -> Event:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _summary(text: str) -> Event:
    return {"type": "summary_text", "text": text}
