"""Steers under way: from the agent's word that it took one to the proof that the model was asked with it.

An agent that shows steers sends a `user_message_chunk` when one joins the conversation, with the id that we gave it
where it takes ids, else known by its text. It was delivered when something of the model follows. One that shows none
has only its word: `injected`, and then the end of the turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checkrein.adapters.errors import SteerReason
from checkrein.adapters.native import SteerMoved, SteerProgress

INJECTED, STARTED_TURN = "injected", "startedNewTurn"

#: Why an agent did not take a steer, by its outcome. What else it says is no reason of ours.
REFUSALS = {"promptRequired": SteerReason.TURN_ENDED, "failed": SteerReason.NOT_STEERABLE}


@dataclass(slots=True)
class _Place:
    text: str
    accepted: bool = False
    joined: bool = False
    #: no answer came in time
    unanswered: bool = False


class SteersUnderWay:
    """The steers whose end is not known, in the order in which they were sent.

    Args:
        shown: the agent shows them.
    """

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._places: dict[str, _Place] = {}

    def sent(self, steer_id: str, text: str) -> None:
        """Note that a steer is about to be sent."""
        self._places[steer_id] = _Place(text)

    def refused(self, steer_id: str) -> Iterator[SteerMoved]:
        """The agent did not take it; whoever sent it learns that by the answer, unless it came late."""
        place = self._places.pop(steer_id, None)
        if place is not None and place.unanswered:
            yield SteerMoved(
                steer_id=steer_id, progress=SteerProgress.CANCELLED, evidence="late refusal of the steer"
            )

    def unanswered(self, steer_id: str, *, over: bool) -> bool:
        """The agent did not answer in time: what becomes of it is told by what is shown alone.

        Args:
            over: its turn has ended.

        Returns:
            Whether that says already that the model does not see it.
        """
        place = self._places.get(steer_id)
        if place is None or place.accepted or place.joined:
            return False
        place.unanswered = True
        if over:
            del self._places[steer_id]
        return over

    def accepted(self, steer_id: str) -> Iterator[SteerMoved]:
        """The agent has taken it."""
        place = self._places.get(steer_id)
        if place is not None and not place.accepted:
            place.accepted = True
            yield SteerMoved(
                steer_id=steer_id, progress=SteerProgress.ACCEPTED, evidence="answered with injected"
            )

    def joined(self, message_id: str | None, text: str) -> bool:
        """A message of the user was shown; whether it is a steer: by its id, else the oldest with that text."""
        waiting = {key: place for key, place in self._places.items() if not place.joined}
        found = waiting.get(message_id or "") or next(
            (place for place in waiting.values() if place.text == text), None
        )
        if found is None:
            return False
        found.joined = True
        return True

    def model_answers(self) -> Iterator[SteerMoved]:
        """Something of the model came: it was asked with all that had joined."""
        evidence = "an answer of the model began after its user_message_chunk"
        yield from self._moved([key for key, place in self._places.items() if place.joined], evidence)

    def turn_ended(self, *, completed: bool) -> Iterator[SteerMoved]:
        """The turn is over.

        Args:
            completed: by its own end, so that what was injected was shown to the model, if we can believe it.
        """
        yield from self._moved(
            [key for key, place in self._places.items() if place.joined],
            "shown, and no answer of the model began in its turn",
            SteerProgress.QUEUED,
        )
        taken = [key for key, place in self._places.items() if place.accepted or place.unanswered]
        if completed and not self._shown:
            yield from self._moved(taken, "the agent said injected, and completed the turn")
        else:
            yield from self._moved(taken, "the turn ended and it was not shown", SteerProgress.CANCELLED)

    def _moved(
        self, steer_ids: list[str], evidence: str, progress: SteerProgress = SteerProgress.DELIVERED
    ) -> Iterator[SteerMoved]:
        for steer_id in steer_ids:
            del self._places[steer_id]
            yield SteerMoved(steer_id=steer_id, progress=progress, evidence=evidence)
