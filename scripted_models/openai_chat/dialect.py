"""Routes, request views and errors of the OpenAI Chat Completions API."""

from checkrein.scripted_models.dialect import Event, Route, encode
from checkrein.scripted_models.json_reading import JsonObject, as_list, as_object, as_text
from checkrein.scripted_models.lanes import Lane
from checkrein.scripted_models.openai_chat.events import DONE, ChatRenderer
from checkrein.scripted_models.openai_chat.grammar import ChatGrammar
from checkrein.scripted_models.openai_errors import error
from checkrein.scripted_models.profile import ParsedRequest
from checkrein.scripted_models.views import HistoryItem, ItemKind, View, canonical, joined

_SIDES = {"assistant": ItemKind.ASSISTANT, "system": ItemKind.SYSTEM, "developer": ItemKind.SYSTEM}


class OpenAIChat:
    """`POST /v1/chat/completions`, streamed or plain."""

    name = "openai-chat"

    def route(self, method: str, path: str) -> Route:
        """Say what a path (query aside) is for."""
        plain = path.partition("?")[0].removeprefix("/v1")
        match method, plain:
            case "POST", "/chat/completions":
                return Route.MODEL
            case "GET", "/models":
                return Route.MODELS
            case _:
                return Route.OTHER

    def read(self, body: JsonObject) -> View:
        """Return the neutral view of a request body.

        System and developer messages before the conversation are the instructions outside it; later ones are part
        of it.
        """
        items = [item for message in as_list(body.get("messages")) for item in _items(as_object(message))]
        first = next(
            (place for place, item in enumerate(items) if item.kind is not ItemKind.SYSTEM), len(items)
        )
        return View(history=tuple(items[first:]), prompt_texts=tuple(item.text for item in items[:first]))

    def renderer(self, body: JsonObject, number: int) -> ChatRenderer:
        """Return a renderer for the answer to request `number`."""
        options = as_object(body.get("stream_options"))
        return ChatRenderer(
            model=as_text(body.get("model")) or "scripted",
            number=number,
            include_usage=options.get("include_usage") is True,
        )

    def frame(self, event: Event) -> bytes:
        """Return one chunk as it stands in the stream: chunks have no names, and the last line is no JSON."""
        return b"data: %b\n\n" % (b"[DONE]" if event == DONE else encode(event))

    def grammar(self) -> ChatGrammar:
        """Return a fresh checker for one stream."""
        return ChatGrammar()

    def error(self, status: int, message: str) -> Event:
        """Return an error in this API's shape."""
        return error(status, message)

    def token_count(self, tokens: int) -> Event:
        """Return a token count; this API has no path for one, so nobody is served it."""
        return {"object": "response.input_tokens", "input_tokens": tokens}

    def models(self) -> Event:
        """Return an empty list of models."""
        return {"object": "list", "data": []}

    def classify(self, request: ParsedRequest) -> Lane:
        """Take a request without tools for a side request: pi 1.3.0 and 1.6.0 send their tools in every turn."""
        return Lane.MAIN if as_list(request.body.get("tools")) else Lane.SIDE

    def conversation(self, request: ParsedRequest) -> str:
        """Return the prompt cache's key, which is a conversation's id with harnesses that send one."""
        return as_text(request.body.get("prompt_cache_key"))

    def settled(self, history: tuple[HistoryItem, ...]) -> tuple[HistoryItem, ...]:
        """Compare everything: pi 1.3.0 and 1.6.0 were not seen to re-render any part of the history."""
        return history

    def side_text(self, text: str, body: JsonObject) -> str:
        """Return the side answer as it is; as a JSON object if the request asks for a schema."""
        wanted = as_object(as_object(body.get("response_format")).get("json_schema"))
        schema = as_object(wanted.get("schema"))
        return canonical(dict.fromkeys(as_object(schema.get("properties")), text)) if schema else text


def _items(message: JsonObject) -> list[HistoryItem]:
    role = as_text(message.get("role"))
    content = message.get("content")
    if role == "tool":
        parts = [as_text(as_object(part).get("text")) for part in as_list(content)]
        text = content if isinstance(content, str) else joined(parts)
        return [HistoryItem(kind=ItemKind.RESULT, id=as_text(message.get("tool_call_id")), text=text)]
    side = _SIDES.get(role, ItemKind.USER)
    if isinstance(content, str):
        # Some clients send "" instead of null beside tool calls; neither says anything.
        items = [HistoryItem(kind=side, text=content)] if content or role != "assistant" else []
    else:
        items = [_part(side, as_object(part)) for part in as_list(content)]
    return items + [_call(as_object(call)) for call in as_list(message.get("tool_calls"))]


def _part(side: ItemKind, part: JsonObject) -> HistoryItem:
    kind = as_text(part.get("type"))
    if kind == "text":
        return HistoryItem(kind=side, text=as_text(part.get("text")))
    return HistoryItem(kind=ItemKind.OTHER, name=kind, text=canonical(dict(part)))


def _call(call: JsonObject) -> HistoryItem:
    custom = as_text(call.get("type")) == "custom"
    called = as_object(call.get("custom" if custom else "function"))
    return HistoryItem(
        kind=ItemKind.CALL,
        id=as_text(call.get("id")),
        name=as_text(called.get("name")),
        text=as_text(called.get("input" if custom else "arguments")),
    )
