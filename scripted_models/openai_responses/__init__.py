"""The OpenAI Responses dialect: what Codex speaks."""

from checkrein.scripted_models.openai_responses.dialect import OpenAIResponses
from checkrein.scripted_models.openai_responses.grammar import ResponsesGrammar

__all__ = ["OpenAIResponses", "ResponsesGrammar"]
