"""Prerequisites that are not there: what cannot be judged then is not testable, instead of somebody's fault."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from checkrein.adapters.kit_facts import Widening
from checkrein.adapters.steering import SteerState
from checkrein.adapters.turn import Turn
from checkrein.conformance import arena as arenas
from checkrein.conformance.arena import Arena
from checkrein.conformance.hostile import attacks
from checkrein.conformance.reference.sessions import Session
from checkrein.conformance.target import Target
from tests.conformance.saboteurs.defect import Defect, change_property, instead

#: The file that a tool writes what it could read to.
READ_BY_THE_TOOL = "seen.txt"


def _known(wanted: str, fact: Any) -> None:
    """Let the kit know something else of the harness."""
    instead(
        Arena,
        "known",
        lambda known: lambda self, name, real: known(self, name, fact if name == wanted else real),
    )


def know_no_questions() -> None:
    """The kit knows no kind of question that the agent asks."""
    _known("asked_kinds", lambda path: ())


def know_another_policy_word() -> None:
    """The kit widens a word that is not in the launch."""
    _known("widening", Widening(argv={"no-such-word": "auto"}))


def know_no_acknowledgement() -> None:
    """The kit knows no acknowledgement of a steer."""
    _known("acknowledges_steer", lambda request, answer: False)


def find_no_process() -> None:
    """The process table shows nothing."""
    instead(arenas, "processes_with_home", lambda _: lambda home, **more: ())


def find_no_attack() -> None:
    """There is no attack on the agent."""
    instead(attacks, "hostile_folder", lambda _: lambda: Path("/nowhere"))
    attacks.attacks_on.cache_clear()


def name_transcripts_otherwise() -> None:
    """The names of the transcripts do not hold the ids of their conversations."""

    def make(init: Any) -> Any:
        def named(self: Any, session_id: str, folder: Any) -> None:
            init(self, session_id, folder)
            self._path = folder / f"{session_id[::-1]}.jsonl"

        return named

    instead(Session, "__init__", make)


def name_no_memory() -> None:
    """The manifest names no file that is the project's memory."""
    change_property(Target, "manifest", lambda self, manifest: replace(manifest, memory_files=()))


def tell_a_waiting_steer_as_unknown() -> None:
    """A steer that was acknowledged and waits is told as unknown."""

    def make(steer: Any) -> Any:
        async def unknown(self: Any, text: str) -> Any:
            sent = await steer(self, text)
            sent.move(SteerState.UNKNOWN, "told so")
            return sent

        return unknown

    def make_outcome(outcome: Any) -> Any:
        async def cancelled(self: Any) -> Any:
            ended = await outcome(self)
            for steer in self.steers:
                steer.move(SteerState.CANCELLED, "told so")
            return ended

        return cancelled

    instead(Turn, "steer", make)
    instead(Turn, "outcome", make_outcome)


def read_no_environment() -> None:
    """A tool can read neither its own environment nor that of a process above it."""
    instead(
        Path,
        "read_text",
        lambda read: (
            lambda self, *words, **more: "" if self.name == READ_BY_THE_TOOL else read(self, *words, **more)
        ),
    )


def _lacking(install: Any, *clauses: str, in_driver: bool = True) -> Defect:
    return Defect(install=install, not_testable=clauses, in_driver=in_driver)


DEFECTS = {
    "the kit knows no kind of question": _lacking(know_no_questions, "approve.server-requests.all-answered"),
    "the kit widens a word that is not there": _lacking(
        know_another_policy_word, "session.start.policy-effective"
    ),
    "the kit knows no acknowledgement": _lacking(know_no_acknowledgement, "steer.ack-lost.unknown"),
    "the process table shows nothing": _lacking(find_no_process, "session.close.nothing-left"),
    "there is no attack": _lacking(find_no_attack, "workspace.cannot-widen"),
    "transcripts have other names": _lacking(
        name_transcripts_otherwise, "session.fork.original-untouched", in_driver=False
    ),
    "the manifest names no memory": _lacking(name_no_memory, "workspace.memory-is-explicit"),
    "a steer that waits is told as unknown": _lacking(
        tell_a_waiting_steer_as_unknown,
        "interrupt.steer-queued.outcome",
        "interrupt.steer-queued.quiet",
        "interrupt.queued-steers.not-run",
    ),
    "the tool reads no environment": _lacking(read_no_environment, "workspace.key-stays-out"),
}
