"""A comparison as Markdown, for a pull request: regressions in full, what is only different in lists."""

from __future__ import annotations

from collections.abc import Iterator

from checkrein.conformance.clauses import Contract, Level
from checkrein.conformance.comparison.differences import Comparison, Difference, Kind, Pair
from checkrein.conformance.comparison.words import TITLES, change_in_words, explanation, summary
from checkrein.conformance.reports.markdown_text import code, plain
from checkrein.conformance.scrubbing import Scrubber

#: How many differences of a kind are told; more would not fit into a comment.
MOST_TOLD = 30

#: Kinds that a person who is in a hurry need not see.
_FOLDED = frozenset({Kind.ADDED, Kind.RETIRED, Kind.ENFORCER, Kind.FIGURES})


def comparison_markdown(comparison: Comparison, contract: Contract, scrubber: Scrubber) -> str:
    """The comparison as Markdown.

    Args:
        contract: of this kit, for the texts of the clauses.
        scrubber: takes out what must not leave the machine.
    """
    lines: list[str] = []
    for pair in comparison.pairs:
        lines += [*_pair(pair, contract, scrubber), ""]
    if comparison.contracts is not None:
        old, new = comparison.contracts
        lines += [f"The contracts differ: {code(old)} and {code(new)}.", ""]
    return "\n".join(lines[:-1] or ["Nothing to compare."]) + "\n"


def _pair(pair: Pair, contract: Contract, scrubber: Scrubber) -> Iterator[str]:
    number = len(pair.regressions)
    state = f"❌ {number} regression{'' if number == 1 else 's'}" if number else "✅ no regression"
    yield f"### Checkrein: {plain(pair.title)}: {state}"
    yield ""
    yield f"{plain(summary(pair))}."
    for kind in Kind:
        found = [one for one in pair.differences if one.kind is kind]
        if not found:
            continue
        yield ""
        if kind in _FOLDED:
            yield f"<details><summary>{TITLES[kind]} ({len(found)})</summary>"
        else:
            yield f"**{TITLES[kind]} ({len(found)})**"
        yield ""
        for one in found[:MOST_TOLD]:
            yield from _difference(one, contract, scrubber)
        if len(found) > MOST_TOLD:
            yield f"- … and {len(found) - MOST_TOLD} more"
        if kind in _FOLDED:
            yield ""
            yield "</details>"


def _difference(one: Difference, contract: Contract, scrubber: Scrubber) -> Iterator[str]:
    level = "" if one.level is Level.MUST else f" {one.level.value}"
    clause = contract.by_id.get(one.clause)
    text = f" · {plain(clause.text)}" if clause is not None and one.kind.is_regression else ""
    yield f"- {code(one.clause)}{level}: {change_in_words(one)}{text}"
    for name, said in explanation(one):
        yield f"  - {name}: {plain(scrubber.text(said))}"
