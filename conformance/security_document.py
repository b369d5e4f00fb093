"""The table of attacks in docs/security.md: `python -m checkrein.conformance.security_document FILE` writes it anew."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from checkrein.adapters.registry import find_harness
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.hostile.attacks import Attack, attacks_on
from checkrein.conformance.hostile_observed import Observations, Observed, load_observed

BEGIN = "<!-- the attacks, made from fixtures/hostile; do not edit up to the end. Write them anew with\n"
COMMAND = "     python -m checkrein.conformance.security_document docs/security.md -->\n"
END = "<!-- the end of the attacks -->\n"


class NoPlaceForTable(Exception):
    """Raised when a page has no two marks between which the table belongs."""


def with_table(page: str, observed: Observations) -> str:
    """The page with the table in it.

    Raises:
        NoPlaceForTable: the marks are missing.
    """
    before, begin, rest = page.partition(BEGIN + COMMAND)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NoPlaceForTable(f"the page needs the lines {BEGIN + COMMAND!r} and {END!r}")
    return f"{before}{begin}{table(observed)}{end}{after}"


def table(observed: Observations) -> str:
    """Every attack, what it achieves with an ordinary launch, and with ours; as Markdown."""
    return "".join(f"{line}\n" for line in _lines(observed))


def _lines(observed: Observations) -> Iterator[str]:
    for harness, found in observed.items():
        yield ""
        yield f"### {find_harness(harness).manifest.title}"
        by_clause: dict[str, list[Attack]] = {}
        for attack in attacks_on(harness):
            by_clause.setdefault(attack.clause, []).append(attack)
        for clause in (clause for clause in load_contract().ids if clause in by_clause):
            attacks = by_clause[clause]
            yield ""
            yield f"`{clause}`"
            yield ""
            yield "| the workspace holds | | with an ordinary launch | with ours |"
            yield "|---|---|---|---|"
            yield from (_row(attack, found[attack.id]) for attack in attacks)
    yield ""


def _row(attack: Attack, seen: Observed) -> str:
    opened = attack.open if seen.open else "nothing"
    cells = (attack.title, attack.threat.value, opened, seen.closed or "nothing")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def main() -> None:
    """Write the table into the page that the command line names."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m checkrein.conformance.security_document FILE")
    path = Path(sys.argv[1])
    path.write_text(with_table(path.read_text(encoding="utf-8"), load_observed()), encoding="utf-8")


if __name__ == "__main__":
    main()
