"""Differences in words, the same on a terminal and in Markdown."""

from __future__ import annotations

from checkrein.conformance.comparison.differences import Difference, Kind, Pair
from checkrein.conformance.results import Check

#: What a kind is called above its list, and what it means.
TITLES = {
    Kind.NEW_FAILURE: "New failures",
    Kind.MISSING: "Not judged any more",
    Kind.FIXED: "Fixed",
    Kind.ADDED: "Judged for the first time",
    Kind.RETIRED: "Given up by the contract",
    Kind.VERDICT: "Another verdict, no regression",
    Kind.ENFORCER: "Somebody else sees to it, no regression",
    Kind.FIGURES: "Recorded figures differ, no regression",
}


def change_in_words(difference: Difference) -> str:
    """From what to what, such as `pass → fail`."""
    match difference.kind:
        case Kind.ENFORCER:
            return f"{_enforcer(difference.old)} → {_enforcer(difference.new)}"
        case Kind.FIGURES:
            assert difference.new is not None
            return difference.new.verdict.words
        case _:
            return f"{_verdict(difference.old)} → {_verdict(difference.new)}"


def explanation(difference: Difference) -> tuple[tuple[str, str], ...]:
    """What a person wants to know beside the change: names and texts."""
    old, new = difference.old, difference.new
    match difference.kind:
        case Kind.NEW_FAILURE | Kind.VERDICT if new is not None:
            before = (("observed before", old.observed),) if old is not None else ()
            return (("expected", new.expected), ("observed", new.observed), *before)
        case Kind.FIXED if old is not None and new is not None:
            return (("observed before", old.observed), ("observed", new.observed))
        case Kind.FIGURES if old is not None and new is not None:
            return (("before", old.observed), ("now", new.observed))
        case _:
            return ()


def summary(pair: Pair) -> str:
    """The counts of one pair in a line."""
    counts = {kind: sum(one.kind is kind for one in pair.differences) for kind in Kind}
    parts = [
        f"{number} {TITLES[kind].partition(',')[0].lower()}" for kind, number in counts.items() if number
    ]
    parts.append(f"{pair.same} as before")
    if pair.still_red:
        parts[-1] += f" ({pair.still_red} of them red in both)"
    return ", ".join(parts)


def _verdict(check: Check | None) -> str:
    return "none" if check is None else check.verdict.words


def _enforcer(check: Check | None) -> str:
    return "nobody" if check is None or check.enforced_by is None else check.enforced_by.value
