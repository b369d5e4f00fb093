"""Runs the steps, one after the other, until one fails."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import CoroutineType
from typing import Any, ParamSpec, TypeVar, cast

import anyio

from checkrein.adapters.errors import CheckreinError, NotFilledIn
from checkrein.adapters.interface import Connection, HarnessAdapter, SessionSpec
from checkrein.adapters.native import NativeEvent
from checkrein.adapters.shown import shown
from checkrein.adapters.transport import Direction, HarnessProcess
from checkrein.adapters.wrapped import WrappedAdapter
from checkrein.conformance.arena import Arena
from checkrein.conformance.arena_processes import kill_with_home
from checkrein.conformance.judgements import HarnessFellShort, Judgements, PrerequisiteUnmet
from checkrein.conformance.run_folder import RunFolder, folder_name
from checkrein.conformance.smoke.declared import DECLARED_STEPS
from checkrein.conformance.smoke.live import LIVE_STEPS
from checkrein.conformance.smoke.steps import LiveStep, StepFailed, Trial
from checkrein.scripted_models import DeadlineExceeded, HeldToolEnded, ScriptViolation

P = ParamSpec("P")
R = TypeVar("R")

#: How long one step may take in all, in seconds; the slowest was seen to take 9.
STEP_SECONDS = 90.0

#: How many of the newest lines on the wire a failure shows, and how many characters of each.
_LINES, _LINE = 8, 160

_ARROWS = {Direction.TO_HARNESS: "→", Direction.FROM_HARNESS: "←", Direction.STDERR: "!"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A step that went well.

    Args:
        step: its name.
        seen: what it saw, in words.
    """

    step: str
    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The step that did not.

    Args:
        step: its name.
        what: is missing.
        where: the file, and the method.
        advice: what to do.
        wire: the newest lines between driver and harness.
        kept: the folder with all that is left of it; "" when nothing ran.
    """

    step: str
    what: str
    where: str
    advice: str
    wire: tuple[str, ...] = ()
    kept: str = ""


def smoke(request: str, runs: Path) -> Iterator[Passed | Failed]:
    """Try an adapter, step by step; the last result is a failure, or all went well.

    Args:
        request: `NAME[@VERSION][=PATH]`.
        runs: an empty folder; everything is kept in it.
    """
    trial = Trial(request, runs)
    for step in DECLARED_STEPS:
        try:
            yield Passed(step=step.name, seen=step.act(trial))
        except Exception as error:  # of the adapter's code, too
            yield _failed(step.name, error, where="", advice="correct that")
            return
    for step in LIVE_STEPS:
        result = run_live(step, trial)
        yield result
        if isinstance(result, Failed):
            return


def run_live(step: LiveStep, trial: Trial) -> Passed | Failed:
    """Try one step on the real program.

    Args:
        trial: of which every declared step went well.
    """
    folder = RunFolder(root=trial.runs / folder_name(step.name))
    folder.root.mkdir(parents=True)
    watched = Watched(trial.adapter)
    arena = Arena(
        target=replace(trial.target, adapter=watched),
        folder=folder,
        judgements=Judgements(declared=()),
        name=step.name,
        seconds=STEP_SECONDS,
    )
    try:
        folder.prepare()
        seen = anyio.run(_bounded, step, arena)
        _hold_to_script(step, arena)
    except Exception as error:
        folder.error.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        places = "\n".join(_place(watched.connection, name) for name in step.looks_at)
        failed = _failed(step.name, watched.not_filled_in or error, where=places, advice=step.advice)
        return replace(failed, wire=_newest_lines(arena), kept=str(folder.root))
    finally:
        arena.close()
        kill_with_home(folder.home)
    return Passed(step=step.name, seen=seen)


async def _bounded(step: LiveStep, arena: Arena) -> str:
    try:
        with anyio.fail_after(STEP_SECONDS):
            return await step.act(arena)
    except TimeoutError:
        raise StepFailed(f"it did not come to an end within {STEP_SECONDS:g} s") from None


def _hold_to_script(step: LiveStep, arena: Arena) -> None:
    if arena.served is None:
        return
    try:
        arena.served.verify()
    except ScriptViolation as departure:
        found = [str(one) for one in departure.violations if one.kind not in step.allowed]
        if found:
            raise StepFailed(
                f"the harness asked its model otherwise than expected: {'; '.join(found)}",
                advice="look at the requests in the folder below; `kit.py` says how to read them",
            ) from None


def _failed(step: str, error: BaseException, *, where: str, advice: str) -> Failed:
    """A failure in words. What the error itself says of place and advice goes before what the step says."""
    match _single(error):
        case CheckreinError() as known:
            return Failed(
                step=step, what=known.what, where=known.where or where, advice=known.advice or advice
            )
        case DeadlineExceeded() as late:
            what = f"waited {late.seconds:g} s in vain for {late.waited_for}"
        case HeldToolEnded() as ended:
            what = f"the tool {ended.name!r} ended while it was to run"
        case PrerequisiteUnmet() as unmet:
            what = f"not met: {unmet}"
        case HarnessFellShort() as short:
            what = str(short)
        case other:
            what, where = f"{type(other).__name__}: {other}", _raised_at(other) or where
    return Failed(step=step, what=what, where=where, advice=advice)


def _single(error: BaseException) -> BaseException:
    """The one error in a group; of several, the first."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _raised_at(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}, in {frames[-1].name}" if frames else ""


def _place(connection: Connection | None, name: str) -> str:
    """Where a method of the connection is written."""
    if connection is None:
        return ""
    method = inspect.unwrap(getattr(type(connection), name))
    code = method.__code__
    return f"{code.co_filename}:{code.co_firstlineno}, {method.__qualname__}"


def _newest_lines(arena: Arena) -> tuple[str, ...]:
    return tuple(
        f"{_ARROWS[row.direction]} {shown(row.text, limit=_LINE)}" for row in arena.wire.rows[-_LINES:]
    )


class Watched(WrappedAdapter):
    """The adapter as it is. Remembers where one of its connections was not filled in, whoever swallows that.

    Attributes:
        connection: the newest one.
        not_filled_in: the first such place.
    """

    def __init__(self, adapter: HarnessAdapter) -> None:
        super().__init__(adapter)
        self.connection: Connection | None = None
        self.not_filled_in: NotFilledIn | None = None

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        """See `HarnessAdapter.connect`."""
        connection = self.connection = self._adapter.connect(spec, process)
        decode = connection.decode

        def decode_noting(lines: list[bytes]) -> list[NativeEvent]:
            with self._noted():
                return list(decode(lines))

        connection.decode = decode_noting
        connection.open = self._noting(connection.open)
        connection.start_turn = self._noting(connection.start_turn)
        connection.steer = self._noting(connection.steer)
        connection.interrupt = self._noting(connection.interrupt)
        connection.settle = self._noting(connection.settle)
        connection.answer = self._noting(connection.answer)
        return connection

    def _noting(self, call: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, CoroutineType[Any, Any, R]]:
        async def noting(*args: P.args, **kwargs: P.kwargs) -> R:
            with self._noted():
                return await call(*args, **kwargs)

        return noting

    @contextmanager
    def _noted(self) -> Generator[None]:
        try:
            yield
        except NotFilledIn as place:
            self.not_filled_in = self.not_filled_in or place
            raise
