"""Which saboteur notices which assertion, from one run of each saboteur.

In a copy of the scenarios every assertion always holds, and writes down when it would not have. A saboteur notices the
absence of an assertion when one of its clauses is red for that assertion alone: it is the only one that did not hold,
and nothing else makes the row red; or when it is the prerequisite for want of which the clause must be not testable.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.conformance.removed_assertions.finding import Assertion
from tests.conformance.removed_assertions.notes import NOTED
from tests.conformance.removed_assertions.trying import not_testable_under, red_rows, scenarios_that_note


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """What a saboteur has broken of a clause.

    Args:
        assertions: that did not hold.
        otherwise: what makes its row red although every assertion holds; empty without.
        is_testable: the clause must be, in spite of the saboteur.
    """

    assertions: frozenset[Assertion]
    otherwise: str
    is_testable: bool

    @property
    def alone(self) -> Assertion | None:
        """The assertion without which the row would be another one."""
        prerequisites = [each for each in self.assertions if each.is_prerequisite]
        if not self.is_testable:
            return prerequisites[0] if len(prerequisites) == 1 else None
        return next(iter(self.assertions)) if len(self.assertions) == 1 and not self.otherwise else None


#: By the saboteur, then by the clause.
Survey = dict[str, dict[str, Broken]]


def survey(
    saboteurs: Sequence[str], assertions: Sequence[Assertion], *, workers: int
) -> Iterator[tuple[str, dict[str, Broken]]]:
    """Run saboteurs on scenarios that write down, several at once; for each, what it has broken, by clause.

    Args:
        saboteurs: by name.
        assertions: all of the scenarios.
        workers: how many at once.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, max_tasks_per_child=1) as pool:
        running = {pool.submit(broken_by, name, assertions): name for name in saboteurs}
        for done in as_completed(running):
            yield running[done], done.result()


def broken_by(saboteur: str, assertions: Iterable[Assertion]) -> dict[str, Broken]:
    """What a saboteur breaks of each clause that it must turn red."""
    with tempfile.TemporaryDirectory(prefix="ckr-survey-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        with scenarios_that_note(folder) as package:
            expected, red = red_rows(saboteur, folder, package)
        noted = folder / package / NOTED
        lines = noted.read_bytes().splitlines() if noted.exists() else []
    unmet: dict[str, set[Assertion]] = defaultdict(set)
    known = {(each.module.stem, each.number): each for each in assertions}
    for module, number, clause in (
        msgspec.json.decode(line, type=tuple[str, int, str | None]) for line in lines
    ):
        assertion = known[module, number]
        for one in assertion.clauses if clause is None else (clause,):
            unmet[one].add(assertion)
    return {
        clause: Broken(
            assertions=frozenset(unmet[clause]),
            otherwise=red[clause].observed if clause in red else "",
            is_testable=clause not in not_testable_under(saboteur),
        )
        for clause in expected
    }


def noticed_alone(found: Survey) -> dict[Assertion, list[str]]:
    """The assertions that a saboteur breaks alone, each with those saboteurs."""
    alone: dict[Assertion, list[str]] = defaultdict(list)
    for saboteur, clauses in found.items():
        for broken in clauses.values():
            if (assertion := broken.alone) is not None and saboteur not in alone[assertion]:
                alone[assertion].append(saboteur)
    return alone
