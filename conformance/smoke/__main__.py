"""`python -m checkrein.conformance.smoke HARNESS FOLDER`: the smoke in this very process; `checkrein smoke` runs it
offline.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from checkrein.conformance.offline import current_status
from checkrein.conformance.smoke.running import Failed, Passed, smoke

#: Width of the column with the steps' names.
_NAME = 12


def main(request: str, runs: Path) -> int:
    """Try the adapter; returns 0 when every step went well, else 1."""
    console = Console(highlight=False)
    begun = time.monotonic()
    done = 0
    for result in smoke(request, runs):
        console.print(_line(result), soft_wrap=True)
        if isinstance(result, Failed):
            return 1
        done += 1
    status = current_status()
    offline = "offline" if status.enforced else f"offline not enforced: {status.reason}"
    seconds = time.monotonic() - begun
    console.print(
        f"{done} steps in {seconds:.0f} s ({offline}); next: checkrein run {request}", soft_wrap=True
    )
    return 0


def _line(result: Passed | Failed) -> Text:
    name = f"{result.step:<{_NAME}} "
    match result:
        case Passed():
            return Text.assemble(name, ("ok       ", "green"), result.seen)
        case Failed():
            text = Text.assemble(name, ("missing  ", "bold red"), result.what)
            parts = (
                ("where", result.where.replace("\n", "\n       ")),
                ("to do", result.advice),
                ("last lines on the wire", "".join(f"\n  {line}" for line in result.wire)),
                ("kept in", result.kept),
            )
            for label, words in parts:
                if words:
                    text.append(f"\n{label}: ", style="bold").append(words)
            return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
