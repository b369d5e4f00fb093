"""Steers around the end of a turn, swept in time, and whether the model's log agrees with what was reported of each.

The only scenario of steers that is about time itself: no gate can hold a harness between its last answer and the end
of its turn. So each turn gets one steer, at an offset from the moment when the model got the turn's first request. The
offsets cover the time that such a turn takes, as it was measured on the turns before, and nothing is judged by them:
whatever became of a steer, log and report must agree. Some of the turns run a command first, behind which a steer may
join the turn: for these the offsets reach from the call over its result to the end.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import anyio

from checkrein.adapters import Session, SteerState, Turn
from checkrein.adapters.errors import SteerRejected
from checkrein.conformance.scenario import Arena
from checkrein.conformance.scenarios.moves import PATIENCE, finish, run, settle, within
from checkrein.scripted_models import Script, View, say, shell

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

#: Of so many answers one is a call, the third and so on: one of the measured turns has one.
ONE_CALL_IN, FIRST_CALL = 8, 3

#: A turn with a call is taken to last so many times as long as one without, until one was measured.
CALL_TAKES = 5.0

#: How many requests a turn may make: for its prompt, for its steer, and one in reserve.
REQUESTS_A_TURN = 3

_ANSWER = re.compile(r"Answer (\d+)\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """One steer of the sweep.

    Args:
        turn: id of the turn that it was sent to.
        steer: its own id.
        state: what was reported of it in the end.
        words: the same in words, with who rejected it and why.
    """

    text: str
    turn: str
    steer: str
    state: SteerState
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end of one turn.

    Args:
        turn: its id.
        last_request: number of the request whose answer was its last, as the harness told it; None when that is no
            answer of the script.
    """

    turn: str
    last_request: int | None


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
        counts = Counter(shot.words for shot in self.shots)
        told = ", ".join(f"{count} {report}" for report, count in sorted(counts.items()))
        return f"{len(self.shots)} steers over turns of {1000 * self.turn_seconds:.0f} ms: {told}"


def write_script(script: Script, turns: int) -> None:
    """Answers for a sweep over so many turns: each is told from all others. Most of the reserve is left over."""
    for number in range(1, REQUESTS_A_TURN * (turns + MEASURED + 1) + 1):
        script.main([shell("true") if _is_call(number) else say(f"Answer {number}.")])


def _is_call(number: int) -> bool:
    """Whether the answer to that request, counted from 1, is a call; the turn goes on then."""
    return number % ONE_CALL_IN == FIRST_CALL


class _Usual:
    """How long turns usually take, from their first request to their end, with a call and without."""

    def __init__(self) -> None:
        self._seconds: dict[bool, list[float]] = {False: [], True: []}

    def note(self, *, call: bool, seconds: float) -> None:
        """A turn has taken so long."""
        self._seconds[call].append(seconds)

    def of(self, *, call: bool) -> float:
        """How long the newest turns of the kind took, in the middle, in seconds."""
        known = self._seconds[call][-NEWEST:]
        return median(known) if known or not call else CALL_TAKES * self.of(call=False)


async def sweep(arena: Arena, session: Session, turns: int) -> Sweep:
    """Send a steer around the end of each of so many turns, then see what the model saw."""
    usual = _Usual()
    for number in range(MEASURED):
        asked = await _asked(arena, session, f"measured turn {number}")
        await finish(arena, asked.turn)
        usual.note(call=asked.call, seconds=asked.seconds)
    shots: list[Shot] = []
    for number in range(turns):
        asked = await _asked(arena, session, f"turn {number:04}")
        # What is waited for here is time itself, at most until the turn has ended.
        with anyio.move_on_after(BEYOND * usual.of(call=asked.call) * (number * STRIDE % 1)):
            await asked.turn.outcome()
        shot = await _fire(arena, asked.turn, f"steer {number:04}")
        await finish(arena, asked.turn)
        if shot.state is SteerState.REJECTED:
            usual.note(call=asked.call, seconds=asked.seconds)
        for later in session.turns[session.turns.index(asked.turn) + 1 :]:
            await finish(arena, later)
        # The newest may be queued for a turn that is still to come.
        if len(shots) % COMPARED_AFTER == COMPARED_AFTER - 1 and (found := _compare(arena, session, shots)):
            break
        shots.append(shot)
    else:
        found = []
    await run(arena, session, "the last turn")
    await settle(arena)
    # What was found on the way counts, even if it looks well in the end.
    faults = _compare(arena, session, shots) or found
    return Sweep(shots=tuple(shots), faults=tuple(faults), turn_seconds=usual.of(call=False))


