"""A comparison on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from checkrein.adapters.shown import shown
from checkrein.conformance.clauses import Level
from checkrein.conformance.comparison.differences import Comparison, Difference, Kind, Pair
from checkrein.conformance.comparison.words import TITLES, change_in_words, explanation, summary
from checkrein.conformance.scrubbing import Scrubber

_STYLES = {Kind.NEW_FAILURE: "bold red", Kind.MISSING: "bold red", Kind.FIXED: "bold green"}

#: How many rows of the screen an explanation may take.
_ROWS = 2


@dataclass(frozen=True, slots=True)
class _Screen:
    comparison: Comparison
    scrubber: Scrubber

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for pair in self.comparison.pairs:
            yield from _pair(pair, self.scrubber, options.max_width)
        if self.comparison.contracts is not None:
            yield Text(f"the contracts differ: {' and '.join(self.comparison.contracts)}", style="yellow")


def comparison_screen(comparison: Comparison, scrubber: Scrubber) -> _Screen:
    """The comparison, to print on a console."""
    return _Screen(comparison, scrubber)


def _pair(pair: Pair, scrubber: Scrubber, width: int) -> Iterator[Text]:
    number = len(pair.regressions)
    state = (
        (f"{number} regression{'' if number == 1 else 's'}", "bold red")
        if number
        else ("no regression", "bold green")
    )
    yield Text.assemble((f"{pair.title}: ", "bold"), state)
    yield Text(summary(pair))
    for kind in Kind:
        found = [one for one in pair.differences if one.kind is kind]
        if found:
            yield Text(f"\n{TITLES[kind].lower()}:", style=_STYLES.get(kind, "bold"))
            for one in found:
                yield from _difference(one, scrubber, width)
    yield Text()


def _difference(one: Difference, scrubber: Scrubber, width: int) -> Iterator[Text]:
    level = "" if one.level is Level.MUST else f" ({one.level.value})"
    yield Text(f"  {one.clause}{level}: {change_in_words(one)}")
    for name, said in explanation(one):
        yield Text(f"    {name}: {shown(scrubber.text(said), limit=_ROWS * width)}")
