"""The pytest plugin: runs scenarios once per target and gathers their checks.

`checkrein run` loads it. By hand:

    pytest --pyargs checkrein.conformance.scenarios -p checkrein.conformance.plugin --harness codex@0.171.0

With pytest-xdist the scenarios run side by side; the checks travel to the controller with the test reports.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, cast

import msgspec
import pytest

from checkrein.adapters.errors import CheckreinError
from checkrein.conformance.clauses import Contract
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.known_failures import Baseline, load_baseline
from checkrein.conformance.progress import Finished, Planned, ProgressWriter, Started
from checkrein.conformance.results import Check, HarnessUnderTest, ScenarioRun, finish
from checkrein.conformance.results_files import write_results
from checkrein.conformance.run_description import describe_run
from checkrein.conformance.run_folder import DEFAULT_RUNS, new_run_folder
from checkrein.conformance.scenario import Scenario, scenario_of
from checkrein.conformance.scenario_run import ScenarioReport, run_scenario
from checkrein.conformance.selection import select_clauses
from checkrein.conformance.target import Target, find_target
from checkrein.conformance.unjudged import unjudged_checks

_PROPERTY = "checkrein"
_OPEN_RUN = pytest.StashKey["_Run"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the kit."""
    group = parser.getgroup("checkrein", "conformance of coding-agent harnesses")
    group.addoption(
        "--harness",
        action="append",
        default=[],
        metavar="NAME[@VERSION]",
        help="run the scenarios on this harness (installed by `checkrein install`); may be repeated",
    )
    group.addoption(
        "--only",
        action="append",
        default=[],
        metavar="CLAUSE",
        help="judge these clauses only; may be repeated",
    )
    group.addoption(
        "--dialect", help="what the harnesses speak with their model, instead of what they prefer"
    )
    group.addoption("--baseline", metavar="PATH", help="known failures of your own beside the kit's")
    group.addoption("--no-baseline", action="store_true", help="excuse no known failure, the kit's neither")
    group.addoption("--results", metavar="FILE", help="write the results to this file, as JSON Lines")
    group.addoption("--run-dir", metavar="DIR", help=f"keep the runs below this folder ({DEFAULT_RUNS})")
    group.addoption("--checkrein-run-folder", help="use exactly this folder for the run")
    group.addoption("--checkrein-progress", help="tell the progress through this named pipe")
    group.addoption("--checkrein-command", help="the command line to name in the results, as a JSON list")
    group.addoption(
        "--every-clause",
        action="store_true",
        help="a selected clause that no scenario judged is reported too, as an error of the kit",
    )


class _Worker(Protocol):
    """What pytest-xdist gives a worker, in the controller and in the worker itself."""

    config: pytest.Config
    workerinput: dict[str, str]


class _Run:
    """One run of pytest, in the controller or in a worker."""

    def __init__(self, config: pytest.Config) -> None:
        self.contract: Contract = load_contract()
        self.only: tuple[str, ...] = tuple(_strings(config, "only"))
        self.selected = frozenset(select_clauses(self.only, self.contract))
        own = _string(config, "baseline")
        self.baseline = (
            Baseline(failures={})
            if config.getoption("no_baseline")
            else load_baseline(Path(own) if own else None)
        )
        dialect = _string(config, "dialect") or None
        self.targets: tuple[Target, ...] = tuple(
            find_target(text, dialect=dialect) for text in _strings(config, "harness")
        )
        self.is_worker = hasattr(config, "workerinput")
        self.results_path = _string(config, "results")
        self.every_clause = bool(config.getoption("every_clause"))
        self.begun = time.monotonic()
        self.started_at = datetime.now(UTC).isoformat(timespec="seconds")
        self.reports: list[ScenarioReport] = []
        self.whole = True
        progress = _string(config, "checkrein_progress")
        self.progress = ProgressWriter(Path(progress)) if progress else None
        self.folder = self._folder(config)
        command = _string(config, "checkrein_command")
        self.command: tuple[str, ...] = (
            msgspec.json.decode(command, type=tuple[str, ...])
            if command
            else ("pytest", *(str(word) for word in config.invocation_params.args))
        )

    def _folder(self, config: pytest.Config) -> Path:
        given = _string(config, "checkrein_run_folder")
        if self.is_worker:
            return Path(cast("_Worker", config).workerinput["checkrein_run_folder"])
        if given:
            return Path(given)
        return new_run_folder(Path(_string(config, "run_dir") or DEFAULT_RUNS)) if self.targets else Path()

    def wants(self, scenario: Scenario, target: Target) -> bool:
        """Whether the scenario judges a selected clause that is about the target."""
        return any(
            clause in self.selected and self.contract.by_id[clause].is_about(target.harness)
            for clause in scenario.clauses
            if clause in self.contract.by_id
        )

    def write(self) -> None:
        """Write the results file."""
        header = describe_run(
            self.contract,
            tuple(
                HarnessUnderTest(
                    name=target.harness,
                    version=target.version,
                    binary_sha256=target.sha256,
                    dialect=target.dialect,
                )
                for target in self.targets
            ),
            command=self.command,
            only=self.only,
            run_folder=str(self.folder),
            started_at=self.started_at,
        )
        checks = [
            check for report in self.reports for check in report.checks if check.clause in self.selected
        ]
        if self.every_clause:
            checks += unjudged_checks(self.contract, self.targets, self.selected, checks)
        results = finish(
            header,
            checks,
            [report.run for report in self.reports],
            contract=self.contract,
            seconds=time.monotonic() - self.begun,
        )
        write_results(results, Path(self.results_path or self.folder / "results.jsonl"))


