"""Steers under way: from pi's queue to the proof that the model was asked with them.

What 1.6.0 and 1.3.0 do: a steer is queued, then answered; when the model's answer and its calls are done, the queue is
emptied into the conversation (a message of the user with that text, without an id), and the model is asked again. What
is still queued when a turn ends stays there, and would go with the next prompt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checkrein.adapters.native import SteerMoved, SteerProgress


@dataclass(slots=True)
class _Place:
    text: str
    accepted: bool = False
    joined: bool = False


class SteersUnderWay:
    """The steers whose end is not known, in the order in which they were sent."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}

    def sent(self, steer_id: str, text: str) -> None:
        """Note that a steer is about to be sent."""
        self._places[steer_id] = _Place(text)

    def refused(self, steer_id: str) -> None:
        """Forget a steer that pi did not take."""
        self._places.pop(steer_id, None)

    def accepted(self, steer_id: str) -> Iterator[SteerMoved]:
        """pi has queued it."""
        place = self._places.get(steer_id)
        if place is not None and not place.accepted:
            place.accepted = True
            yield SteerMoved(
                steer_id=steer_id, progress=SteerProgress.ACCEPTED, evidence="answered with queued"
            )

    def joined(self, text: str) -> None:
        """A message of the user with that text is in the conversation: the oldest steer that says so."""
        for place in self._places.values():
            if place.text == text and not place.joined:
                place.joined = True
                return

    def model_answers(self) -> Iterator[SteerMoved]:
        """An answer of the model begins: it was asked with all that had joined."""
        yield from self._joined(SteerProgress.DELIVERED, "an answer of the model began after its message")

    def turn_ended(self) -> Iterator[SteerMoved]:
        """The turn is over: what has joined goes with the next request, which is the next turn's."""
        yield from self._joined(SteerProgress.QUEUED, "its message joined, and no answer of the model began")

    def _joined(self, progress: SteerProgress, evidence: str) -> Iterator[SteerMoved]:
        for steer_id in [key for key, place in self._places.items() if place.joined]:
            del self._places[steer_id]
            yield SteerMoved(steer_id=steer_id, progress=progress, evidence=evidence)

    @property
    def waits(self) -> bool:
        """Whether one may be in the queue."""
        return any(not place.joined for place in self._places.values())

    def taken_back(self, texts: tuple[str, ...]) -> Iterator[SteerMoved]:
        """clear_queue gave these back: the model never sees them."""
        for text in texts:
            for steer_id, place in self._places.items():
                if place.text == text and not place.joined:
                    del self._places[steer_id]
                    yield SteerMoved(
                        steer_id=steer_id,
                        progress=SteerProgress.CANCELLED,
                        evidence="taken back by clear_queue",
                    )
                    break
