"""Defects of what is granted for the rest of a turn."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from typing import Any

from checkrein.adapters.approvals import ApprovalDesk
from tests.conformance.saboteurs.defect import Defect, instead


def forget_grants() -> None:
    """What was allowed for the rest of the turn is asked about again."""

    def make(init: Any) -> Any:
        def forgetful(self: Any, *parts: Any, **named: Any) -> None:
            init(self, *parts, **named)
            self._always = _Forgotten()

        return forgetful

    instead(ApprovalDesk, "__init__", make)


class _Forgotten(set[Any]):
    def add(self, element: Any) -> None:
        """Keep nothing."""


DEFECTS = {
    "what was allowed for the turn is asked about again": Defect(
        install=forget_grants, red=("approve.link-moved.asks-again",), in_driver=True
    ),
}
