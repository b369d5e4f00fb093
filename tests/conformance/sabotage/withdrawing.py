"""Defects around steers that are taken back, which of the real CLIs Claude Code alone can."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from dataclasses import replace
from typing import Any

from checkrein.adapters.claude_code.connection import ClaudeCodeConnection
from checkrein.adapters.steering import SteerState, SteerStep
from checkrein.adapters.turn import Turn
from checkrein.scripted_models import ItemKind
from checkrein.scripted_models.anthropic_messages import AnthropicMessages
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute, rewrite_history
from tests.conformance.saboteurs.driving import count_turns_twice


def forget_what_became_of_steers() -> None:
    """When the turn has ended, nobody knows any more what became of its steers."""

    def make(outcome: Any) -> Any:
        async def forgotten(self: Any) -> Any:
            ended = await outcome(self)
            for steer in self.steers:
                steer.steps += (SteerStep(state=SteerState.UNKNOWN, evidence="forgotten"),)
            return ended

        return forgotten

    replace_attribute(Turn, "outcome", make)


def lose_the_result() -> None:
    """The result of the call that runs is lost with the steers that are taken back."""
    rewrite_history(
        lambda item: replace(item, text="nothing") if item.kind is ItemKind.RESULT else item,
        dialect=AnthropicMessages,
    )


def say_it_twice_over() -> None:
    """A steer is sent twice over, in one message."""

    def make(steer: Any) -> Any:
        async def doubled(self: Any, steer_id: str, text: str) -> None:
            await steer(self, steer_id, f"{text}\n{text}")

        return doubled

    replace_attribute(ClaudeCodeConnection, "steer", make)


def _defect(install: Any, *red: str) -> Defect:
    return Defect(harness="claude-code", red=red, among=("steer.withdraw.*",), install=install)


DEFECTS: dict[str, Defect] = {
    "forgets what became of steers": _defect(
        forget_what_became_of_steers, "steer.withdraw.never-seen", "steer.withdraw.late-refused"
    ),
    "loses the result of the call that runs": _defect(lose_the_result, "steer.withdraw.never-seen"),
    "lists each turn of Claude Code twice": _defect(count_turns_twice, "steer.withdraw.never-seen"),
    "says a steer twice over": _defect(say_it_twice_over, "steer.withdraw.late-refused"),
}
