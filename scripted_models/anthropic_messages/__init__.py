"""The Anthropic Messages dialect: what Claude Code speaks."""

from checkrein.scripted_models.anthropic_messages.dialect import AnthropicMessages
from checkrein.scripted_models.anthropic_messages.grammar import MessagesGrammar

__all__ = ["AnthropicMessages", "MessagesGrammar"]
