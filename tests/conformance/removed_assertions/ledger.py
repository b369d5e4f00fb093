"""The ledger: by which saboteur each assertion is noticed when it is missing, as it was seen last.

`noticed.json` holds it, by module of the scenarios and text of the assertion. A test holds it against the scenarios:
an assertion that is removed, changed or new is seen at once. Whether it is still true, a run of the saboteurs says.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from tests.conformance.removed_assertions.finding import Assertion

LEDGER = Path(__file__).with_name("noticed.json")

#: Saboteurs, by module and text.
Ledger = dict[str, dict[str, str]]


def read_ledger() -> Ledger:
    """The ledger as it was written last."""
    return msgspec.json.decode(LEDGER.read_bytes(), type=Ledger) if LEDGER.exists() else {}


def write_ledger(noticed: Mapping[Assertion, str], everything: Iterable[Assertion]) -> None:
    """Enter who notices assertions; strike out those that are no more.

    Args:
        noticed: what was found.
        everything: all assertions of today.
    """
    before, now = read_ledger(), Ledger()
    for assertion, (module, text) in entries(everything).items():
        saboteur = noticed.get(assertion) or before.get(module, {}).get(text)
        if saboteur is not None:
            now.setdefault(module, {})[text] = saboteur
    LEDGER.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def entries(assertions: Iterable[Assertion]) -> dict[Assertion, tuple[str, str]]:
    """Where each stands in the ledger; the second of the same words in a module is `… #2`."""
    seen: Counter[tuple[str, str]] = Counter()
    found: dict[Assertion, tuple[str, str]] = {}
    for assertion in assertions:
        module, text = assertion.module.stem, assertion.text
        seen[module, text] += 1
        number = seen[module, text]
        found[assertion] = (module, text if number == 1 else f"{text} #{number}")
    return found
