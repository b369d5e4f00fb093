"""What a person sees while a run goes on: which scenario runs on which harness, and the counts so far."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from checkrein.conformance.progress import Finished, Planned, ProgressEvent, Started
from checkrein.conformance.verdicts import Verdict

#: How many characters the columns beside the description take.
_BESIDE = 52

_GOOD = frozenset({Verdict.PASS, Verdict.NOT_APPLICABLE, Verdict.DRIFT, Verdict.WARN, Verdict.EXPECTED_FAIL})


class RunProgress:
    """Moving on a terminal; elsewhere one line per finished scenario."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._counts: Counter[Verdict] = Counter()
        self._running: dict[tuple[str, str], None] = {}
        self._done = 0
        self._total = 0
        self._bar = Progress(
            TextColumn("scenarios"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, event: ProgressEvent) -> None:
        """Take in one event."""
        match event:
            case Planned():
                self._total = event.scenarios
                self._bar.update(self._task, total=event.scenarios)
            case Started():
                self._running[event.scenario, event.target] = None
            case Finished():
                self._running.pop((event.scenario, event.target), None)
                self._done += 1
                self._counts.update(event.verdicts.values())
                self._report(event)
                self._bar.update(self._task, completed=self._done)
        self._bar.update(self._task, description=self._line())

    def _line(self) -> str:
        counts = ", ".join(
            f"{self._counts[verdict]} {verdict.words}" for verdict in Verdict if self._counts[verdict]
        )
        running = "; ".join(f"{_short(scenario)} on {target}" for scenario, target in self._running)
        line = " | ".join(part for part in (counts, running) if part)
        room = max(self._console.width - _BESIDE, 10)
        return line if len(line) <= room else f"{line[: room - 1]}…"

    def _report(self, event: Finished) -> None:
        bad = [
            f"{clause} {verdict.words}" for clause, verdict in event.verdicts.items() if verdict not in _GOOD
        ]
        if not bad and self._console.is_terminal:
            return  # the bar says it
        words = ", ".join(bad) or "ok"
        self._console.print(
            Text(
                f"[{self._done}/{self._total or '?'}] {event.target} {_short(event.scenario)}: {words} "
                f"({event.seconds:.1f} s)",
                style="red" if bad else "",
            ),
            soft_wrap=True,
        )


def _short(scenario: str) -> str:
    return scenario.removeprefix("test_").replace("_", " ")
