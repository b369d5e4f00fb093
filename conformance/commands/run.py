"""`checkrein run`: do these harnesses keep the contract? Offline, on the real programs."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from checkrein.adapters.errors import BadRequest, CheckreinError
from checkrein.adapters.provision import install_harness, pinned_versions
from checkrein.conformance.commands.install import InstallProgress
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.failure_screen import render_failure
from checkrein.conformance.known_failures import load_baseline
from checkrein.conformance.matrix import render_matrix
from checkrein.conformance.results_files import read_results
from checkrein.conformance.run_folder import DEFAULT_RUNS, new_run_folder
from checkrein.conformance.run_progress import RunProgress
from checkrein.conformance.scenario_process import ScenarioOrder, run_scenarios
from checkrein.conformance.selection import select_clauses
from checkrein.conformance.target import LOCAL, TargetRequest, find_target, parse_target

#: At most so many scenarios run side by side when nothing else is said: one more than there are cores, because a
#: scenario waits for half of its time. Measured on 2 cores, 180 scenarios: 300 s with 2, 230 s with 3.
MOST_WORKERS = 6

#: Characters per line where the output is no terminal.
_WIDTH = 120

#: How much of the log is shown when there are no results.
_LOG_LINES = 15


class EnvironmentMissing(CheckreinError):
    """Raised when the machine lacks something that every scenario needs."""

    exit_status = 3


class RunBroken(CheckreinError):
    """Raised when the scenarios ended without results; shows the end of what pytest said."""


def run(
    harnesses: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[HARNESS[@VERSION]]...",
            help="Without any, every harness with a pinned version. NAME=PATH runs an executable of your own.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="CLAUSE", help="An id, its beginning, or a pattern; may be repeated."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option("--results", metavar="FILE", help="Where to write the results (JSON Lines)."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--workers",
            min=1,
            help="How many scenarios run side by side (one more than there are cores, at most 6).",
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option("--dialect", metavar="NAME", help="What the harnesses speak with their model."),
    ] = None,
    run_dir: Annotated[
        Path, typer.Option("--run-dir", metavar="DIR", help="Where transcripts and workspaces are kept.")
    ] = DEFAULT_RUNS,
    scenarios: Annotated[
        Path | None,
        typer.Option(
            "--scenarios", metavar="PATH", help="Scenarios of your own instead of the kit's.", hidden=True
        ),
    ] = None,
) -> None:
    """Check that harnesses keep the contract; exit status 0 when they do, 1 when a clause failed."""
    console = _console()
    contract = load_contract()
    load_baseline()
    only = only or []
    select_clauses(only, contract)
    requests = _targets(harnesses or list(pinned_versions()))
    if shutil.which("git") is None:
        raise EnvironmentMissing(
            "git is not installed", where="PATH", advice="install git; every workspace needs it"
        )
    if results is not None:
        _demand_writable(results)
    targets = tuple(_installed(request, console, dialect) for request in requests)
    _refuse_twice(targets)
    folder = _run_folder(run_dir)
    order = ScenarioOrder(
        harnesses=targets,
        only=tuple(only),
        workers=workers or min(MOST_WORKERS, (os.cpu_count() or 1) + 1),
        run_folder=folder,
        results=(results or folder / "results.jsonl").absolute(),
        command=("checkrein", *sys.argv[1:]),
        dialect=dialect,
        **({} if scenarios is None else {"scenarios": str(scenarios.absolute())}),
    )
    order.results.unlink(missing_ok=True)
    try:
        with _ended_by_signals(), RunProgress(console) as progress:
            status = run_scenarios(order, progress.show)
    except KeyboardInterrupt:
        console.print(f"interrupted; what ran so far is kept in {folder}", soft_wrap=True, markup=False)
        raise
    if not order.results.is_file():
        raise _broken(order, status)
    found = read_results(order.results)
    console.print(render_matrix(found))
    for check in found.red:
        console.print()
        label = f"{check.harness}@{check.version}"
        target = next(each for each in targets if each.partition("=")[0] == label)
        console.print(render_failure(check, contract, target=target), soft_wrap=True)
    console.print(f"results: {order.results}", soft_wrap=True, markup=False)
    raise typer.Exit(found.footer.exit_status)


def _console() -> Console:
    """Standard output; where it is no terminal, wide enough for the matrix of two harnesses."""
    console = Console(highlight=False)
    return (
        console if console.is_terminal or "COLUMNS" in os.environ else Console(highlight=False, width=_WIDTH)
    )


def _demand_writable(results: Path) -> None:
    """Find out before the run, not after it, whether the results can be written."""
    try:
        results.parent.mkdir(parents=True, exist_ok=True)
        if results.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with TemporaryFile(dir=results.parent):
            pass
    except OSError as fault:
        raise BadRequest(
            f"the results could not be written: {fault.strerror}",
            where=str(results),
            advice="name another file with --results",
        ) from fault


def _run_folder(run_dir: Path) -> Path:
    try:
        return new_run_folder(run_dir)
    except OSError as fault:
        raise BadRequest(
            f"no folder can be made for the run: {fault.strerror}",
            where=str(run_dir),
            advice="name another folder with --run-dir",
        ) from fault


def _targets(texts: list[str]) -> list[TargetRequest]:
    requests = [parse_target(text) for text in texts]
    _refuse_twice([str(request) for request in requests])
    return requests


def _refuse_twice(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadRequest("a harness is named twice", where=", ".join(twice), advice="name each once")


def _installed(request: TargetRequest, console: Console, dialect: str | None) -> str:
    """Install what is missing, while there still is a network; the target, its version spelled out."""
    if request.path is None:
        with InstallProgress(str(request), console) as progress:
            installed = install_harness(str(request), on_progress=progress.show)
        exact = f"{request.harness}@{installed.version}"
    else:
        exact = f"{request.harness}@{request.version or LOCAL}={request.path}"
    find_target(exact, dialect=dialect)
    return exact


def _broken(order: ScenarioOrder, status: int) -> RunBroken:
    try:
        lines = order.log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    said = "\n".join(lines[-_LOG_LINES:])
    return RunBroken(
        f"the scenarios ended with status {status} and without results; pytest said at the end:\n{said}",
        where=str(order.log),
        advice="look at that log",
    )


@contextmanager
def _ended_by_signals() -> Generator[None]:
    """Let SIGTERM and SIGHUP end the run as ctrl-c does, so that nothing is left behind."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
