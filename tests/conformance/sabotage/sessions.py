"""Defects of opening, closing and continuing sessions."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

from checkrein.adapters import opening
from checkrein.adapters.codex import connection
from checkrein.adapters.codex.connection import CodexConnection
from checkrein.adapters.interface import Origin
from checkrein.adapters.transport import HarnessProcess
from checkrein.adapters.turn import Turn
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.interrupting import leave_the_command_alive
from tests.conformance.sabotage.replacing import replace_attribute


def _change_opened(change: Any) -> None:
    def make(open_conversation: Any) -> Any:
        async def opened(self: Any) -> Any:
            return change(await open_conversation(self))

        return opened

    replace_attribute(CodexConnection, "open", make)


def state_another_version() -> None:
    """The version is made up."""
    _change_opened(lambda opened: replace(opened, version="1.0.0"))


def ignore_the_effective_policy() -> None:
    """What was asked for is reported as effective."""
    _change_opened(lambda opened: replace(opened, policy_effective=opened.policy_asked))


def leave_the_tools_alive() -> None:
    """Closing kills the harness alone; its guard and its tools are forgotten."""

    leave_the_command_alive()

    async def aclose(self: Any) -> None:
        await self.signal(signal.SIGKILL)
        await self.wait_exit(10)

    replace_attribute(HarnessProcess, "aclose", lambda _: aclose)


def _open_as(origin: Origin, other: Origin) -> None:
    def make(open_conversation: Any) -> Any:
        def opened(spec: Any) -> Any:
            return open_conversation(replace(spec, origin=other) if spec.origin is origin else spec)

        return opened

    replace_attribute(connection, "opening", make)


def resume_into_a_new_session() -> None:
    """A conversation that is to be resumed begins anew."""
    _open_as(Origin.RESUME, Origin.NEW)

    def make(open_conversation: Any) -> Any:
        async def opened(self: Any) -> Any:
            # Else the adapter notices that the id is another.
            self.spec = (
                replace(self.spec, origin=Origin.NEW) if self.spec.origin is Origin.RESUME else self.spec
            )
            return await open_conversation(self)

        return opened

    replace_attribute(CodexConnection, "open", make)


def fork_into_the_original() -> None:
    """A fork goes on in the original."""
    _open_as(Origin.FORK, Origin.RESUME)


def pass_the_surroundings_on() -> None:
    """The harness gets the whole surrounding environment."""
    replace_attribute(opening, "clean_environment", lambda _: lambda base, **_: dict(base))


def steer_the_newest() -> None:
    """A steer goes to the turn that was made last, of whichever session."""
    newest: list[Any] = []

    def make_new(make_turn: Any) -> Any:
        def made(self: Any, *arguments: Any, **named: Any) -> None:
            make_turn(self, *arguments, **named)
            newest[:] = [self]

        return made

    def make_steer(steer: Any) -> Any:
        async def steered(self: Any, text: str) -> Any:
            return await steer(newest[0], text)

        return steered

    replace_attribute(Turn, "__init__", make_new)
    replace_attribute(Turn, "steer", make_steer)


DEFECTS: dict[str, Defect] = {
    "states a version of its own": Defect(
        harness="codex",
        red=("session.start.version-recorded",),
        among=("session.start.*",),
        install=state_another_version,
    ),
    "does not look at the effective policy": Defect(
        harness="codex",
        red=("session.start.policy-effective",),
        among=("session.start.*",),
        install=ignore_the_effective_policy,
    ),
    "leaves the tools alive at close": Defect(
        harness="codex",
        red=("session.close.nothing-left",),
        among=("session.close.*", "session.start.*"),
        install=leave_the_tools_alive,
    ),
    "resumes into a new session": Defect(
        harness="codex",
        red=("session.resume.continues", "session.resume.unknown-id", "session.fork.original-untouched"),
        among=("session.resume.*", "session.fork.*"),
        install=resume_into_a_new_session,
    ),
    "forks into the original": Defect(
        harness="codex",
        red=("session.fork.original-untouched",),
        among=("session.resume.continues", "session.fork.*"),
        install=fork_into_the_original,
    ),
    "passes the surroundings on": Defect(
        harness="codex",
        red=("session.env.clean",),
        among=("session.env.*", "session.start.*"),
        install=pass_the_surroundings_on,
    ),
    "steers the newest session": Defect(
        harness="codex",
        red=("session.two.no-crosstalk",),
        among=("session.two.*",),
        install=steer_the_newest,
    ),
}
