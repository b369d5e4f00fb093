"""Print what the saboteurs notice of the scenarios' assertions: see the package. Exit status 1 if one survives.

python -m tests.conformance.removed_assertions [--list] [--sample N [--seed S]] [--only WORD]... [--reference]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.removed_assertions.finding import Assertion, find_assertions
from tests.conformance.removed_assertions.trying import can_be_red, notices, saboteurs_of, scenario_modules


def main() -> int:
    """Try the assertions that the command line means; print a row for each."""
    parser = argparse.ArgumentParser(description="remove assertions, one at a time; do the saboteurs notice?")
    parser.add_argument("--list", action="store_true", help="print the assertions, try none")
    parser.add_argument("--sample", type=int, help="so many of them, at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--only", action="append", default=[], help="FILE, FILE:LINE, or the beginning of a clause"
    )
    parser.add_argument("--reference", action="store_true", help="the saboteurs of the reference agent alone")
    words = parser.parse_args()
    chosen = [each for each in find_assertions(scenario_modules()) if can_be_red(each)]
    if words.sample is not None:
        chosen = sorted(random.Random(words.seed).sample(chosen, words.sample), key=_place)
    chosen = [each for each in chosen if _is_meant(each, words.only)]
    print("| assertion | clause | text | noticed by |\n|---|---|---|---|")
    survivors = 0
    for assertion in chosen:
        found = "" if words.list else _noticed_by(assertion, reference_only=words.reference)
        survivors += found is None
        cells = (
            _shown_place(assertion),
            _shown_clauses(assertion),
            f"`{assertion.text}`",
            found or "**survived**",
        )
        print(f"| {' | '.join(cells[:3] if words.list else cells)} |", flush=True)
    print(f"\n{len(chosen)} assertions" + ("" if words.list else f", {survivors} survived"))
    return 1 if survivors else 0


def _noticed_by(assertion: Assertion, *, reference_only: bool) -> str | None:
    """The first saboteur that notices it."""
    for saboteur in saboteurs_of(assertion, reference_only=reference_only):
        with tempfile.TemporaryDirectory(prefix="ckr-removed-", ignore_cleanup_errors=True) as folder:
            if notices(saboteur, assertion, Path(folder)):
                return saboteur
    return None


def _place(assertion: Assertion) -> tuple[str, int]:
    return assertion.module.name, assertion.number


def _shown_place(assertion: Assertion) -> str:
    return f"{assertion.module.name}:{assertion.line}"


def _shown_clauses(assertion: Assertion) -> str:
    first, *others = assertion.clauses
    return f"{first} and {len(others)} more" if others else first


def _is_meant(assertion: Assertion, only: Sequence[str]) -> bool:
    places = (assertion.module.stem, assertion.module.name, _shown_place(assertion))
    return not only or any(
        word in places or any(clause.startswith(word) for clause in assertion.clauses) for word in only
    )


if __name__ == "__main__":
    sys.exit(main())
