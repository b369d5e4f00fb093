"""What is left of a script at the end of a run, and must not be."""

from collections.abc import Mapping, Sequence

from checkrein.scripted_models.errors import Violation, ViolationKind
from checkrein.scripted_models.lanes import Lane
from checkrein.scripted_models.progress import StepProgress
from checkrein.scripted_models.script import Script


def leftovers(
    script: Script, steps: Mapping[Lane, Sequence[StepProgress]], at_ms: float
) -> tuple[Violation, ...]:
    """Return a violation for each step, gate and held tool that is not where the script says it must end."""
    found: list[Violation] = []

    def add(kind: ViolationKind, message: str, lane: Lane | None = None) -> None:
        place = None if lane is None else str(lane)
        found.append(Violation(kind=kind, message=message, at_ms=at_ms, lane=place))

    for lane, progresses in steps.items():
        for progress in progresses:
            asked, times = len(progress.requests), progress.definition.times
            if asked < times:
                add(ViolationKind.LEFTOVER_STEP, f"{progress} was asked for {asked} of {times} time(s)", lane)
            elif progress.in_flight:
                add(ViolationKind.UNFINISHED_STEP, f"{progress} is still being answered", lane)
    for gate in script.gates.values():
        if not gate.is_reached:
            add(ViolationKind.GATE_NOT_REACHED, f"nothing ever came to gate {gate.name!r}")
        elif not gate.is_open and not gate.never_opened:
            sentence = (
                f"gate {gate.name!r} was reached but never opened; declare it never_opened if that is meant"
            )
            add(ViolationKind.GATE_NOT_OPENED, sentence)
    for held in script.held_tools.values():
        if held.never_started:
            if held.starts:
                sentence = f"held tool {held.name!r} ran {held.starts} time(s) but was declared never_started"
                add(ViolationKind.TOOL_STARTED_UNEXPECTEDLY, sentence)
        elif not held.starts:
            add(ViolationKind.TOOL_NOT_STARTED, f"held tool {held.name!r} never started")
        elif held.is_running and not held.is_finished:
            sentence = f"held tool {held.name!r} (pid {held.pid}) still runs and was never finished"
            add(ViolationKind.TOOL_NOT_RELEASED, sentence)
    return tuple(found)
