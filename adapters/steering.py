"""The steer ledger: every message added to a running turn, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import anyio

from checkrein.adapters.errors import SteerReason
from checkrein.adapters.native import SteerProgress


class SteerState(StrEnum):
    """Where a steer is, from sending to its end."""

    SENDING = "sending"
    #: the harness took it
    ACCEPTED = "accepted"
    #: it is in a model request of this turn
    DELIVERED = "delivered"
    #: it came too late for this turn and is part of the next one
    QUEUED = "queued"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    #: the acknowledgement was lost, or the process that had it is gone
    UNKNOWN = "unknown"

    @property
    def settled(self) -> bool:
        """Whether it can change no more (`unknown` can, once the harness's own record is read)."""
        return self in _SETTLED


_SETTLED = frozenset({SteerState.DELIVERED, SteerState.QUEUED, SteerState.CANCELLED, SteerState.REJECTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerStep:
    """One move of a steer.

    Args:
        evidence: the fact that showed it.
    """

    state: SteerState
    evidence: str


class Steer:
    """A message added to a running turn.

    Attributes:
        id: reserved before anything was sent.
        text: as given.
        reason: why it was rejected; None otherwise.
        steps: every move so far, the first one first.
    """

    def __init__(self, steer_id: str, text: str) -> None:
        self.id = steer_id
        self.text = text
        self.reason: SteerReason | None = None
        self.steps: tuple[SteerStep, ...] = (
            SteerStep(state=SteerState.SENDING, evidence="about to be sent"),
        )
        self._settled = anyio.Event()

    @property
    def state(self) -> SteerState:
        """Where it is now."""
        return self.steps[-1].state

    async def settled(self) -> SteerState:
        """Wait until it is delivered, queued, cancelled or rejected. Ends with the session at the latest."""
        await self._settled.wait()
        return self.state

    def move(self, state: SteerState, evidence: str) -> bool:
        """Note a move; False when the steer is settled already and nothing changed."""
        if self.state.settled or self.state is state:
            return False
        self.steps += (SteerStep(state=state, evidence=evidence),)
        if state.settled:
            self._settled.set()
        return True


_PROGRESS = {
    SteerProgress.ACCEPTED: SteerState.ACCEPTED,
    SteerProgress.DELIVERED: SteerState.DELIVERED,
    SteerProgress.QUEUED: SteerState.QUEUED,
    SteerProgress.CANCELLED: SteerState.CANCELLED,
}


class SteerLedger:
    """The steers of one turn, by id."""

    def __init__(self) -> None:
        self._steers: dict[str, Steer] = {}

    @property
    def steers(self) -> tuple[Steer, ...]:
        """All of them, in the order in which they were sent."""
        return tuple(self._steers.values())

    def open(self, steer_id: str, text: str) -> Steer:
        """Enter a steer before it is sent."""
        steer = Steer(steer_id, text)
        self._steers[steer_id] = steer
        return steer

    def get(self, steer_id: str) -> Steer | None:
        """The steer of that id, if it is of this turn."""
        return self._steers.get(steer_id)

    def moved(self, steer_id: str, progress: SteerProgress, evidence: str) -> Steer | None:
        """Note what the harness said; the steer if that changed it."""
        steer = self._steers.get(steer_id)
        if steer is None or not steer.move(_PROGRESS[progress], evidence):
            return None
        return steer

    def dropped_by_interrupt(self) -> tuple[Steer, ...]:
        """The turn was interrupted: what was not delivered by then is never delivered.

        Codex 0.171.0 forgets an accepted steer at an interrupt without a word; Claude Code 2.1.332 is told to
        cancel what it queued.
        """
        return self._all_open(SteerState.CANCELLED, "the turn was interrupted before the steer was delivered")

    def lost_with_process(self) -> tuple[Steer, ...]:
        """The harness's process is gone: nobody can say what became of the open ones."""
        return self._all_open(SteerState.UNKNOWN, "the harness's process ended before the steer was settled")

    def _all_open(self, state: SteerState, evidence: str) -> tuple[Steer, ...]:
        return tuple(steer for steer in self._steers.values() if steer.move(state, evidence))
