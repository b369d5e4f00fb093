"""Routes, request views and errors of the OpenAI Responses API."""

from checkrein.scripted_models.dialect import Event, Route, typed_event
from checkrein.scripted_models.json_reading import JsonObject, as_list, as_object, as_text
from checkrein.scripted_models.lanes import Lane
from checkrein.scripted_models.openai_errors import error
from checkrein.scripted_models.openai_responses.events import ResponsesRenderer
from checkrein.scripted_models.openai_responses.grammar import ResponsesGrammar
from checkrein.scripted_models.profile import ParsedRequest
from checkrein.scripted_models.views import HistoryItem, ItemKind, View, canonical, joined

_SIDES = {"assistant": ItemKind.ASSISTANT, "system": ItemKind.SYSTEM, "developer": ItemKind.SYSTEM}


class OpenAIResponses:
    """`POST /v1/responses`, streamed or plain."""

    name = "openai-responses"

    def route(self, method: str, path: str) -> Route:
        """Say what a path (query aside) is for."""
        plain = path.partition("?")[0].removeprefix("/v1")
        match method, plain:
            case "POST", "/responses":
                return Route.MODEL
            case "GET", "/models":
                return Route.MODELS
            case _:
                return Route.OTHER

    def read(self, body: JsonObject) -> View:
        """Return the neutral view of a request body."""
        given = body.get("input")
        if isinstance(given, str):
            items = [HistoryItem(kind=ItemKind.USER, text=given)]
        else:
            items = [item for entry in as_list(given) for item in _items(as_object(entry))]
        instructions = as_text(body.get("instructions"))
        return View(history=tuple(items), prompt_texts=(instructions,) if instructions else ())

    def renderer(self, body: JsonObject, number: int) -> ResponsesRenderer:
        """Return a renderer for the answer to request `number`."""
        return ResponsesRenderer(model=as_text(body.get("model")) or "scripted", number=number)

    def frame(self, event: Event) -> bytes:
        """Return one event as it stands in the stream."""
        return typed_event(event)

    def grammar(self) -> ResponsesGrammar:
        """Return a fresh checker for one stream."""
        return ResponsesGrammar()

    def error(self, status: int, message: str) -> Event:
        """Return an error in this API's shape."""
        return error(status, message)

    def token_count(self, tokens: int) -> Event:
        """Return a token count in this API's shape; its path is not served, as no harness was seen to ask."""
        return {"object": "response.input_tokens", "input_tokens": tokens}

    def models(self) -> Event:
        """Return an empty list of models."""
        return {"object": "list", "data": []}

    def classify(self, request: ParsedRequest) -> Lane:
        """Tell lanes apart by what Codex 0.162.1 and 0.171.0 send.

        The task title (only the terminal interface asks for one) has no tools and wants a JSON schema.
        """
        wanted = as_object(as_object(request.body.get("text")).get("format"))
        if not as_list(request.body.get("tools")) and wanted.get("type") == "json_schema":
            return Lane.SIDE
        return Lane.MAIN

    def conversation(self, request: ParsedRequest) -> str:
        """Return Codex's thread id, which it sends as the prompt cache's key and as a header."""
        return as_text(request.body.get("prompt_cache_key")) or request.headers.get("thread-id", "")

    def settled(self, history: tuple[HistoryItem, ...]) -> tuple[HistoryItem, ...]:
        """Compare everything: Codex 0.162.1 and 0.171.0 were not seen to re-render any part of the history."""
        return history

    def side_text(self, text: str, body: JsonObject) -> str:
        """Return the side answer as it is; as a JSON object if the request asks for a schema."""
        wanted = as_object(as_object(body.get("text")).get("format"))
        schema = as_object(wanted.get("schema"))
        return canonical(dict.fromkeys(as_object(schema.get("properties")), text)) if schema else text


def _items(entry: JsonObject) -> list[HistoryItem]:
    kind = as_text(entry.get("type")) or "message"
    match kind:
        case "message":
            side = _SIDES.get(as_text(entry.get("role")), ItemKind.USER)
            content = entry.get("content")
            if isinstance(content, str):
                return [HistoryItem(kind=side, text=content)]
            return [_content(side, as_object(part)) for part in as_list(content)]
        case "reasoning":
            summary = [as_text(as_object(part).get("text")) for part in as_list(entry.get("summary"))]
            return [HistoryItem(kind=ItemKind.THINKING, text=joined(summary))]
        case "function_call" | "custom_tool_call":
            given = entry.get("arguments") if kind == "function_call" else entry.get("input")
            return [
                HistoryItem(
                    kind=ItemKind.CALL,
                    id=as_text(entry.get("call_id")),
                    name=as_text(entry.get("name")),
                    text=as_text(given),
                )
            ]
        case "function_call_output" | "custom_tool_call_output":
            output = entry.get("output")
            parts = [as_text(as_object(part).get("text")) for part in as_list(output)]
            text = output if isinstance(output, str) else joined(parts)
            return [HistoryItem(kind=ItemKind.RESULT, id=as_text(entry.get("call_id")), text=text)]
        case _:
            return [HistoryItem(kind=ItemKind.OTHER, name=kind, text=canonical(dict(entry)))]


def _content(side: ItemKind, part: JsonObject) -> HistoryItem:
    kind = as_text(part.get("type"))
    if kind in ("input_text", "output_text", "text"):
        return HistoryItem(kind=side, text=as_text(part.get("text")))
    return HistoryItem(kind=ItemKind.OTHER, name=kind, text=canonical(dict(part)))
