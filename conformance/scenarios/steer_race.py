"""Steers around the end of a turn, swept in time, and whether the model's log agrees with what was reported of each.

The only scenario of steers that is about time itself: no gate can hold a harness between its last answer and the end
of its turn. So each turn gets one steer, at an offset from the moment when the model got the request that ends the
turn. The offsets cover the time that such a turn takes, as it was measured on the turns before, and nothing is judged
by them: whatever became of a steer, log and report must agree.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import anyio

from checkrein.adapters import Session, Steer, SteerState, Turn
from checkrein.adapters.errors import SteerRejected
from checkrein.conformance.scenario import Arena
from checkrein.conformance.scenarios.moves import PATIENCE, finish, run, settle, within
from checkrein.scripted_models import ModelRequest, Script, say

#: Turns that are only measured, before the first steer.
MEASURED = 5

#: How many of the newest measured turns say how long a turn takes.
NEWEST = 9

#: The sweep goes this far past the end of a usual turn; a steer that finds its turn ended is fired at once.
BEYOND = 1.15

#: Fractions of a turn, one after the other: multiples of the golden ratio cover any interval evenly, however many.
STRIDE = 0.618034

#: After so many steers log and report are compared; a sweep that has failed goes no further.
COMPARED_AFTER = 10

#: How many requests a turn may make: for its prompt, for its steer, and one in reserve.
REQUESTS_A_TURN = 3

_ANSWER = re.compile(r"Answer (\d+)\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """One steer of the sweep.

    Args:
        turn: the turn that it was sent to.
        steer: None when it was rejected.
        report: what was reported of it in the end.
    """

    text: str
    turn: Turn
    steer: Steer | None
    report: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a sweep came to.

    Args:
        shots: every steer.
        faults: where log and report disagree, in words.
        turn_seconds: how long a turn takes from its request to its end, the median.
    """

    shots: tuple[Shot, ...]
    faults: tuple[str, ...]
    turn_seconds: float

    @property
    def words(self) -> str:
        """The sweep in figures."""
        counts = Counter(shot.report for shot in self.shots)
        told = ", ".join(f"{count} {report}" for report, count in sorted(counts.items()))
        return f"{len(self.shots)} steers over turns of {1000 * self.turn_seconds:.0f} ms: {told}"


def write_script(script: Script, turns: int) -> None:
    """Answers for a sweep over so many turns: each is told from all others. Most of the reserve is left over."""
    for number in range(1, REQUESTS_A_TURN * (turns + MEASURED + 1) + 1):
        script.main([say(f"Answer {number}.")])


async def sweep(arena: Arena, session: Session, turns: int) -> Sweep:
    """Send a steer around the end of each of so many turns, then see what the model saw."""
    seconds = [await _measured(arena, session, f"measured turn {number}") for number in range(MEASURED)]
    shots: list[Shot] = []
    for number in range(turns):
        offset = BEYOND * median(seconds[-NEWEST:]) * (number * STRIDE % 1)
        begun, turn = await _asked(arena, session, f"turn {number:04}")
        # What is waited for here is time itself, at most until the turn has ended.
        with anyio.move_on_after(offset):
            await turn.outcome()
        shot = await _fire(arena, turn, f"steer {number:04}")
        await finish(arena, turn)
        if shot.steer is None:
            seconds.append(time.monotonic() - begun)
        for later in session.turns[session.turns.index(turn) + 1 :]:
            await finish(arena, later)
        shots.append(shot)
        if len(shots) % COMPARED_AFTER == 0 and _compare(arena, session, shots):
            break
    await run(arena, session, "the last turn")
    await settle(arena)
    found = _compare(arena, session, shots)
    return Sweep(shots=tuple(shots), faults=tuple(found), turn_seconds=median(seconds))


def _compare(arena: Arena, session: Session, shots: Sequence[Shot]) -> list[str]:
    return disagreements(shots, session.turns, arena.model.main_requests)


async def _asked(arena: Arena, session: Session, prompt: str) -> tuple[float, Turn]:
    """Start a turn; when its request has come, that moment and the turn."""
    requests = len(arena.model.main_requests)
    turn = await session.start(prompt)
    await arena.model.wait_requests(requests + 1, timeout=PATIENCE)
    return time.monotonic(), turn


async def _measured(arena: Arena, session: Session, prompt: str) -> float:
    begun, turn = await _asked(arena, session, prompt)
    await finish(arena, turn)
    return time.monotonic() - begun


async def _fire(arena: Arena, turn: Turn, text: str) -> Shot:
    try:
        steer = await within(arena, f"{text!r} to be taken", turn.steer(text))
    except SteerRejected as rejected:
        report = f"rejected by the {rejected.by} ({rejected.reason.value})"
        return Shot(text=text, turn=turn, steer=None, report=report)
    state = await within(arena, f"{text!r} to be settled", steer.settled())
    return Shot(text=text, turn=turn, steer=steer, report=state.value)


def disagreements(
    shots: Sequence[Shot], turns: Sequence[Turn], requests: Sequence[ModelRequest]
) -> list[str]:
    """Where what was reported of the steers is not what the model saw."""
    ends = [_last_request(turn) for turn in turns]
    if None in ends or ends != sorted(set(ends), key=lambda end: end or 0):
        return [f"the turns do not end with answers of their own, in order: {ends}"]
    spans = {
        turn.id: range((before or 0) + 1, (end or 0) + 1)
        for turn, before, end in zip(turns, [0, *ends], ends, strict=False)
    }
    if len(requests) != ends[-1]:
        return [f"{len(requests)} requests, of which {ends[-1]} belong to a turn"]
    order = [turn.id for turn in turns]
    fresh = [request.view.fresh_text for request in requests]
    found: list[str] = []
    for shot in shots:
        seen = [number for number, text in enumerate(fresh, start=1) if shot.text in text]
        times = requests[-1].view.count(shot.text)
        wanted = _where(shot, spans, order)
        agrees = (
            (times == 0 and not seen) if wanted is None else (times == 1 and bool(seen) and seen[0] in wanted)
        )
        if not agrees:
            place = "no request" if wanted is None else f"request {wanted.start} to {wanted.stop - 1}"
            found.append(
                f"{shot.text} is reported {shot.report}, so to be in {place}; it came in {seen or 'none'}, and is "
                f"{times} time(s) in the last request"
            )
    return found


def _where(shot: Shot, spans: dict[str, range], order: list[str]) -> range | None:
    """The numbers of the requests of which the first with the steer must be one; None when there must be none."""
    if shot.steer is None:
        return None
    match shot.steer.state:
        case SteerState.DELIVERED:
            return spans[shot.turn.id]
        case SteerState.QUEUED if shot.steer.id in spans:
            return spans[shot.steer.id]
        case SteerState.QUEUED:
            return spans[order[order.index(shot.turn.id) + 1]]
        case _:
            return range(0)  # neither delivered, nor queued, nor rejected: never right


def _last_request(turn: Turn) -> int | None:
    """The number of the request whose answer was the turn's last, as the harness told it."""
    answer = _ANSWER.fullmatch(turn.ended.text) if turn.ended is not None else None
    return None if answer is None else int(answer[1])
