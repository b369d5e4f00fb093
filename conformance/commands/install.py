"""`checkrein install`: real harnesses into the cache."""

from __future__ import annotations

from types import TracebackType
from typing import Annotated, Self

import typer
from rich.console import Console
from rich.progress import Progress as ProgressBars
from rich.progress import SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from checkrein.adapters.provision import (
    InstalledHarness,
    Phase,
    Progress,
    find_bundled,
    find_source,
    install_harness,
    parse_request,
)

_WORDS = {
    Phase.RESOLVING: "asking npm for the version",
    Phase.WAITING: "waiting for another process that installs it",
    Phase.DOWNLOADING: "npm downloads and unpacks",
    Phase.CHECKING: "computing the checksum",
    Phase.INSTALLED: "installed",
    Phase.ALREADY: "is there already",
}


def install(
    harnesses: Annotated[
        list[str],
        typer.Argument(
            metavar="HARNESS[@VERSION]...", help="Without a version, the pinned one; @latest for the newest."
        ),
    ],
) -> None:
    """Put real harnesses into the cache (CHECKREIN_CACHE, else ~/.cache/checkrein)."""
    console = Console(highlight=False)
    # All of them are looked up before the first is installed: a slip in the last one must not cost minutes.
    for request in harnesses:
        wanted = parse_request(request)
        if find_bundled(wanted) is None:
            find_source(wanted.name)
    for request in harnesses:
        with InstallProgress(request, console) as progress:
            installed = install_harness(request, on_progress=progress.show)
        console.print(_summary(installed), soft_wrap=True)


def _summary(installed: InstalledHarness) -> Text:
    return Text.assemble(
        (f"{installed.harness} {installed.version}", "bold"),
        f"  {installed.binary}\n",
        f"  package {installed.package}  sha256 {installed.binary_sha256[:16]}…",
    )


class InstallProgress:
    """A line that follows one installation: moving on a terminal, one line per phase elsewhere.

    Args:
        request: what is installed, as it was asked for.
        console: where to show it.
    """

    def __init__(self, request: str, console: Console) -> None:
        self._console = console
        self._phase: Phase | None = None
        self._bars = ProgressBars(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: TaskID = self._bars.add_task(request, total=None)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def show(self, progress: Progress) -> None:
        """Show how far the installation is."""
        line = f"{progress.harness} {progress.version}: {_WORDS[progress.phase]}"
        if progress.phase is Phase.DOWNLOADING and progress.bytes_written:
            self._bars.update(
                self._task, description=f"{line}, {progress.bytes_written / 1e6:.0f} MB on disk"
            )
        else:
            self._bars.update(self._task, description=line)
        if progress.phase is not self._phase and not self._console.is_terminal:
            self._console.print(line, soft_wrap=True, markup=False)
        self._phase = progress.phase
