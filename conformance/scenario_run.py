"""Running one scenario on one target: from a folder to checks. Needs no pytest."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import cast

import anyio
import msgspec

from checkrein.adapters.errors import BadRequest, CheckreinError, HarnessMissing, UnknownHarness, Unsupported
from checkrein.conformance.arena import Arena
from checkrein.conformance.arena_processes import kill_with_home
from checkrein.conformance.bench import bench_of, check_of
from checkrein.conformance.clauses import Contract
from checkrein.conformance.judgements import (
    HarnessFellShort,
    Judgements,
    KitMistake,
    Overturned,
    Pointers,
    PrerequisiteUnmet,
    Settled,
)
from checkrein.conformance.known_failures import Baseline, with_baseline
from checkrein.conformance.results import Check, ScenarioRun
from checkrein.conformance.run_folder import RunFolder
from checkrein.conformance.scenario import Scenario
from checkrein.conformance.target import Target
from checkrein.conformance.verdicts import Verdict
from checkrein.scripted_models import (
    DeadlineExceeded,
    HeldToolEnded,
    ScriptViolation,
    Violation,
    ViolationKind,
)

#: What is left of a script at the end: the consequence of an earlier failure, or else the harness did too little.
_LEFTOVERS = frozenset(
    {
        ViolationKind.LEFTOVER_STEP,
        ViolationKind.UNFINISHED_STEP,
        ViolationKind.GATE_NOT_OPENED,
        ViolationKind.GATE_NOT_REACHED,
        ViolationKind.TOOL_NOT_RELEASED,
        ViolationKind.TOOL_NOT_STARTED,
    }
)

#: The scripted model's own faults.
_OURS = frozenset({ViolationKind.KIT_ERROR, ViolationKind.BAD_EVENT})

#: How long a scenario that is over its time may take to close its sessions, in seconds (the transport's bound is 20).
CLOSING_SECONDS = 45.0

#: Errors of an adapter that say that the scenario asked for something that cannot be.
_MISUSE = (BadRequest, UnknownHarness, Unsupported)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioReport:
    """What came of a scenario."""

    checks: tuple[Check, ...]
    run: ScenarioRun


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """Why a scenario did not come to its end, and what that makes of the clauses that are left."""

    verdict: Verdict
    observed: str


def run_scenario(
    scenario: Scenario, target: Target, *, contract: Contract, baseline: Baseline, runs: Path
) -> ScenarioReport | None:
    """Run a scenario, judge its clauses, keep its evidence.

    Args:
        runs: the folder of the whole run; the scenario gets a folder of its own in it.

    Returns:
        None when none of the scenario's clauses is about the harness.

    Raises:
        KitMistake: the scenario declares a clause that the contract does not have.
    """
    unknown = [clause for clause in scenario.clauses if clause not in contract.by_id]
    if unknown:
        raise KitMistake(
            f"{scenario.name} declares clauses that the contract does not have: {', '.join(unknown)}"
        )
    judgements = bench_of(scenario, contract, target.manifest)
    if judgements is None:
        return None
    folder = RunFolder.of(scenario.name, target.label, runs)
    begun = time.monotonic()
    notes: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    startups: tuple[float, ...] = ()
    if judgements.open:
        folder.root.mkdir(parents=True)
        arena = Arena(
            target=target, folder=folder, judgements=judgements, name=scenario.name, seconds=scenario.seconds
        )
        try:
            ending = _run_body(scenario, arena)
            if ending is not None:
                notes += _blame(ending, judgements, arena.newest_evidence())
            notes += _hold_to_script(scenario, arena, judgements)
        finally:
            arena.close()
            killed = kill_with_home(folder.home)
        strays = tuple(f"{process.pid} {' '.join(process.cmdline)[:200]}" for process in killed)
        startups = arena.startup_seconds
    judgements.close()
    ran = folder.root.exists()
    return ScenarioReport(
        checks=tuple(
            _in_the_light_of(
                baseline,
                check_of(
                    judgement,
                    harness=target.harness,
                    version=target.version,
                    scenario=scenario.name,
                    folder=folder if ran else None,
                ),
            )
            for judgement in judgements.all
        ),
        run=ScenarioRun(
            harness=target.harness,
            version=target.version,
            name=scenario.name,
            seconds=round(time.monotonic() - begun, 3),
            startup_seconds=round(sum(startups), 3),
            starts=len(startups),
            run_folder=str(folder.root) if ran else "",
            strays=strays,
            notes=notes,
        ),
    )


def _run_body(scenario: Scenario, arena: Arena) -> _Ending | None:
    """Run the scenario itself; None when it came to its end."""
    where = _Place()

    async def bounded() -> bool:
        task = asyncio.current_task()
        assert task is not None
        # A cancellation of asyncio's own reaches into shielded scopes, where an adapter may wait for ever.
        given_up = asyncio.get_running_loop().call_later(scenario.seconds + CLOSING_SECONDS, task.cancel)
        with anyio.move_on_after(scenario.seconds) as scope:
            with where:
                await scenario.body(arena)
        given_up.cancel()
        return scope.cancelled_caught

    try:
        arena.folder.prepare()
        late = anyio.run(bounded, backend="asyncio")
    except asyncio.CancelledError:
        late = True
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        arena.folder.error.write_text(text, encoding="utf-8")
        return _with_newest_end(_ending_of(_single(error)), _single(error), arena)
    if not late:
        return None
    text = f"the {scenario.seconds:g} s of the scenario were over while it waited in {where.shown}"
    arena.folder.error.write_text(f"{text}\n{arena.timeline.render(last=120)}\n", encoding="utf-8")
    return _Ending(verdict=Verdict.FAIL if where.on_the_harness else Verdict.KIT_ERROR, observed=text)


def _with_newest_end(ending: _Ending, error: BaseException, arena: Arena) -> _Ending:
    """Something did not happen: that the turn had ended meanwhile, by the death of the harness perhaps, may say why."""
    if not (isinstance(error, DeadlineExceeded | HarnessFellShort) and arena.newest_end):
        return ending
    return replace(ending, observed=f"{ending.observed}; the newest turn had ended, {arena.newest_end}")


def _ending_of(error: BaseException) -> _Ending:
    match error:
        case PrerequisiteUnmet():
            return _Ending(verdict=Verdict.NOT_TESTABLE, observed=f"not met: {error}")
        case HarnessMissing():
            return _Ending(verdict=Verdict.NOT_TESTABLE, observed=str(error))
        case KitMistake():
            return _Ending(verdict=Verdict.KIT_ERROR, observed=str(error))
        case DeadlineExceeded():
            return _Ending(
                verdict=Verdict.FAIL, observed=f"waited {error.seconds:g} s in vain for {error.waited_for}"
            )
        case HarnessFellShort():
            return _Ending(verdict=Verdict.FAIL, observed=str(error))
        case HeldToolEnded():
            return _Ending(
                verdict=Verdict.FAIL, observed=f"the tool {error.name!r} ended while it was to run"
            )
        case CheckreinError() if not isinstance(error, _MISUSE):
            return _Ending(verdict=Verdict.FAIL, observed=f"{type(error).__name__}: {error}")
        case _:
            return _Ending(verdict=Verdict.KIT_ERROR, observed=f"{type(error).__name__}: {error}")


def _blame(ending: _Ending, judgements: Judgements, evidence: Pointers) -> tuple[str, ...]:
    """Put the end of a scenario that did not come to its end on what is not judged yet; returns what turned none."""
    if judgements.open:
        judgements.enter(Settled(verdict=ending.verdict, observed=ending.observed, pointers=evidence))
        return ()
    text = f"after all was judged: {ending.observed}"
    if judgements.any_red:
        return (text,)
    judgements.enter(Overturned(verdict=ending.verdict, observed=text))
    return ()


def _hold_to_script(scenario: Scenario, arena: Arena, judgements: Judgements) -> tuple[str, ...]:
    """Turn verdicts over when the run departed from its script; returns what turned none."""
    model = arena.served
    if model is None:
        return ()
    found: tuple[Violation, ...] = ()
    try:
        model.verify()
    except ScriptViolation as departure:
        found = tuple(one for one in departure.violations if one.kind not in scenario.allow_violations)
        if found:
            with arena.folder.error.open("a", encoding="utf-8") as stream:
                stream.write(f"{departure}\n")
    ours = [str(one) for one in found if one.kind in _OURS]
    theirs = [str(one) for one in found if one.kind not in _OURS | _LEFTOVERS]
    left = [str(one) for one in found if one.kind in _LEFTOVERS]
    if theirs:
        judgements.enter(
            Overturned(
                verdict=Verdict.FAIL, observed=f"the run departed from its script: {'; '.join(theirs)}"
            )
        )
    if ours:
        judgements.enter(
            Overturned(
                verdict=Verdict.KIT_ERROR, observed=f"the scripted model went wrong: {'; '.join(ours)}"
            )
        )
    if left and not judgements.any_red:
        # Nothing else explains why the script did not come to its end: the harness asked for less than it says.
        judgements.enter(
            Overturned(
                verdict=Verdict.FAIL, observed=f"the script did not come to its end: {'; '.join(left)}"
            )
        )
        return ()
    return tuple(left)


def _in_the_light_of(baseline: Baseline, check: Check) -> Check:
    known = baseline.find(check.harness, check.version, check.clause)
    verdict, remark = with_baseline(check.verdict, known)
    observed = f"{check.observed} ({remark})" if remark else check.observed
    return msgspec.structs.replace(check, verdict=verdict, observed=observed)


def _single(error: BaseException) -> BaseException:
    """The one error in a group; of several the first that is the kit's own, else the first."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    inner = [_single(one) for one in cast("BaseExceptionGroup[BaseException]", error).exceptions]
    ours = [one for one in inner if _ending_of(one).verdict is Verdict.KIT_ERROR]
    return (ours or inner)[0]


class _Place:
    """Where a scenario was when it was stopped: the innermost place of the project that it waited in."""

    def __init__(self) -> None:
        self._frames: tuple[tuple[str, int, str], ...] = ()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._frames = tuple(_frames(trace))

    @property
    def shown(self) -> str:
        """The place in words."""
        if not self._frames:
            return "an unknown place"
        module, line, function = self._frames[-1]
        return f"{module}, line {line}, in {function}"

    @property
    def on_the_harness(self) -> bool:
        """Whether it waited for the harness: inside the adapters or the scripted model."""
        waits = ("checkrein.adapters", "checkrein.scripted_models", "checkrein.conformance.wire")
        return bool(self._frames) and self._frames[-1][0].startswith(waits)


def _frames(trace: TracebackType | None) -> Iterator[tuple[str, int, str]]:
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.startswith("checkrein.") or "test_" in module:
            yield module, trace.tb_lineno, trace.tb_frame.f_code.co_name
        trace = trace.tb_next
