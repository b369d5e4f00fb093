"""Routes, request views and errors of the Anthropic Messages API."""

from dataclasses import replace

from checkrein.scripted_models.anthropic_messages.errors import error
from checkrein.scripted_models.anthropic_messages.events import MessagesRenderer
from checkrein.scripted_models.anthropic_messages.grammar import MessagesGrammar
from checkrein.scripted_models.dialect import Event, Route, typed_event
from checkrein.scripted_models.json_reading import JsonObject, as_list, as_object, as_text
from checkrein.scripted_models.lanes import Lane
from checkrein.scripted_models.profile import ParsedRequest
from checkrein.scripted_models.views import HistoryItem, ItemKind, View, canonical, joined


class AnthropicMessages:
    """`POST /v1/messages`, streamed or plain, and `POST /v1/messages/count_tokens`."""

    name = "anthropic-messages"

    def route(self, method: str, path: str) -> Route:
        """Say what a path (query aside) is for."""
        plain = path.partition("?")[0].removeprefix("/v1")
        match method, plain:
            case "POST", "/messages":
                return Route.MODEL
            case "POST", "/messages/count_tokens":
                return Route.COUNT_TOKENS
            case "GET", "/models":
                return Route.MODELS
            case _:
                return Route.OTHER

    def read(self, body: JsonObject) -> View:
        """Return the neutral view of a request body."""
        items: list[HistoryItem] = []
        for message in as_list(body.get("messages")):
            entry = as_object(message)
            items += _items(as_text(entry.get("role")), entry.get("content"))
        system = body.get("system")
        prompt = [system] if isinstance(system, str) else [_text(block) for block in as_list(system)]
        return View(history=tuple(items), prompt_texts=tuple(prompt))

    def renderer(self, body: JsonObject, number: int) -> MessagesRenderer:
        """Return a renderer for the answer to request `number`."""
        return MessagesRenderer(model=as_text(body.get("model")) or "scripted", number=number)

    def frame(self, event: Event) -> bytes:
        """Return one event as it stands in the stream."""
        return typed_event(event)

    def grammar(self) -> MessagesGrammar:
        """Return a fresh checker for one stream."""
        return MessagesGrammar()

    def error(self, status: int, message: str) -> Event:
        """Return an error in this API's shape."""
        return error(status, message)

    def token_count(self, tokens: int) -> Event:
        """Return the answer to a token count."""
        return {"input_tokens": tokens}

    def models(self) -> Event:
        """Return an empty list of models."""
        return {"data": [], "has_more": False, "first_id": None, "last_id": None}

    def classify(self, request: ParsedRequest) -> Lane:
        """Tell lanes apart by what Claude Code 2.1.296 and 2.1.332 send.

        Token counts have their own path; titles, probes and the auto-mode classifier carry no tools; a
        sub-agent has `cc_is_subagent=true` in its system text and is told from others by the header
        `x-claude-code-agent-id` or, failing that, by its first message.
        """
        if self.route(request.method, request.path) is Route.COUNT_TOKENS:
            return Lane.COUNT_TOKENS
        if not as_list(request.body.get("tools")):
            return Lane.SIDE
        if any("cc_is_subagent=true" in text for text in request.view.prompt_texts):
            first = request.view.user_texts[:1]
            return Lane.agent(request.headers.get("x-claude-code-agent-id") or "".join(first))
        return Lane.MAIN

    def conversation(self, request: ParsedRequest) -> str:
        """Return Claude Code's session id, which it sends as a header."""
        return request.headers.get("x-claude-code-session-id", "")

    def settled(self, history: tuple[HistoryItem, ...]) -> tuple[HistoryItem, ...]:
        """Ignore line ends after a user's text.

        Claude Code 2.1.332 joins neighbouring user messages and then ends the earlier text with a line feed: a
        prompt that was interrupted before any answer is "go" in its own request and "go\\n" in the next one.
        """
        return tuple(
            replace(item, text=item.text.rstrip("\n")) if item.kind is ItemKind.USER else item
            for item in history
        )

    def side_text(self, text: str, body: JsonObject) -> str:
        """Return the side answer as it is; as a JSON object if the request asks for a schema."""
        wanted = as_object(as_object(body.get("output_config")).get("format"))
        schema = as_object(wanted.get("schema"))
        return canonical(dict.fromkeys(as_object(schema.get("properties")), text)) if schema else text


def _items(role: str, content: object) -> list[HistoryItem]:
    side = {"assistant": ItemKind.ASSISTANT, "system": ItemKind.SYSTEM}.get(role, ItemKind.USER)
    if isinstance(content, str):
        return [HistoryItem(kind=side, text=content)]
    return [_item(side, as_object(block)) for block in as_list(content)]


def _item(side: ItemKind, block: JsonObject) -> HistoryItem:
    match block.get("type"):
        case "text":
            return HistoryItem(kind=side, text=as_text(block.get("text")))
        case "thinking":
            return HistoryItem(kind=ItemKind.THINKING, text=as_text(block.get("thinking")))
        case "tool_use":
            return HistoryItem(
                kind=ItemKind.CALL,
                id=as_text(block.get("id")),
                name=as_text(block.get("name")),
                text=canonical(block.get("input")),
            )
        case "tool_result":
            content = block.get("content")
            text = content if isinstance(content, str) else joined([_text(part) for part in as_list(content)])
            return HistoryItem(
                kind=ItemKind.RESULT,
                id=as_text(block.get("tool_use_id")),
                text=text,
                error=block.get("is_error") is True,
            )
        case _:
            plain = {key: value for key, value in block.items() if key != "cache_control"}
            return HistoryItem(kind=ItemKind.OTHER, name=as_text(block.get("type")), text=canonical(plain))


def _text(block: object) -> str:
    return as_text(as_object(block).get("text"))
