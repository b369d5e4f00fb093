"""What must hold for every main request, whatever the script says."""

from collections import Counter

from checkrein.scripted_models.errors import ViolationKind
from checkrein.scripted_models.profile import HistoryRules
from checkrein.scripted_models.views import HistoryItem, ItemKind, View

Problem = tuple[ViolationKind, str]


def unpaired(view: View) -> list[Problem]:
    """Return what breaks "each tool call is answered exactly once, and every result has a call before it"."""
    problems: list[Problem] = []
    called: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for item in view.history:
        if item.kind is ItemKind.CALL:
            called[item.id] += 1
        elif item.kind is ItemKind.RESULT:
            if not called[item.id]:
                sentence = f"result of {item.id!r} without a call before it"
                problems.append((ViolationKind.ORPHAN_RESULT, sentence))
            answered[item.id] += 1
    for call, times in called.items():
        if times != 1 or answered[call] != 1:
            sentence = (
                f"call {call!r} stands {times} time(s) in the history and has {answered[call]} result(s)"
            )
            problems.append((ViolationKind.CALL_NOT_ANSWERED_ONCE, sentence))
    return problems


class Histories:
    """Remembers the last main request of each conversation, and finds what a later one has changed in it."""

    def __init__(self, rules: HistoryRules) -> None:
        self._rules = rules
        self._last: dict[str, tuple[HistoryItem, ...]] = {}

    def compacted(self, conversation: str) -> None:
        """The conversation's history has been summarised: the next request may begin anew."""
        self._last.pop(conversation, None)

    def forget_all(self) -> None:
        """Every conversation may begin anew."""
        self._last.clear()

    def changed(self, conversation: str, view: View) -> list[Problem]:
        """Return what `view` has changed in the history that the last request of this conversation showed."""
        history = self._rules(view.history)
        before = self._last.get(conversation, ())
        self._last[conversation] = history
        for place, item in enumerate(before):
            now = history[place] if place < len(history) else None
            if now != item:
                became = "is gone" if now is None else f"became {now}"
                return [(ViolationKind.HISTORY_CHANGED, f"item {place} of the history, {item}, {became}")]
        return []
