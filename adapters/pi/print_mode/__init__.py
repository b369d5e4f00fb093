"""pi's print mode as a one-shot harness: `pi -p PROMPT`, one run per turn.

The closed recipe is that of the live adapter, its extension too: that brings the model's endpoint, and in `auto` asks
nothing. Observed on 1.6.0: a failed model request ends pi with status 0; the reason is in the output.
"""

from __future__ import annotations

from checkrein.adapters.interface import SessionSpec
from checkrein.adapters.oneshot import OneShotAdapter, Surroundings
from checkrein.adapters.pi.launch import closed_recipe

__all__ = ["ADAPTER", "PiPrint"]


class PiPrint(OneShotAdapter):
    """The adapter of `pi -p`."""

    def surroundings(self, spec: SessionSpec) -> Surroundings:
        """See `OneShotAdapter.surroundings`; `{configuration}` is where the conversations of the workspace are."""
        recipe = closed_recipe(spec)
        return Surroundings(
            environment=recipe.environment, options=recipe.options, configuration=recipe.sessions
        )


ADAPTER = PiPrint(__name__)