def pytest_configure(config: pytest.Config) -> None:
    """Find the targets and make the folder of the run."""
    try:
        config.stash[_OPEN_RUN] = _Run(config)
    except CheckreinError as error:
        raise pytest.UsageError(str(error)) from error


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a worker which folder the run has."""
    worker = cast("_Worker", node)
    worker.workerinput["checkrein_run_folder"] = str(worker.config.stash[_OPEN_RUN].folder)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per target on which the scenario has something to judge."""
    declared = scenario_of(metafunc.function)
    if declared is None:
        return
    run = metafunc.config.stash[_OPEN_RUN]
    targets = [target for target in run.targets if run.wants(declared, target)]
    metafunc.parametrize("checkrein_target", targets, ids=[target.label for target in targets])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has nothing to judge here, and refuse a clause that two scenarios judge."""
    run = config.stash[_OPEN_RUN]
    judged: dict[tuple[str, str], str] = {}
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        declared = scenario_of(getattr(item, "function", None))
        target = _target_of(item)
        if declared is None:
            kept.append(item)
            continue
        if target is None:
            left_out.append(item)
            continue
        kept.append(item)
        for clause in declared.clauses:
            other = judged.setdefault((clause, target.label), declared.name)
            if other != declared.name:
                raise pytest.UsageError(f"{clause} is judged by two scenarios: {other} and {declared.name}")
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept
    if run.progress is not None:
        run.progress.write(Planned(sum(_target_of(item) is not None for item in kept)))


class Runner:
    """Runs a scenario on the target of one test."""

    def __init__(self, run: _Run, target: Target, item: pytest.Item) -> None:
        self._run = run
        self._target = target
        self._item = item

    def run(self, scenario: Scenario) -> None:
        """Run it, keep its checks with the test, and fail the test if one of them is red."""
        run, target = self._run, self._target
        if run.progress is not None:
            run.progress.write(Started(scenario.name, target.label))
        report = run_scenario(scenario, target, contract=run.contract, baseline=run.baseline, runs=run.folder)
        assert report is not None, "the test would not have been made"
        self._item.user_properties.append((_PROPERTY, _encode(report)))
        checks = [check for check in report.checks if check.clause in run.selected]
        if run.progress is not None:
            verdicts = {check.clause: check.verdict for check in checks}
            run.progress.write(Finished(scenario.name, target.label, report.run.seconds, verdicts))
        red = [check for check in checks if check.is_red]
        if red:
            lines = [f"{check.clause}: {check.verdict.words}\n  observed: {check.observed}" for check in red]
            pytest.fail("\n".join([*lines, f"kept in {report.run.run_folder}"]), pytrace=False)


@pytest.fixture
def checkrein_runner(request: pytest.FixtureRequest, checkrein_target: Target) -> Runner:
    """Runs a scenario on the target of this test."""
    return Runner(request.config.stash[_OPEN_RUN], checkrein_target, request.node)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Gather the checks of a test, in the process that reports to the user."""
    if report.when == "call" and _gathering is not None:
        for name, value in report.user_properties:
            if name == _PROPERTY:
                _gathering.reports.append(_decode(str(value)))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note that scenarios could not be loaded: a run without them would say less than it seems to."""
    if report.failed and _gathering is not None:
        _gathering.whole = False


def pytest_sessionstart(session: pytest.Session) -> None:
    """From here on test reports belong to this run."""
    global _gathering
    run = session.config.stash[_OPEN_RUN]
    _gathering = None if run.is_worker else run


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the results, unless the run was interrupted or never began."""
    global _gathering
    run = session.config.stash[_OPEN_RUN]
    ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    if _gathering is run and run.targets and run.whole and ended:
        run.write()
    _gathering = None
    if run.progress is not None:
        run.progress.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say where the results are."""
    run = config.stash[_OPEN_RUN]
    if run.targets and not run.is_worker:
        terminalreporter.write_line(f"results: {run.results_path or run.folder / 'results.jsonl'}")


_gathering: _Run | None = None


class _Travelling(msgspec.Struct):
    """A report on its way from a worker to the controller."""

    checks: tuple[Check, ...]
    run: ScenarioRun


def _encode(report: ScenarioReport) -> str:
    return msgspec.json.encode(_Travelling(report.checks, report.run)).decode()


def _decode(text: str) -> ScenarioReport:
    travelled = msgspec.json.decode(text, type=_Travelling)
    return ScenarioReport(checks=travelled.checks, run=travelled.run)


def _target_of(item: pytest.Item) -> Target | None:
    callspec = getattr(item, "callspec", None)
    target = callspec.params.get("checkrein_target") if callspec is not None else None
    return target if isinstance(target, Target) else None


def _string(config: pytest.Config, name: str) -> str:
    value: object = config.getoption(name)
    return value if isinstance(value, str) else ""


def _strings(config: pytest.Config, name: str) -> list[str]:
    return [str(value) for value in cast("list[object]", config.getoption(name) or [])]
