"""Defects that trust what lies in the workspace: the launch that an ordinary driver makes."""

from __future__ import annotations

from checkrein.adapters.claude_code.kit import KIT as CLAUDE_CODE
from checkrein.adapters.codex.kit import KIT as CODEX
from checkrein.adapters.interface import HarnessAdapter
from checkrein.adapters.open_recipe import OpenRecipe
from checkrein.adapters.pi.kit import KIT as PI
from checkrein.conformance import target
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute

ATTACKED = ("workspace.cannot-*", "workspace.unasked-*")


def _launch_with(recipe: OpenRecipe) -> None:
    def make(find: object) -> object:
        assert callable(find)

        def find_and_open(name: str) -> HarnessAdapter:
            adapter = find(name)
            assert isinstance(adapter, HarnessAdapter)
            return recipe(adapter)

        return find_and_open

    replace_attribute(target, "find_harness", make)


def open_claude_code() -> None:
    """Claude Code reads the settings of the workspace."""
    _launch_with(CLAUDE_CODE.open_recipes["usual"])


def open_codex() -> None:
    """Codex trusts the workspace. It still asks about every command, so that the workspace cannot widen that."""
    _launch_with(CODEX.open_recipes["usual"])


def open_pi() -> None:
    """pi trusts the workspace, and loads what it finds there. The gate still asks."""
    _launch_with(PI.open_recipes["usual"])


DEFECTS: dict[str, Defect] = {
    "launches Claude Code with the open recipe": Defect(
        harness="claude-code",
        red=(
            "workspace.cannot-answer",
            "workspace.cannot-rewrite",
            "workspace.cannot-run-at-start",
            "workspace.cannot-widen",
            "workspace.cannot-redirect",
            "workspace.cannot-start-a-turn",
            "workspace.unasked-commands-are-inert",
        ),
        among=ATTACKED,
        install=open_claude_code,
    ),
    "launches Codex with the open recipe": Defect(
        harness="codex",
        red=(
            "workspace.cannot-answer",
            "workspace.cannot-rewrite",
            "workspace.cannot-run-at-start",
            "workspace.cannot-redirect",
            "workspace.cannot-start-a-turn",
        ),
        among=ATTACKED,
        install=open_codex,
    ),
    "launches pi with the open recipe": Defect(
        harness="pi",
        red=(
            "workspace.cannot-answer",
            "workspace.cannot-rewrite",
            "workspace.cannot-run-at-start",
            "workspace.cannot-widen",
            "workspace.cannot-redirect",
            "workspace.cannot-start-a-turn",
        ),
        among=ATTACKED,
        install=open_pi,
    ),
}
