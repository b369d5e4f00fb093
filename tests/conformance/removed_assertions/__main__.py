"""Print what the saboteurs notice of the scenarios' assertions: see the package. Exit status 1 if one survives.

Each saboteur is run once, on scenarios that note which assertions do not hold (`surveying`). With --confirm each
assertion is then really removed, and the saboteur run again that notices it. With --write it is entered who does.

python -m tests.conformance.removed_assertions [--list] [--sample N [--seed S]] [--only WORD]... [--confirm] [--write]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.removed_assertions.finding import Assertion, find_assertions
from tests.conformance.removed_assertions.ledger import write_ledger
from tests.conformance.removed_assertions.surveying import Survey, noticed_alone, survey
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
    parser.add_argument("--confirm", action="store_true", help="remove each, and run who notices it")
    parser.add_argument("--write", action="store_true", help="enter what was found in the ledger")
    parser.add_argument("--workers", type=int, default=2, help="how many saboteurs at once")
    words = parser.parse_args()
    everything = find_assertions(scenario_modules())
    chosen = [each for each in everything if can_be_red(each)]
    if words.sample is not None:
        chosen = sorted(random.Random(words.seed).sample(chosen, words.sample), key=_place)
    chosen = [each for each in chosen if _is_meant(each, words.only)]
    if words.list:
        for assertion in chosen:
            _print_row(assertion)
        print(f"\n{len(chosen)} assertions")
        return 0
    found = _surveyed(chosen, everything, workers=words.workers)
    alone = noticed_alone(found)
    print("| assertion | clause | text | noticed by |\n|---|---|---|---|")
    noticed: dict[Assertion, str] = {}
    for assertion in chosen:
        by = alone.get(assertion, [])
        if by and words.confirm:
            by = [saboteur for saboteur in by[:1] if _confirmed(saboteur, assertion)]
        if by:
            noticed[assertion] = by[0]
        _print_row(assertion, _shown_notice(by) or _shown_survival(assertion, found))
    survivors = len(chosen) - len(noticed)
    print(f"\n{len(chosen)} assertions, {survivors} survived")
    if words.write:
        write_ledger(noticed, [each for each in everything if can_be_red(each)])
    return 1 if survivors else 0


def _surveyed(chosen: Sequence[Assertion], everything: Sequence[Assertion], *, workers: int) -> Survey:
    """What the saboteurs of some assertions break of all."""
    saboteurs = list(dict.fromkeys(name for each in chosen for name in saboteurs_of(each)))
    found: Survey = {}
    for done, (name, broken) in enumerate(survey(saboteurs, everything, workers=workers), 1):
        found[name] = broken
        print(f"{done}/{len(saboteurs)} {name}", file=sys.stderr, flush=True)
    return found


def _confirmed(saboteur: str, assertion: Assertion) -> bool:
    with tempfile.TemporaryDirectory(prefix="ckr-removed-", ignore_cleanup_errors=True) as folder:
        return notices(saboteur, assertion, Path(folder))


def _print_row(assertion: Assertion, *more: str) -> None:
    cells = (_shown_place(assertion), _shown_clauses(assertion), f"`{assertion.text}`", *more)
    print(f"| {' | '.join(cells)} |", flush=True)


def _shown_notice(saboteurs: Sequence[str]) -> str:
    if not saboteurs:
        return ""
    first, *others = saboteurs
    return f"{first} (and {len(others)} more)" if others else first


def _shown_survival(assertion: Assertion, found: Survey) -> str:
    """That nobody notices it, and with whom it falls."""
    beside = {
        f"{saboteur}, with {', '.join(sorted(f'`{other.text}`' for other in broken.assertions - {assertion}))}"
        f"{broken.otherwise and ', and otherwise'}"
        for saboteur, clauses in found.items()
        for broken in clauses.values()
        if assertion in broken.assertions
    }
    return "; ".join(["**survived**", *sorted(beside)[:2]])


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
