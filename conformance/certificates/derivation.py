"""The verdicts of a scenario, made once more from what was recorded, and whether the records agree with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from checkrein.adapters.manifest import Manifest
from checkrein.adapters.outcome import OutcomeStatus
from checkrein.adapters.record import TurnRecord
from checkrein.adapters.steering import SteerState
from checkrein.conformance.bench import bench_of, check_of
from checkrein.conformance.certificates.recorded import WIRE_KINDS, Recorded, RecordedRow
from checkrein.conformance.clauses import Contract
from checkrein.conformance.judgements import KitMistake
from checkrein.conformance.results import Check
from checkrein.conformance.scenario import Scenario
from checkrein.conformance.verdicts import Verdict
from checkrein.scripted_models.invariants import unpaired
from checkrein.scripted_models.lanes import Lane

#: The exit status of an interrupted turn.
INTERRUPTED = 130

#: Whether a model request has the text of a steer in that state; in other states it may or may not.
_MODEL_MUST_KNOW = {SteerState.DELIVERED.value: True, SteerState.REJECTED.value: False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a bundle is refused.

    Args:
        where: file, and line if there is one.
        what: in words.
    """

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def derive(
    recorded: Recorded | None, scenario: Scenario, contract: Contract, manifest: Manifest, version: str
) -> tuple[Check, ...]:
    """The checks of a scenario, from its transcript and what the manifest declares.

    Args:
        recorded: None when the scenario had nothing to judge and did not run.
        version: of the harness.

    Raises:
        BadBundle: the transcript cannot be read.
    """
    bench = bench_of(scenario, contract, manifest)
    if bench is None:
        return ()
    if recorded is not None:
        for _, entry in recorded.entries():
            try:
                bench.enter(entry)
            except KitMistake:
                continue  # as in the run: its consequence is an entry of its own
    bench.close()
    return tuple(
        check_of(
            judgement,
            harness=manifest.name,
            version=version,
            scenario=scenario.name,
            folder=None if recorded is None else recorded.folder,
        )
        for judgement in bench.all
    )


def disagreements(recorded: Recorded, scenario: Scenario, checks: tuple[Check, ...]) -> Iterator[Problem]:
    """Where the records of a scenario contradict each other, or its checks.

    The bodies of the model requests, the transcript, the driver's reports and the judgements come from different
    places: who changes one has to change the others to match.

    Args:
        checks: as derived from the transcript.

    Raises:
        BadBundle: the transcript cannot be read.
    """
    yield from _requests(recorded)
    yield from _script(recorded, scenario, checks)
    yield from _pointers(recorded, checks)
    if not any(check.is_red for check in checks):
        # Where one is red, that the report is wrong may be what is red.
        yield from _reports(recorded)


def _requests(recorded: Recorded) -> Iterator[Problem]:
    """Each request is in the transcript once, and both say the same of it."""
    told = {row.number: (place, row) for place, row in recorded.request_rows()}
    for number in sorted(told.keys() - recorded.requests.keys()):
        place, _ = told[number]
        yield Problem(where=recorded.place(place), what=f"model request {number} is not kept")
    for number, request in recorded.requests.items():
        where = str(recorded.folder.requests / f"{number:03}.json")
        if number not in told:
            yield Problem(where=where, what=f"the transcript knows no model request {number}")
            continue
        place, row = told[number]
        if (row.lane, row.step, row.path) != (request.lane, request.step, request.path):
            yield Problem(where=recorded.place(place), what=f"it is not what {where} says")
        if not row.fresh == request.news == recorded.views[number].fresh_text:
            yield Problem(where=where, what="its body, its news and the row of the transcript differ")


def _script(recorded: Recorded, scenario: Scenario, checks: tuple[Check, ...]) -> Iterator[Problem]:
    """What broke the script is on record, and left nothing green."""
    told = recorded.violations()
    green = [check.clause for check in checks if check.verdict in (Verdict.PASS, Verdict.DRIFT)]
    for row, violation in told:
        if violation.violation not in scenario.allow_violations and green:
            yield Problem(
                where=recorded.place(row),
                what=f"the run departed from its script ({violation.violation}), and yet {green[0]} holds",
            )
    noted = {(violation.violation, violation.request) for _, violation in told}
    for number, request in recorded.requests.items():
        breaks = unpaired(recorded.views[number]) if request.lane == str(Lane.MAIN) else []
        for kind in sorted({kind for kind, _ in breaks if (kind, number) not in noted}):
            where = str(recorded.folder.requests / f"{number:03}.json")
            what = f"its body breaks the script ({kind}), and the transcript does not say so"
            yield Problem(where=where, what=what)


def _pointers(recorded: Recorded, checks: tuple[Check, ...]) -> Iterator[Problem]:
    """The evidence that a check points at is there."""
    for check in checks:
        for number in check.evidence.wire_rows:
            row = recorded.rows.get(number)
            if row is None or row.kind not in WIRE_KINDS:
                where = f"{recorded.folder.transcript}, line {number}"
                yield Problem(where=where, what=f"{check.clause} points at it, and it is no line of the wire")
        for number in set(check.evidence.model_requests) - recorded.requests.keys():
            where = str(recorded.folder.requests / f"{number:03}.json")
            yield Problem(where=where, what=f"{check.clause} points at it, and it is not there")


def _reports(recorded: Recorded) -> Iterator[Problem]:
    """What the driver reported of turns and steers agrees with what the model saw."""
    turns = recorded.turns()
    prompts = {turn.prompt for _, turn in turns}
    telling = _told_once(turns) - prompts
    for row, turn in turns:
        where = recorded.place(row)
        interrupted = turn.status == OutcomeStatus.INTERRUPTED.value
        if interrupted is not (turn.exit_status == INTERRUPTED):
            yield Problem(where=where, what=f"{turn.status} with exit status {turn.exit_status}")
        for steer in turn.steers:
            seen = [number for number, view in recorded.views.items() if view.count(steer.text)]
            must_be_seen = _MODEL_MUST_KNOW.get(steer.state, bool(seen))
            if steer.text in telling and must_be_seen is not bool(seen):
                yield Problem(
                    where=where,
                    what=f"a steer is reported {steer.state}, and its text is in the model requests {seen}",
                )


def _told_once(turns: list[tuple[RecordedRow, TurnRecord]]) -> set[str]:
    """The texts that one steer alone has: of others it cannot be told which one the model saw."""
    counted = Counter(steer.text for _, turn in turns for steer in turn.steers)
    return {text for text, times in counted.items() if times == 1}
