"""A steer whose answer does not come is settled by what the turn's items show."""

from __future__ import annotations

from checkrein.adapters.codex.steers import SteersUnderWay
from checkrein.adapters.native import SteerMoved, SteerProgress


def progress(moves: list[SteerMoved]) -> list[SteerProgress]:
    return [move.progress for move in moves]


def unanswered() -> SteersUnderWay:
    steers = SteersUnderWay()
    steers.sent("s-1")
    assert not steers.unanswered("s-1", over=False)
    return steers


def test_an_unanswered_steer_whose_item_appears_is_delivered_with_the_next_answer() -> None:
    steers = unanswered()
    moves = [*steers.joined("s-1"), *steers.model_answered("agentMessage"), *steers.turn_ended()]
    assert progress(moves) == [SteerProgress.ACCEPTED, SteerProgress.DELIVERED]


def test_an_unanswered_steer_without_an_item_is_not_in_the_ended_turn() -> None:
    steers = unanswered()
    assert progress([*steers.turn_ended()]) == [SteerProgress.CANCELLED]
    assert [*steers.turn_ended()] == []


def test_a_steer_that_waits_for_its_answer_at_the_end_of_the_turn_is_left_to_that() -> None:
    steers = SteersUnderWay()
    steers.sent("s-1")
    assert [*steers.turn_ended()] == []
    assert [*steers.refused("s-1")] == []


def test_a_refusal_that_comes_late_settles_the_steer() -> None:
    steers = unanswered()
    assert progress([*steers.refused("s-1")]) == [SteerProgress.CANCELLED]


def test_an_answer_that_never_came_before_the_end_of_the_turn_means_that_the_text_is_not_in_it() -> None:
    steers = SteersUnderWay()
    steers.sent("s-1")
    assert steers.unanswered("s-1", over=True)
    assert [*steers.turn_ended()] == []


def test_a_steer_that_is_in_the_conversation_is_not_given_up_for_want_of_an_answer() -> None:
    steers = SteersUnderWay()
    steers.sent("s-1")
    assert progress([*steers.joined("s-1"), *steers.turn_ended()]) == [
        SteerProgress.ACCEPTED,
        SteerProgress.QUEUED,
    ]
    assert not steers.unanswered("s-1", over=True)
