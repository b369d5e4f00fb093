"""The process that runs the scenarios: pytest, offline, in a process group of its own, with its progress followed."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import msgspec

from checkrein.conformance.arena_processes import kill_with_home
from checkrein.conformance.offline import offline_command
from checkrein.conformance.progress import ProgressEvent, parse_progress

#: How long the process group may take to end after SIGTERM, in seconds; the whole end of a run has 5 s.
TERM_SECONDS = 1.5

#: How often the child is looked at while nothing comes through the pipe, in seconds: a pipe that is open for writing
#: on our side too never reports an end, and no descriptor tells that a child has ended on every system.
_LOOK_SECONDS = 0.2

_PIPE_BYTES = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioOrder:
    """What to run.

    Args:
        harnesses: as `NAME@VERSION`.
        only: patterns of clauses.
        workers: how many scenarios may run side by side.
        run_folder: where everything is kept; exists.
        results: the file for the results.
        command: the command line to name in the results.
        scenarios: a package, or a folder or file of scenarios.
        dialect: what the harnesses speak with their model; None for what each prefers.
        baseline: known failures of the user's own; None for those of the kit alone.
        excuses: whether known failures count as expected.
    """

    harnesses: tuple[str, ...]
    only: tuple[str, ...]
    workers: int
    run_folder: Path
    results: Path
    command: tuple[str, ...]
    scenarios: str = "checkrein.conformance.scenarios"
    dialect: str | None = None
    baseline: Path | None = None
    excuses: bool = True

    @property
    def log(self) -> Path:
        """What pytest printed."""
        return self.run_folder / "pytest.log"

    @property
    def pipe(self) -> Path:
        """The named pipe of the progress."""
        return self.run_folder / "progress"


def pytest_command(order: ScenarioOrder) -> list[str]:
    """The command line of pytest. No configuration file and no plugin but the kit's own has a say.

    Plugins that the variable PYTEST_PLUGINS names are loaded all the same: they are asked for.
    """
    configuration = Path(str(files("checkrein.conformance"))) / "scenarios" / "scenarios.toml"
    place = [order.scenarios] if os.sep in order.scenarios else ["--pyargs", order.scenarios]
    parallel = ["-p", "xdist", "-n", str(order.workers), "--dist", "worksteal"] if order.workers > 1 else []
    return [
        *(sys.executable, "-m", "pytest", "-c", str(configuration), f"--rootdir={configuration.parent}"),
        *("-p", "no:cacheprovider", "-p", "checkrein.conformance.plugin", "-q", "--tb=short", *parallel),
        *(word for harness in order.harnesses for word in ("--harness", harness)),
        *(word for pattern in order.only for word in ("--only", pattern)),
        *(() if order.dialect is None else ("--dialect", order.dialect)),
        *(() if order.baseline is None else ("--baseline", str(order.baseline))),
        *(() if order.excuses else ("--no-baseline",)),
        *("--every-clause", "--results", str(order.results), "--checkrein-run-folder", str(order.run_folder)),
        *("--checkrein-progress", str(order.pipe)),
        *("--checkrein-command", msgspec.json.encode(order.command).decode()),
        *place,
    ]


def run_scenarios(order: ScenarioOrder, on_progress: Callable[[ProgressEvent], None]) -> int:
    """Run the scenarios and follow them.

    Returns:
        The exit status of pytest.

    Raises:
        KeyboardInterrupt: ctrl-c; every process of the run is gone then.
    """
    os.mkfifo(order.pipe)
    # Open for writing too, so that the pipe never ends while workers come and go.
    pipe = os.open(order.pipe, os.O_RDWR | os.O_NONBLOCK)
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONUNBUFFERED": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    try:
        with _temporary_folder() as temporary, order.log.open("wb") as log:
            environment["TMPDIR"] = temporary
            child = subprocess.Popen(
                offline_command(pytest_command(order)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            try:
                return _follow(child, pipe, on_progress)
            finally:
                _end(child, order.run_folder)
    finally:
        os.close(pipe)
        order.pipe.unlink(missing_ok=True)


@contextlib.contextmanager
def _temporary_folder() -> Generator[str]:
    """Where the run makes its temporary folders: gone with it, even when a worker was killed."""
    folder = tempfile.mkdtemp(prefix="ckr-run-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _follow(child: subprocess.Popen[bytes], pipe: int, on_progress: Callable[[ProgressEvent], None]) -> int:
    rest = b""
    while True:
        status = child.poll()
        ready, _, _ = select.select([pipe], [], [], 0 if status is not None else _LOOK_SECONDS)
        if ready:
            rest += os.read(pipe, _PIPE_BYTES)
            whole, _, rest = rest.rpartition(b"\n")
            for event in parse_progress(whole):
                on_progress(event)
        elif status is not None:
            return status


def _end(child: subprocess.Popen[bytes], run_folder: Path) -> None:
    """End what is left of the run: pytest and its workers, then whatever outlives them.

    When a worker ends, the guards of its harnesses notice and end these; what carries a HOME of this run after that
    is killed here.
    """
    if child.poll() is None:
        _signal_group(child, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(TERM_SECONDS)
        _signal_group(child, signal.SIGKILL)
        child.wait()
        deadline = time.monotonic() + TERM_SECONDS
        while kill_with_home(run_folder) and time.monotonic() < deadline:
            continue
    else:
        _signal_group(child, signal.SIGKILL)


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(child.pid, number)
    except (ProcessLookupError, PermissionError):
        return  # nobody of the group is left, or it is about to be