def _compare(arena: Arena, session: Session, shots: Sequence[Shot]) -> list[str]:
    ends = [Ended(turn=turn.id, last_request=_last_request(turn)) for turn in session.turns]
    return disagreements(shots, ends, [request.view for request in arena.model.main_requests])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A turn whose first request has come.

    Args:
        call: the answer to that request is a call.
        since: when it came, on the monotonic clock.
    """

    turn: Turn
    call: bool
    since: float

    @property
    def seconds(self) -> float:
        """How long ago that was."""
        return time.monotonic() - self.since


async def _asked(arena: Arena, session: Session, prompt: str) -> _Asked:
    """Start a turn, and wait for its first request."""
    number = len(arena.model.main_requests) + 1
    turn = await session.start(prompt)
    await arena.model.wait_requests(number, timeout=PATIENCE)
    return _Asked(turn=turn, call=_is_call(number), since=time.monotonic())


async def _fire(arena: Arena, turn: Turn, text: str) -> Shot:
    try:
        steer = await within(arena, f"{text!r} to be taken", turn.steer(text))
    except SteerRejected as rejected:
        words = f"rejected by the {rejected.by} ({rejected.reason.value})"
        return Shot(text=text, turn=turn.id, steer="", state=SteerState.REJECTED, words=words)
    state = await within(arena, f"{text!r} to be settled", steer.settled())
    return Shot(text=text, turn=turn.id, steer=steer.id, state=state, words=state.value)


def _last_request(turn: Turn) -> int | None:
    answer = _ANSWER.fullmatch(turn.ended.text) if turn.ended is not None else None
    return None if answer is None else int(answer[1])


def disagreements(shots: Sequence[Shot], ends: Sequence[Ended], requests: Sequence[View]) -> list[str]:
    """Where what was reported of the steers is not what the model saw.

    Args:
        ends: of all turns, in order.
        requests: what the model saw, in order; the first has the number 1.
    """
    last = [end.last_request for end in ends]
    if None in last or last != sorted(set(last), key=lambda number: number or 0):
        return [f"the turns do not end with answers of their own, in order: {last}"]
    if len(requests) != last[-1]:
        return [f"{len(requests)} requests, of which {last[-1]} belong to a turn"]
    spans = {
        end.turn: range((before or 0) + 1, (end.last_request or 0) + 1)
        for end, before in zip(ends, [0, *last], strict=False)
    }
    fresh = [view.fresh_text for view in requests]
    found: list[str] = []
    for shot in shots:
        seen = [number for number, text in enumerate(fresh, start=1) if shot.text in text]
        times = requests[-1].count(shot.text)
        wanted = _where(shot, spans)
        if wanted is None:
            agrees, place = times == 0 and not seen, "no request"
        else:
            # It may be news to the next request as well: when a later steer has cut the answer in between off.
            agrees = times == 1 and bool(seen) and seen[0] in wanted
            place = f"one of the requests {list(wanted)}"
        if not agrees:
            found.append(
                f"{shot.text} is reported {shot.words}, so to be in {place}; it came with {seen or 'none'}, and is "
                f"{times} time(s) in the last request"
            )
    return found


def _where(shot: Shot, spans: dict[str, range]) -> range | None:
    """The numbers of the requests of which one must bring the steer; None when there must be none."""
    turns = list(spans)
    match shot.state:
        case SteerState.REJECTED:
            return None
        case SteerState.DELIVERED:
            return spans[shot.turn]
        case SteerState.QUEUED if shot.steer in spans:
            return spans[shot.steer]
        case SteerState.QUEUED if shot.turn != turns[-1]:
            return spans[turns[turns.index(shot.turn) + 1]]
        case _:
            return range(0)  # neither delivered, nor queued for a turn, nor rejected: never right
