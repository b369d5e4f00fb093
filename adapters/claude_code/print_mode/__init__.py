"""Claude Code's print mode as a one-shot harness: `claude -p PROMPT`, one run per turn.

Observed on 2.1.332: what needs an answer is denied unasked in this mode, so the tools are allowed by name;
`bypassPermissions` is refused to root. An API error ends it with status 1, SIGINT with 0.
"""

from __future__ import annotations

from checkrein.adapters.claude_code.launch import configuration_directory, environment_of, model_of
from checkrein.adapters.interface import SessionSpec
from checkrein.adapters.oneshot import OneShotAdapter, Surroundings

__all__ = ["ADAPTER", "ClaudeCodePrint"]


class ClaudeCodePrint(OneShotAdapter):
    """The adapter of `claude -p`."""

    def surroundings(self, spec: SessionSpec) -> Surroundings:
        """See `OneShotAdapter.surroundings`."""
        environment = environment_of(spec)
        return Surroundings(
            environment=environment,
            options=model_of(spec),
            configuration=configuration_directory(environment),
        )


ADAPTER = ClaudeCodePrint(__name__)
