"""The OpenAI Chat Completions dialect: what pi speaks, among others, and what most local model servers serve."""

from checkrein.scripted_models.openai_chat.dialect import OpenAIChat
from checkrein.scripted_models.openai_chat.grammar import ChatGrammar

__all__ = ["ChatGrammar", "OpenAIChat"]
