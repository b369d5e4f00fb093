"""The dialects by name."""

from collections.abc import Callable

from checkrein.scripted_models.anthropic_messages import AnthropicMessages
from checkrein.scripted_models.dialect import Dialect
from checkrein.scripted_models.errors import ScriptError
from checkrein.scripted_models.lanes import Lane
from checkrein.scripted_models.openai_chat import OpenAIChat
from checkrein.scripted_models.openai_responses import OpenAIResponses
from checkrein.scripted_models.profile import HistoryRules, ParsedRequest

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (AnthropicMessages(), OpenAIResponses(), OpenAIChat())
}


def dialect_named(name: str) -> Dialect:
    """Return the dialect; raises ScriptError with the names that there are."""
    if name not in DIALECTS:
        raise ScriptError(f"unknown dialect {name!r}; known: {', '.join(sorted(DIALECTS))}")
    return DIALECTS[name]


def default_classifier(dialect: str) -> Callable[[ParsedRequest], Lane]:
    """Return the classifier that a profile without one uses; its facts stand at each dialect's `classify`.

    `anthropic-messages`: token counts by path; no tools is a side request; `cc_is_subagent=true` in the system
    text is an agent; else main. `openai-responses`: no tools and a JSON schema is a side request; else main.
    `openai-chat`: no tools is a side request; else main.
    """
    return dialect_named(dialect).classify


def default_history_rules(dialect: str) -> HistoryRules:
    """Return the history rules that a profile without its own uses; their facts stand at each dialect's `settled`."""
    return dialect_named(dialect).settled
