"""Replacing one function by a defective one, and rewriting what the model sees."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from checkrein.scripted_models import HistoryItem, View
from checkrein.scripted_models.openai_responses import OpenAIResponses

Rewrite = Callable[[HistoryItem], HistoryItem | None]


def replace_attribute(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Put `make(original)` in the place of `owner.name`."""
    setattr(owner, name, make(getattr(owner, name)))


def rewrite_history(rewrite: Rewrite, *, dialect: type = OpenAIResponses) -> None:
    """Let a harness tell the model another history: each item rewritten, or left out for None.

    Args:
        dialect: what it speaks with the model; that of Codex when nothing is said.
    """

    def make(read: Callable[[Any, Any], View]) -> Callable[[Any, Any], View]:
        def rewritten(self: Any, body: Any) -> View:
            view = read(self, body)
            items = (rewrite(item) for item in view.history)
            return replace(view, history=tuple(item for item in items if item is not None))

        return rewritten

    replace_attribute(dialect, "read", make)
