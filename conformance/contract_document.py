"""The contract as a page for people: `python -m checkrein.conformance.contract_document FILE` writes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from checkrein.conformance.clauses import Area, Clause, Contract
from checkrein.conformance.contract_loading import load_contract

_HEAD = """\
# The contract

<!-- Made from conformance/contract/*.yaml; do not edit. Write it anew with
     python -m checkrein.conformance.contract_document docs/contract.md -->

What `checkrein run` holds a harness to. Each clause has an id that never changes and is never used again. A clause is
judged from real boundaries only: what the scripted model saw, the lines on the wire, the process table, exit statuses,
and the file trees before and after.

| level | a clause that does not hold |
|---|---|
| MUST | fails the run |
| SHOULD | is a warning |
| INFO | is recorded and never red |

A clause with a capability is `not applicable` on a harness whose manifest says that it has no such capability; one that
is only about harnesses without a capability applies where the manifest says so. Where
the manifest says nothing of it, a clause that holds is `drift` (the manifest is out of date), and one that does not is
a warning. A clause whose prerequisite is missing is `not testable`, and that fails the run too; a fault of the kit is a
`kit error` and is never blamed on the harness. Where the harness does not keep a clause by itself and the adapter sees
to it, the results say `enforced_by: adapter`.
"""


def contract_document(contract: Contract) -> str:
    """The page, as Markdown."""
    return "\n".join(
        [
            _HEAD,
            f"Edition {contract.edition}, sha256 `{contract.digest}`.",
            *_areas(contract),
            *_planned(contract),
            "",
        ]
    )


def _areas(contract: Contract) -> Iterator[str]:
    for area in contract.areas:
        yield from _area(area)


def _area(area: Area) -> Iterator[str]:
    yield f"\n## {area.name}: {area.title[0].lower()}{area.title[1:]}"
    for clause in area.clauses:
        yield from _clause(clause)


def _clause(clause: Clause) -> Iterator[str]:
    yield f"\n### `{clause.id}` {clause.level.value}\n"
    yield f"{clause.text}\n"
    notes = [f"Why: {clause.source}"]
    if clause.capability is not None:
        notes.append(f"Capability: `{clause.capability.value}`.")
    if clause.without is not None:
        notes.append(f"Only without: `{clause.without.value}`.")
    if clause.harnesses is not None:
        notes.append(f"About: {', '.join(clause.harnesses)}.")
    notes.append(f"Since {clause.since}.")
    yield " ".join(notes)


def _planned(contract: Contract) -> Iterator[str]:
    yield "\n## Not judged yet\n"
    yield "Clauses to come. Their ids are reserved.\n"
    yield "| clause | level | what will hold | why not yet |\n|---|---|---|---|"
    for clause in contract.planned:
        yield f"| `{clause.id}` | {clause.level.value} | {clause.text} | {clause.why_not_yet} |"


def main() -> None:
    """Write the page into the file that the command line names."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m checkrein.conformance.contract_document FILE")
    Path(sys.argv[1]).write_text(contract_document(load_contract()), encoding="utf-8")


if __name__ == "__main__":
    main()
