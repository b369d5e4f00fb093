"""Print the table of saboteurs: `python -m tests.conformance.saboteurs [WORD...]`; exit status 1 on a difference."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.conformance.saboteurs.defects import DEFECTS
from tests.conformance.saboteurs.sabotaged import differences, try_defect


def main() -> int:
    """Try the defects whose names hold one of the words, or all; print a row for each."""
    words = sys.argv[1:]
    wrong = 0
    print("| defect | must be red | is red | |\n|---|---|---|---|")
    for number, name in enumerate(DEFECTS):
        if words and not any(word in name for word in words):
            continue
        with tempfile.TemporaryDirectory(prefix="ckr-saboteur-") as folder:
            row = try_defect(name, Path(folder, str(number)))
        different = differences(row.expected, DEFECTS[name].not_testable, row.red)
        wrong += bool(different)
        marks = f"of {row.judged}" if not different else "**DIFFERENT**"
        print(
            f"| {name} | {', '.join(sorted(row.expected))} | {', '.join(sorted(row.red))} | {marks} |",
            flush=True,
        )
        for words in different:
            print(f"    {words[:400]}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
