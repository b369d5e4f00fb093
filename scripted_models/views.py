"""What the model saw: one request's conversation, neutral over the dialects."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class ItemKind(StrEnum):
    """What one piece of a conversation is."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    THINKING = "thinking"
    CALL = "call"
    RESULT = "result"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryItem:
    """One piece of a conversation, comparable; attributes that a harness may change (cache marks) are absent.

    `text` of a call is its input as canonical JSON (or the plain text of a custom tool's input).
    """

    kind: ItemKind
    text: str
    id: str = ""
    name: str = ""
    error: bool | None = None

    def __str__(self) -> str:
        label = " ".join(part for part in (self.kind, self.name, self.id) if part)
        shown = self.text if len(self.text) <= 120 else f"{self.text[:120]}…"
        return f"[{label}] {shown!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What the harness told the model about one call; `error` is None where the dialect has no such flag."""

    error: bool | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call as it stands in the history; `input` is JSON text, or the plain text of a custom tool."""

    id: str
    name: str
    input: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One request's conversation. `prompt_texts` are the instructions outside it (system prompt)."""

    history: tuple[HistoryItem, ...]
    prompt_texts: tuple[str, ...] = field(default=())

    def _texts(self, kind: ItemKind) -> tuple[str, ...]:
        return tuple(item.text for item in self.history if item.kind is kind)

    @property
    def user_texts(self) -> tuple[str, ...]:
        """Every user-side text, in order; tool results are not among them."""
        return self._texts(ItemKind.USER)

    @property
    def assistant_texts(self) -> tuple[str, ...]:
        """Every text that the model said, in order."""
        return self._texts(ItemKind.ASSISTANT)

    @property
    def system_texts(self) -> tuple[str, ...]:
        """The instructions outside the conversation, then system and developer messages within it."""
        return (*self.prompt_texts, *self._texts(ItemKind.SYSTEM))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Every tool call in the history, in order."""
        return tuple(
            ToolCall(id=item.id, name=item.name, input=item.text)
            for item in self.history
            if item.kind is ItemKind.CALL
        )

    @property
    def results(self) -> dict[str, ToolResult]:
        """The tool results by call id (the last one, should there be several)."""
        return {
            item.id: ToolResult(error=item.error, text=item.text)
            for item in self.history
            if item.kind is ItemKind.RESULT
        }

    @property
    def fresh_text(self) -> str:
        """All text on the user's or the system's side since the last piece from the model, tool results included.

        A steer is in here on every harness seen: Claude Code 2.1.296 puts it in a trailing system message,
        2.1.332 behind the tool result or into it, Codex into a user message after the tool outputs.
        """
        fresh: list[str] = []
        for item in reversed(self.history):
            if item.kind in (ItemKind.ASSISTANT, ItemKind.CALL, ItemKind.THINKING):
                break
            fresh.append(item.text)
        return "\n".join(reversed(fresh))

    def count(self, text: str) -> int:
        """Return how often `text` occurs in the whole history (calls, thinking and the system prompt aside)."""
        left_out = (ItemKind.CALL, ItemKind.THINKING)
        return sum(item.text.count(text) for item in self.history if item.kind not in left_out)


def canonical(value: object) -> str:
    """Return `value` as JSON text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def joined(texts: Sequence[str]) -> str:
    """Return the parts of one message or result as one text."""
    return "\n".join(texts)
