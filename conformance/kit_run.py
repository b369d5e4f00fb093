"""Running the kit on harnesses: install what is missing, run the scenarios offline, read the results."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType

from rich.console import Console

from checkrein.adapters.errors import BadRequest, CheckreinError
from checkrein.adapters.provision import find_bundled, install_harness, parse_request
from checkrein.conformance.commands.install import InstallProgress
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.known_failures import load_baseline
from checkrein.conformance.results import Results
from checkrein.conformance.results_files import read_results
from checkrein.conformance.run_folder import DEFAULT_RUNS, new_run_folder
from checkrein.conformance.run_progress import RunProgress
from checkrein.conformance.scenario_process import ScenarioOrder, run_scenarios
from checkrein.conformance.selection import select_clauses
from checkrein.conformance.target import LOCAL, TargetRequest, find_target, parse_target

#: At most so many scenarios run side by side when nothing else is said: one more than there are cores, because a
#: scenario waits for half of its time. Measured on 2 cores, 180 scenarios: 300 s with 2, 230 s with 3.
MOST_WORKERS = 6

#: The same where every harness is bundled, and so a light program: it waits for five sixths of its time. Measured on 2
#: cores, 86 scenarios of the reference agent: 43 s with 3, 33 s with 5, 30 s with 7, 31 s with 9.
MOST_LIGHT_WORKERS, LIGHT_WORKERS_PER_CORE = 12, 3

#: Characters per line where the output is no terminal.
_WIDTH = 120

#: How much of the log is shown when there are no results.
_LOG_LINES = 15


class EnvironmentMissing(CheckreinError):
    """Raised when the machine lacks something that every scenario needs."""

    exit_status = 3


class RunBroken(CheckreinError):
    """Raised when the scenarios ended without results; shows the end of what pytest said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KitOrder:
    """What is to be run.

    Args:
        harnesses: as on the command line.
        only: patterns of clauses; none for all.
        results: the file for the results; None for one in the run's folder.
        workers: how many scenarios run side by side; None for as many as these harnesses and cores can stand.
        dialect: what the harnesses speak with their model; None for what each prefers.
        run_dir: where transcripts and workspaces are kept.
        baseline: known failures of the user's own; None for those of the kit alone.
        scenarios: scenarios of the user's own instead of the kit's.
        excuses: whether known failures count as expected.
    """

    harnesses: Sequence[str]
    only: Sequence[str] = ()
    results: Path | None = None
    workers: int | None = None
    dialect: str | None = None
    run_dir: Path = DEFAULT_RUNS
    baseline: Path | None = None
    scenarios: Path | None = None
    excuses: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class KitRun:
    """What came of it.

    Args:
        results: read from the file.
        file: where that lies.
        targets: as they were run, with their versions: `NAME@VERSION` or `NAME@VERSION=PATH`.
    """

    results: Results
    file: Path
    targets: tuple[str, ...]


def run_kit(order: KitOrder, console: Console) -> KitRun:
    """Run the scenarios and show the progress.

    Args:
        console: for the progress; the report is the caller's.

    Raises:
        BadRequest, UnknownHarness: the order can never work; nothing has run.
        EnvironmentMissing: git is not there.
        RunBroken: the scenarios ended without results.
        KeyboardInterrupt: ctrl-c; every process of the run is gone then.
    """
    load_baseline(order.baseline)
    select_clauses(order.only, load_contract())
    requests = _targets(order.harnesses)
    if shutil.which("git") is None:
        raise EnvironmentMissing(
            "git is not installed", where="PATH", advice="install git; every workspace needs it"
        )
    if order.results is not None:
        _demand_writable(order.results)
    targets = tuple(_installed(request, console, order.dialect) for request in requests)
    _refuse_twice(targets)
    folder = _run_folder(order.run_dir)
    scenarios = ScenarioOrder(
        harnesses=targets,
        only=tuple(order.only),
        workers=order.workers or usual_workers(requests, cores=os.cpu_count() or 1),
        run_folder=folder,
        results=(order.results or folder / "results.jsonl").absolute(),
        command=("checkrein", *sys.argv[1:]),
        dialect=order.dialect,
        baseline=None if order.baseline is None else order.baseline.absolute(),
        excuses=order.excuses,
        **({} if order.scenarios is None else {"scenarios": str(order.scenarios.absolute())}),
    )
    scenarios.results.unlink(missing_ok=True)
    try:
        with _ended_by_signals(), RunProgress(console) as progress:
            status = run_scenarios(scenarios, progress.show)
    except KeyboardInterrupt:
        console.print(f"interrupted; what ran so far is kept in {folder}", soft_wrap=True, markup=False)
        raise
    if not scenarios.results.is_file():
        raise _broken(scenarios, status)
    return KitRun(results=read_results(scenarios.results), file=scenarios.results, targets=targets)


def wide_console(*, stderr: bool = False) -> Console:
    """Standard output, or standard error; where it is no terminal, wide enough for the matrix of two harnesses."""
    console = Console(highlight=False, stderr=stderr)
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(highlight=False, width=_WIDTH, stderr=stderr)


def usual_workers(requests: Sequence[TargetRequest], *, cores: int) -> int:
    """How many scenarios run side by side when nobody says, on a machine with so many cores."""
    if all(request.path is None and find_bundled(parse_request(str(request))) for request in requests):
        return min(MOST_LIGHT_WORKERS, LIGHT_WORKERS_PER_CORE * cores + 1)
    return min(MOST_WORKERS, cores + 1)


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


def _targets(texts: Sequence[str]) -> list[TargetRequest]:
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
