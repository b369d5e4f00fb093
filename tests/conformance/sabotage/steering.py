"""Defects of steers."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

import uuid
from typing import Any

from checkrein.adapters.codex.connection import CodexConnection
from checkrein.adapters.native import SteerMoved, SteerProgress
from checkrein.adapters.session import Session
from checkrein.adapters.turn import Turn
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute


def forward_when_idle() -> None:
    """A steer without an active turn goes to the harness all the same."""

    def make(steer: Any) -> Any:
        async def forwarded(self: Any, text: str) -> Any:
            if self.turn is None and self.turns:
                await self.link.connection.steer(str(uuid.uuid4()), text)
            return await steer(self, text)

        return forwarded

    replace_attribute(Session, "steer", make)


def take_for_an_ended_turn() -> None:
    """A steer to a turn that has ended goes to the harness, whatever runs there."""
    replace_attribute(Turn, "_refuse_steer", lambda _: lambda self: None)


def drop() -> None:
    """The adapter reports a steer as delivered, and never sends it."""

    async def steer(self: Any, steer_id: str, text: str) -> None:
        moved = SteerMoved(steer_id=steer_id, progress=SteerProgress.DELIVERED, evidence="a lie")
        self._late.append(moved)

    replace_attribute(CodexConnection, "steer", lambda _: steer)


def deliver_twice() -> None:
    """The adapter sends each steer twice."""

    def make(steer: Any) -> Any:
        async def twice(self: Any, steer_id: str, text: str) -> None:
            await steer(self, str(uuid.uuid4()), text)
            await steer(self, steer_id, text)

        return twice

    replace_attribute(CodexConnection, "steer", make)


def reorder() -> None:
    """The adapter keeps back the first steer that speaks of a number until the next one has been sent."""
    kept: list[tuple[str, str]] = []

    def make(steer: Any) -> Any:
        async def reordered(self: Any, steer_id: str, text: str) -> None:
            if text == "steer number one":
                kept.append((steer_id, text))
                return
            await steer(self, steer_id, text)
            while kept:
                await steer(self, *kept.pop())

        return reordered

    replace_attribute(CodexConnection, "steer", make)


STEER = ("steer.*",)

DEFECTS: dict[str, Defect] = {
    "forwards a steer when idle": Defect(
        harness="claude-code",
        red=("steer.idle.rejected",),
        among=STEER,
        install=forward_when_idle,
    ),
    "takes a steer for a turn that has ended": Defect(
        harness="claude-code",
        red=("steer.ended-turn.rejected",),
        among=STEER,
        install=take_for_an_ended_turn,
    ),
    "drops a steer": Defect(
        harness="codex",
        red=(
            "steer.mid-tool.delivered",
            "steer.mid-stream.delivered",
            "steer.order.kept",
            "session.resume.continues",
        ),
        among=(*STEER, "session.resume.*", "session.fork.*"),
        install=drop,
    ),
    "delivers a steer twice": Defect(
        harness="codex",
        red=(
            "steer.mid-tool.delivered",
            "steer.mid-stream.delivered",
            "steer.order.kept",
            "session.resume.continues",
        ),
        among=(*STEER, "session.resume.*", "session.fork.*"),
        install=deliver_twice,
    ),
    "reorders steers": Defect(
        harness="codex",
        red=("steer.order.kept",),
        among=STEER,
        install=reorder,
    ),
}
