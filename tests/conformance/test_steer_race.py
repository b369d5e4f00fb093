"""The comparison behind the sweep of steers: every way in which log and report can differ is told."""

from __future__ import annotations

import pytest

from checkrein.adapters import SteerState
from checkrein.conformance.scenarios.steer_race import Ended, Shot, disagreements
from checkrein.scripted_models import HistoryItem, ItemKind, View

ENDS = [
    Ended(turn="first", last_request=2),
    Ended(turn="s-1", last_request=3),
    Ended(turn="last", last_request=4),
]


def conversation(*news: tuple[str, ...]) -> list[View]:
    """What the model saw: with each request these texts came, after all that was there before."""
    history: tuple[HistoryItem, ...] = ()
    views: list[View] = []
    for number, texts in enumerate(news, start=1):
        history += tuple(HistoryItem(kind=ItemKind.USER, text=text) for text in texts)
        views.append(View(history=history))
        history += (HistoryItem(kind=ItemKind.ASSISTANT, text=f"Answer {number}."),)
    return views


def shot(state: SteerState, *, steer: str = "s-1", turn: str = "first") -> Shot:
    return Shot(text="steer 0001", turn=turn, steer=steer, state=state, words=state.value)


@pytest.mark.parametrize(
    ("reported", "seen_with"),
    [
        (shot(SteerState.DELIVERED), 2),
        (shot(SteerState.QUEUED), 3),
        (shot(SteerState.QUEUED, steer="in the conversation only"), 3),
        (shot(SteerState.REJECTED, steer=""), None),
    ],
)
def test_what_was_reported_and_seen_agrees(reported: Shot, seen_with: int | None) -> None:
    news = [("steer 0001",) if number == seen_with else ("prompt",) for number in range(1, 5)]
    assert disagreements([reported], ENDS, conversation(*news)) == []


@pytest.mark.parametrize(
    ("reported", "seen_with"),
    [
        (shot(SteerState.DELIVERED), []),
        (shot(SteerState.DELIVERED), [3]),
        (shot(SteerState.DELIVERED), [2, 3]),
        (shot(SteerState.QUEUED), []),
        (shot(SteerState.QUEUED), [2]),
        (shot(SteerState.QUEUED), [3, 4]),
        (shot(SteerState.QUEUED, steer="in no turn", turn="last"), [4]),
        (shot(SteerState.REJECTED, steer=""), [3]),
        (shot(SteerState.CANCELLED), []),
        (shot(SteerState.UNKNOWN), [2]),
    ],
)
def test_what_was_reported_and_seen_differs(reported: Shot, seen_with: list[int]) -> None:
    news = [("steer 0001",) if number in seen_with else ("prompt",) for number in range(1, 5)]
    assert len(disagreements([reported], ENDS, conversation(*news))) == 1


def test_a_request_whose_answer_was_cut_off_is_asked_again_with_the_same_news() -> None:
    ends = [Ended(turn="first", last_request=1), Ended(turn="second", last_request=3)]
    views = conversation(("prompt",), ("steer 0001", "prompt"), ("steer 0002",))
    unanswered = tuple(item for item in views[2].history if item.text != "Answer 2.")
    again = [*views[:2], View(history=unanswered)]
    queued = shot(SteerState.QUEUED, steer="in the conversation only")
    assert disagreements([queued], ends, again) == []


def test_a_text_that_comes_twice_at_once_is_told() -> None:
    views = conversation(("prompt",), ("steer 0001", "steer 0001"), ("prompt",), ("prompt",))
    assert len(disagreements([shot(SteerState.DELIVERED)], ENDS, views)) == 1


def test_a_request_that_belongs_to_no_turn_is_told() -> None:
    views = conversation(*[("prompt",)] * 5)
    assert disagreements([], ENDS, views) == ["5 requests, of which 4 belong to a turn"]


@pytest.mark.parametrize("last", [None, 1, 2])
def test_a_turn_that_ends_with_no_answer_of_its_own_is_told(last: int | None) -> None:
    ends = [ENDS[0], Ended(turn="s-1", last_request=last), ENDS[2]]
    assert "do not end" in disagreements([], ends, conversation(*[("prompt",)] * 4))[0]
