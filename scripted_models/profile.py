"""What the scripted model must know about a harness: dialect, tools, lanes and documented history rules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from checkrein.scripted_models.json_reading import JsonObject
from checkrein.scripted_models.lanes import Lane
from checkrein.scripted_models.views import HistoryItem, View


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeCall:
    """A tool call in a harness's own terms; a `custom` one takes plain text instead of a JSON object."""

    name: str
    input: Mapping[str, object] | str
    custom: bool = False


class Toolset(Protocol):
    """How a harness's own tools do the neutral things that scripts ask for.

    Each raises `ToolMissing` where the harness has no such tool.
    """

    def shell(self, command: str) -> NativeCall:
        """Return the call that runs one shell line and waits for it."""
        ...

    def write_file(self, path: str, text: str) -> NativeCall:
        """Return the call that makes the file `path` hold `text`."""
        ...

    def edit_file(self, path: str, old: str, new: str) -> NativeCall:
        """Return the call that replaces `old` by `new` in the file `path`."""
        ...

    def read_file(self, path: str) -> NativeCall:
        """Return the call that shows the file `path` to the model."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRequest:
    """One model request as a classifier gets it: header names in lower case, the path without the session's prefix."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: JsonObject
    view: View


HistoryRules = Callable[[tuple[HistoryItem, ...]], tuple[HistoryItem, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessProfile:
    """One harness, as the scripted model sees it.

    `dialect`: `anthropic-messages`, `openai-responses` or `openai-chat`. `classify` tells lanes apart; None means the
    dialect's default (see `default_classifier`). `history_rules` maps a history to the part of it that the
    harness promises to leave as it is, before two requests are compared; each rule documents something that
    a harness was seen to rewrite; None means the dialect's default (see `default_history_rules`).
    `conversation` tells apart the conversations that one model serves, so that only requests of the same one
    are compared; None means the dialect's default.
    """

    dialect: str
    toolset: Toolset
    classify: Callable[[ParsedRequest], Lane] | None = None
    history_rules: HistoryRules | None = None
    conversation: Callable[[ParsedRequest], str] | None = None
