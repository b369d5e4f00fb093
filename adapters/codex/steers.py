"""Steers under way: from the acknowledgement to the proof that the model was asked with them.

What 0.171.0 and 0.162.1 do: `turn/steer` is answered at once; the text is in the conversation when a userMessage item
with the client id appears; the model has been asked with it only when a later answer shows. On 0.162.1 three of 123
steers at the end of a turn were in the conversation without another request in that turn. A steer that was accepted
and is in no item when the turn ends is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from checkrein.adapters.codex.failures import not_steerable
from checkrein.adapters.codex.messages import RpcError
from checkrein.adapters.codex.wire_texts import Refusal, recognise
from checkrein.adapters.errors import SteerReason
from checkrein.adapters.native import SteerMoved, SteerProgress

#: JSON-RPC code of a refusal for too long an input (0.171.0, 0.162.1)
INVALID_PARAMS = -32602


@dataclass(slots=True)
class _Place:
    accepted: bool = False
    #: its answer did not come in time
    unanswered: bool = False
    #: input tokens of the conversation when the text joined it; None before
    joined_at: int | None = None


class SteersUnderWay:
    """The steers of the running turn whose end is not known."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        self._input_tokens = 0

    def sent(self, steer_id: str) -> None:
        """Note that a steer is about to be sent."""
        self._places[steer_id] = _Place()

    def refused(self, steer_id: str) -> Iterator[SteerMoved]:
        """Forget a steer that the harness refused; whoever sent it learns that by the answer, unless it came late."""
        place = self._places.pop(steer_id, None)
        if place is not None and place.unanswered:
            yield SteerMoved(
                steer_id=steer_id, progress=SteerProgress.CANCELLED, evidence="late refusal of turn/steer"
            )

    def unanswered(self, steer_id: str, *, over: bool) -> bool:
        """The harness did not answer in time: what becomes of the text is read from the items of the turn alone.

        Args:
            over: that turn has ended.

        Returns:
            Whether these say already that the text is not part of it.
        """
        place = self._places.get(steer_id)
        if place is None or place.accepted:
            return False
        place.unanswered = True
        if over:
            del self._places[steer_id]
        return over

    def accepted(self, steer_id: str) -> Iterator[SteerMoved]:
        """The harness acknowledged it."""
        place = self._places.get(steer_id)
        if place is not None and not place.accepted:
            place.accepted = True
            yield SteerMoved(
                steer_id=steer_id, progress=SteerProgress.ACCEPTED, evidence="answer to turn/steer"
            )

    def joined(self, client_id: str) -> Iterator[SteerMoved]:
        """A userMessage item of that client id appeared."""
        place = self._places.get(client_id)
        if place is None or place.joined_at is not None:
            return
        if not place.accepted:
            place.accepted = True
            yield SteerMoved(steer_id=client_id, progress=SteerProgress.ACCEPTED, evidence="userMessage item")
        place.joined_at = self._input_tokens

    def model_answered(self, evidence: str) -> Iterator[SteerMoved]:
        """An item began that only an answer of the model brings about.

        It is of a later answer than what was there before the text joined: the harness adds a steer only after
        the answer that it interrupts is dropped, and the calls of that answer have ended.
        """
        for steer_id in [key for key, place in self._places.items() if place.joined_at is not None]:
            del self._places[steer_id]
            yield SteerMoved(steer_id=steer_id, progress=SteerProgress.DELIVERED, evidence=evidence)

    def counted(self, input_tokens: int) -> Iterator[SteerMoved]:
        """The harness told the conversation's input tokens; more than before means another request."""
        for steer_id, place in list(self._places.items()):
            if place.joined_at is not None and input_tokens > place.joined_at:
                del self._places[steer_id]
                yield SteerMoved(
                    steer_id=steer_id,
                    progress=SteerProgress.DELIVERED,
                    evidence="usage of a request after its userMessage item",
                )
        self._input_tokens = input_tokens

    def turn_ended(self) -> Iterator[SteerMoved]:
        """The turn is over: what joined the conversation unseen is for the next turn, the rest is lost."""
        for steer_id, place in self._places.items():
            if place.joined_at is not None:
                yield SteerMoved(
                    steer_id=steer_id,
                    progress=SteerProgress.QUEUED,
                    evidence="userMessage item, and no answer of the model after it",
                )
            elif place.accepted or place.unanswered:
                yield SteerMoved(
                    steer_id=steer_id,
                    progress=SteerProgress.CANCELLED,
                    evidence="turn/completed without its userMessage item",
                )
        self._places = {
            key: place for key, place in self._places.items() if not (place.accepted or place.unanswered)
        }


class _TooLarge(msgspec.Struct):
    input_error_code: str = ""


def steer_refusal(error: RpcError) -> SteerReason | None:
    """Return why a turn/steer was refused; None when the error is none of the known ones."""
    if error.code == INVALID_PARAMS:
        try:
            large = msgspec.json.decode(error.data, type=_TooLarge | None)
        except msgspec.DecodeError:
            large = None
        if large is not None and large.input_error_code == "input_too_large":
            return SteerReason.TOO_LARGE
    if not_steerable(bytes(error.data)):
        return SteerReason.NOT_STEERABLE
    match recognise(error.message):
        case Refusal.NO_TURN_TO_STEER:
            return SteerReason.NO_ACTIVE_TURN
        case Refusal.OTHER_TURN_ACTIVE:
            return SteerReason.TURN_ENDED
        case _:
            return None
