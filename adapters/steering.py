"""The steer ledger: every message added to a running turn, and what became of it."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum

import anyio

from checkrein.adapters.errors import (
    CallExpired,
    CallRefused,
    HarnessDied,
    SteerReason,
    SteerRejected,
    WithdrawRefused,
)
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

    Args:
        steer_id: reserved before anything is sent.
        text: reaches the model byte for byte.
        waiting: open while somebody waits for the steer.
        withdraw: takes it back, or raises.

    Attributes:
        id: reserved before anything was sent.
        text: as given.
        reason: why it was rejected; None otherwise.
        steps: every move so far, the first one first.
        withdrawn: it was taken back.
    """

    def __init__(
        self,
        steer_id: str,
        text: str,
        *,
        waiting: Callable[[], AbstractContextManager[None]],
        withdraw: Callable[[Steer], Awaitable[None]],
    ) -> None:
        self.id = steer_id
        self.text = text
        self.reason: SteerReason | None = None
        self.steps: tuple[SteerStep, ...] = (
            SteerStep(state=SteerState.SENDING, evidence="about to be sent"),
        )
        self.withdrawn = False
        self._waiting = waiting
        self._withdraw = withdraw
        self._taken = anyio.Event()
        self._over = anyio.Event()

    @property
    def state(self) -> SteerState:
        """Where it is now."""
        return self.steps[-1].state

    async def settled(self) -> SteerState:
        """Wait until it is delivered, queued, cancelled or rejected, and return that.

        Ends with the harness's process at the latest, then with `unknown` when nobody can tell any more.
        """
        with self._waiting():
            await self._over.wait()
        return self.state

    async def taken(self) -> None:
        """Wait until it is under way no more: acknowledged, refused, or its acknowledgement lost."""
        with self._waiting():
            await self._taken.wait()

    async def withdraw(self) -> None:
        """Take it back before it is delivered: the model never sees it, and the turn goes on untouched.

        Withdrawing it again does nothing.

        Raises:
            WithdrawRefused: it is delivered, part of a later turn or rejected already, or the harness is about to
                show it to the model; nothing has changed.
            Unsupported: the harness cannot take back a steer; nothing was sent.
            CheckreinError: the harness did not answer, or is gone; what became of the steer is still told by `settled`.
        """
        await self._withdraw(self)

    def move(self, state: SteerState, evidence: str) -> bool:
        """Note a move; False when the steer is settled already and nothing changed."""
        if self.state.settled or self.state is state:
            return False
        self.steps += (SteerStep(state=state, evidence=evidence),)
        self._taken.set()
        if state.settled:
            self._over.set()
        return True

    def give_up(self, evidence: str) -> bool:
        """Nobody will say what became of it; False when it is settled or that was known."""
        moved = self.move(SteerState.UNKNOWN, evidence)
        self._over.set()
        return moved


_PROGRESS = {
    SteerProgress.ACCEPTED: SteerState.ACCEPTED,
    SteerProgress.DELIVERED: SteerState.DELIVERED,
    SteerProgress.QUEUED: SteerState.QUEUED,
    SteerProgress.CANCELLED: SteerState.CANCELLED,
}


class SteerLedger:
    """The steers of one turn, by id.

    Args:
        waiting: open while somebody waits for one of them.
        changed: told of each steer before it is sent, and after each of its moves.
        withdraw: takes a steer back, or raises; it comes back to `withdraw` here unless the harness cannot do it.
    """

    def __init__(
        self,
        *,
        waiting: Callable[[], AbstractContextManager[None]],
        changed: Callable[[Steer], None],
        withdraw: Callable[[Steer], Awaitable[None]],
    ) -> None:
        self._waiting = waiting
        self._changed = changed
        self._withdraw = withdraw
        self._steers: dict[str, Steer] = {}

    @property
    def steers(self) -> tuple[Steer, ...]:
        """All of them, in the order in which they were sent."""
        return tuple(self._steers.values())

    def get(self, steer_id: str) -> Steer | None:
        """The steer of that id, if it is of this turn."""
        return self._steers.get(steer_id)

    async def send(self, text: str, *, take: Callable[[str, str], Awaitable[None]]) -> Steer:
        """Enter a steer and hand it to the harness; returns when that took it, or when its answer was lost.

        Args:
            take: sends id and text; returns at the acknowledgement.

        Raises:
            SteerRejected: the harness refused it.
        """
        steer = Steer(str(uuid.uuid4()), text, waiting=self._waiting, withdraw=self._withdraw)
        self._steers[steer.id] = steer
        self._changed(steer)
        try:
            with self._waiting():
                await take(steer.id, text)
        except SteerRejected as rejection:
            self._reject(steer, rejection)
            raise
        except CallRefused as refusal:
            words = refusal.message or refusal.what
            rejection = SteerRejected(SteerReason.NOT_STEERABLE, by="harness", message=words)
            self._reject(steer, rejection)
            raise rejection from None
        except (CallExpired, HarnessDied) as error:
            self._move(steer, SteerState.UNKNOWN, error.what)
        except BaseException:
            self._move(steer, SteerState.UNKNOWN, "the wait for its acknowledgement was broken off")
            raise
        else:
            if steer.state is SteerState.SENDING:
                self._move(steer, SteerState.ACCEPTED, "acknowledged by the harness")
        return steer

    async def withdraw(self, steer: Steer, *, ask: Callable[[str], Awaitable[bool]]) -> None:
        """Take a steer back.

        Args:
            ask: tells the harness to drop the steer of that id; returns whether it did.

        Raises:
            WithdrawRefused: it is too late.
        """
        # Claude Code 2.1.332 answers `false` about a message that it has not read yet, and drops it all the same.
        await steer.taken()
        if not steer.state.settled:
            with self._waiting():
                dropped = await ask(steer.id)
            if dropped:
                self._move(steer, SteerState.CANCELLED, "withdrawn; the harness dropped it")
            steer.withdrawn = steer.state is SteerState.CANCELLED
        if steer.state is not SteerState.CANCELLED:
            raise WithdrawRefused("the steer cannot be taken back any more", state=steer.state.value)

    def moved(self, steer_id: str, progress: SteerProgress, evidence: str) -> None:
        """Note what the harness said of a steer, if it is of this turn."""
        steer = self._steers.get(steer_id)
        if steer is not None:
            self._move(steer, _PROGRESS[progress], evidence)

    def dropped_by_interrupt(self) -> None:
        """The harness interrupted the turn: what was not delivered by then is never delivered.

        Codex 0.171.0 forgets an accepted steer at an interrupt without a word; Claude Code 2.1.332 is told to
        cancel what it queued. One whose acknowledgement was lost may have been delivered: it stays unknown.
        """
        for steer in self._steers.values():
            if steer.state is not SteerState.UNKNOWN:
                self._move(
                    steer, SteerState.CANCELLED, "the turn was interrupted before the steer was delivered"
                )

    def lost_with_process(self) -> None:
        """The harness's process is gone: nobody can say what became of the open ones."""
        for steer in self._steers.values():
            if steer.give_up("the harness's process ended before the steer was settled"):
                self._changed(steer)

    def _reject(self, steer: Steer, rejection: SteerRejected) -> None:
        steer.reason = rejection.reason
        self._move(steer, SteerState.REJECTED, rejection.message or rejection.what)

    def _move(self, steer: Steer, state: SteerState, evidence: str) -> None:
        if steer.move(state, evidence):
            self._changed(steer)
