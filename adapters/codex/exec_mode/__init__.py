"""Codex's non-interactive mode as a one-shot harness: `codex exec PROMPT`, one run per turn.

Observed on 0.171.0: it reads standard input to its end before it begins, so that is empty; it names the conversation
in its first line; it neither streams the answer nor tells of a request that it tries again.
"""

from __future__ import annotations

from checkrein.adapters.codex.launch import (
    NEVER_ASKING,
    SANDBOX,
    as_options,
    codex_home,
    environment_of,
    overrides,
)
from checkrein.adapters.interface import SessionSpec
from checkrein.adapters.oneshot import OneShotAdapter, Surroundings

__all__ = ["ADAPTER", "CodexExec"]


class CodexExec(OneShotAdapter):
    """The adapter of `codex exec`."""

    def surroundings(self, spec: SessionSpec) -> Surroundings:
        """See `OneShotAdapter.surroundings`."""
        settings = overrides(spec) | {"approval_policy": NEVER_ASKING, "sandbox_mode": SANDBOX}
        return Surroundings(
            environment=environment_of(spec),
            options=as_options(settings),
            configuration=codex_home(spec),
        )


ADAPTER = CodexExec(__name__)
