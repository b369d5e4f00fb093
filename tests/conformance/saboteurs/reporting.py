"""Defects of the driver's reports: what it says of turns, steers and messages is not what happened."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from checkrein.adapters import turn as turns
from checkrein.adapters.acp.connection import AcpConnection
from checkrein.adapters.outcome import OutcomeStatus
from checkrein.adapters.sending import Message
from checkrein.adapters.steering import SteerLedger, SteerState
from checkrein.adapters.turn import Turn
from checkrein.conformance.reference.agent import VERSION
from checkrein.conformance.wire import Wire
from tests.conformance.saboteurs.defect import Defect, instead


def _ends(change: Any) -> None:
    """Let outcomes say something else: `change` gets the turn and its outcome."""

    def make(outcome: Any) -> Any:
        async def changed(self: Any) -> Any:
            return change(self, await outcome(self))

        return changed

    instead(Turn, "outcome", make)


def cut_the_text() -> None:
    """The last sign of the text of a completed turn is lost."""

    def cut(turn: Any, outcome: Any) -> Any:
        done = outcome.status is OutcomeStatus.COMPLETED
        return replace(outcome, text=outcome.text[:-1]) if done else outcome

    _ends(cut)


def charge_by_the_turn() -> None:
    """Each turn is told to have cost the same."""
    _ends(lambda turn, outcome: replace(outcome, usage=replace(outcome.usage, cost_usd=1.0)))


def name_another_prompt() -> None:
    """A turn names another prompt than it was given."""

    def make(init: Any) -> Any:
        def named(self: Any, *words: Any, **more: Any) -> None:
            init(self, *words, **more)
            self.prompt = self.prompt.upper()

        return named

    instead(turns.Turn, "__init__", make)


def say_nothing_of_a_message() -> None:
    """Nobody is told which turn has a message."""

    def make(settled: Any) -> Any:
        async def untold(self: Any) -> None:
            await settled(self)

        return untold

    instead(Message, "settled", make)


def say_the_prompt_twice() -> None:
    """What begins a turn is sent to the agent twice over, in one message."""

    def make(start: Any) -> Any:
        async def doubled(self: Any, turn_id: str, prompt: str) -> None:
            await start(self, turn_id, f"{prompt}\n{prompt}")

        return doubled

    instead(AcpConnection, "start_turn", make)


def _moves(change: Any) -> None:
    """Let the ledger note other moves: `change` gets the steer and its new state."""

    def make(move: Any) -> Any:
        def other(self: Any, steer: Any, state: SteerState, evidence: str) -> None:
            move(self, steer, change(steer, state), evidence)

        return other

    instead(SteerLedger, "_move", make)


def take_silence_for_consent() -> None:
    """A steer whose acknowledgement does not come is told as accepted."""
    _moves(lambda steer, state: SteerState.ACCEPTED if state is SteerState.UNKNOWN else state)


def expect_it_later() -> None:
    """A steer that was unknown and has arrived is told as queued for the next turn."""
    _moves(
        lambda steer, state: (
            SteerState.QUEUED
            if state is SteerState.DELIVERED and steer.state is SteerState.UNKNOWN
            else state
        )
    )


def say_it_again_in_vain() -> None:
    """A steer that is not acknowledged is sent once more, in words that the agent does not know."""

    def make(steer: Any) -> Any:
        async def again(self: Any, steer_id: str, text: str) -> None:
            try:
                await steer(self, steer_id, text)
            finally:
                note = {"jsonrpc": "2.0", "method": "checkrein/again", "params": {"text": text}}
                await self.process.send(msgspec.json.encode(note))

        return again

    instead(AcpConnection, "steer", make)


def state_no_version() -> None:
    """No line of the agent states its version."""

    def make(tap: Any) -> Any:
        return lambda self, way, line: tap(self, way, line.replace(VERSION.encode(), b"the newest"))

    instead(Wire, "tap", make)


DEFECTS = {
    name: Defect(install=install, red=red, in_driver=True)
    for name, (install, red) in {
        "the last sign of a text is lost": (
            cut_the_text,
            ("session.two.no-crosstalk", "interrupt.next-turn.right-answer", "session.resume.continues"),
        ),
        "every turn costs the same": (charge_by_the_turn, ("record.usage.per-turn",)),
        "a turn names another prompt": (name_another_prompt, ("send.ended.starts-next-turn",)),
        "nobody is told which turn has a message": (say_nothing_of_a_message, ("send.running.steers",)),
        "a prompt is sent twice over": (
            say_the_prompt_twice,
            (
                "interrupt.with-message.carries-on",
                "send.ended.starts-next-turn",
                "session.resume.continues",
            ),
        ),
        "a steer without an answer counts as accepted": (
            take_silence_for_consent,
            ("steer.ack-lost.unknown",),
        ),
        "a steer that was unknown is told as queued": (expect_it_later, ("steer.ack-lost.unknown",)),
        "a steer is sent again in vain": (say_it_again_in_vain, ("steer.ack-lost.unknown",)),
        "no line states the version": (state_no_version, ("session.start.version-recorded",)),
    }.items()
}
