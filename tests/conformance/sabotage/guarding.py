"""Defects of what keeps the workspace's words and the user's key apart from where they must not come."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from typing import Any

from checkrein.adapters.claude_code import launch as claude_code_launch
from checkrein.adapters.relay import SessionRelay
from checkrein.conformance import arena
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute


def give_the_key_away() -> None:
    """The harness gets the key itself."""

    def make(_start: Any) -> Any:
        async def start(self: Any, tasks: Any) -> Any:
            return self._endpoint

        return start

    replace_attribute(SessionRelay, "start", make)


def live_in_the_workspace() -> None:
    """A workspace that holds the home is taken."""
    replace_attribute(claude_code_launch, "_refuse_own_state_in_workspace", lambda _: lambda *_: None)


def read_the_memory_unasked() -> None:
    """The project's memory is passed on without the option."""

    def make(open_session: Any) -> Any:
        def opened(*args: Any, **named: Any) -> Any:
            return open_session(*args, **{**named, "project_memory": True})

        return opened

    replace_attribute(arena, "open_session", make)


AMONG = ("workspace.key-stays-out", "workspace.memory-is-explicit")

DEFECTS: dict[str, Defect] = {
    "gives the key away": Defect(
        harness="codex", red=("workspace.key-stays-out",), among=AMONG[:1], install=give_the_key_away
    ),
    "lives in the workspace": Defect(
        harness="claude-code",
        red=("workspace.key-stays-out",),
        among=AMONG[:1],
        install=live_in_the_workspace,
    ),
    "reads the memory unasked": Defect(
        harness="codex",
        red=("workspace.memory-is-explicit",),
        among=AMONG[1:],
        install=read_the_memory_unasked,
    ),
}
