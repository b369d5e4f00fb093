"""Moves that several scenarios make: waiting with a deadline, answering, and watching for quiet."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar, cast

import anyio

from checkrein.adapters import Approval, Outcome, Session, Turn
from checkrein.adapters.events import Event, TextDelta, ToolFinished
from checkrein.adapters.manifest import Capability
from checkrein.conformance.judgements import HarnessFellShort
from checkrein.conformance.scenario import Arena
from checkrein.scripted_models import DeadlineExceeded, HeldTool

T = TypeVar("T")

#: How long a harness may take for anything, in seconds; far more than any was seen to take.
PATIENCE = 20.0

#: How old a command must be before an interrupt of it proves anything, in seconds: Codex 0.171.0 lets one that is
#: younger than about 0.12 s die by itself.
OLD_ENOUGH = 0.5

#: From the terminal event to quiet, and how long quiet must last, in seconds (see the contract, area interrupt).
UNTIL_QUIET, QUIET_FOR = 5.0, 2.0

#: How soon the client hangs up on a request that it had given up while it was on its way, in milliseconds.
AT_ONCE_MS = 250.0

#: How long no request may come before a run counts as settled, in seconds.
SETTLED_FOR = 1.0

#: A command that is as much work to start as one of a harness's.
AS_A_TOOL = ("/bin/sh", "-c", shlex.join([sys.executable, "-I", "-S", "-c", "pass"]))

#: What stops an interrupted turn: the harness by itself, or where it takes no commands the end of its process.
BY_THE_HARNESS, BY_FORCE = frozenset({"harness"}), frozenset({"term", "kill"})

#: Rows of the timeline that an expired wait prints.
SHOWN_ROWS = 80


async def within(arena: Arena, what: str, awaited: Awaitable[T], seconds: float = PATIENCE) -> T:
    """Await the harness, at most so long.

    Raises:
        DeadlineExceeded: it took longer; shows the merged timeline.
    """
    try:
        with anyio.fail_after(seconds):
            return await awaited
    except TimeoutError:
        raise DeadlineExceeded(
            waited_for=what, seconds=seconds, timeline=arena.timeline.render(last=SHOWN_ROWS)
        ) from None


async def finish(arena: Arena, turn: Turn) -> Outcome:
    """Wait for the end of a turn."""
    return await within(arena, "the end of the turn", turn.outcome())


async def run(arena: Arena, session: Session, prompt: str) -> Outcome:
    """Run a whole turn that needs no person."""
    return await finish(arena, await session.start(prompt))


async def next_approval(arena: Arena, turn: Turn) -> Approval:
    """The next approval that needs a person.

    Raises:
        DeadlineExceeded: none came.
        HarnessFellShort: the turn ended without one.
    """

    async def take() -> Approval:
        async for approval in turn.approvals():
            return approval
        raise HarnessFellShort("the turn ended without a question")

    return await within(arena, "an approval", take())


async def deny_all(arena: Arena, turn: Turn) -> list[str]:
    """Deny whatever is still asked in the turn, to its end; the ids of those calls."""
    asked: list[str] = []

    async def deny() -> None:
        async for approval in turn.approvals():
            asked.append(approval.call.call_id)
            await approval.deny("not this one")

    await within(arena, "the end of a turn whose calls are denied", deny())
    await finish(arena, turn)
    return asked


async def text_seen(arena: Arena, turn: Turn) -> None:
    """Wait until the harness has shown a piece of the model's text, if it does that before the end of it."""
    if not arena.target.kit.shows_text:
        return
    await event_seen(
        arena, turn, "a piece of text from the harness", lambda event: isinstance(event, TextDelta)
    )


async def result_seen(arena: Arena, turn: Turn, call_id: str) -> ToolFinished:
    """Wait until the harness has reported the result of a call."""
    event = await event_seen(
        arena,
        turn,
        f"the result of {call_id}",
        lambda event: (
            isinstance(event, ToolFinished)
            and (event.call_id == call_id or not arena.target.kit.tells_call_ids)
        ),
    )
    assert isinstance(event, ToolFinished)
    return event


async def event_seen(arena: Arena, turn: Turn, what: str, wanted: Callable[[Event], bool]) -> Event:
    """Wait until the turn reports an event that is wanted.

    Args:
        what: it is, in words.

    Raises:
        DeadlineExceeded: none came.
        HarnessFellShort: the turn ended without one.
    """

    async def take() -> Event:
        async for event in turn.events():
            if wanted(event):
                return event
        raise HarnessFellShort(f"the turn ended without {what}")

    return await within(arena, what, take())


def in_a_session_of_its_own(held: HeldTool) -> str:
    """The command of a held tool, out of reach for signals to the process group of the shell."""
    program = "import os, sys; os.setsid(); os.execv(sys.argv[1], sys.argv[1:])"
    return f"{shlex.join([sys.executable, '-I', '-S', '-c', program])} {held.command}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """What was seen after the end of a turn.

    Args:
        holds: nothing moved.
        words: what moved, or that nothing did.
    """

    holds: bool
    words: str


async def watch_quiet(arena: Arena, *tools: HeldTool) -> Quiet:
    """Call this right after the terminal event: is the harness quiet within 5 s, and for 2 s from then on?

    Args:
        tools: the foreground tools that ran when the turn was stopped.
    """
    begun = time.monotonic()
    asked = len(arena.model.main_requests)
    stirred: list[str] = []
    for tool in tools:
        try:
            await tool.ended(timeout=UNTIL_QUIET)
        except DeadlineExceeded:
            stirred.append(
                f"the process of tool {tool.name!r} (pid {tool.pid}) was alive {UNTIL_QUIET:g} s after the end"
            )
    before = arena.tree(arena.workspace)
    # The harness may still finish work of its own, such as a title, until the 5 s are over.
    while True:
        in_time = time.monotonic() - begun < UNTIL_QUIET
        lively = await _lively(arena)
        if not (lively and in_time):
            break
    stirred += lively
    # Not these: the turn has ended and its tools are dead. But one may have been on its way.
    given_up = _given_up_at_once(arena)
    later = [each for each in arena.model.main_requests[asked:] if each.number not in given_up]
    stirred += [f"model request {request.number} of the conversation came after the end" for request in later]
    stirred += [str(change) for change in arena.difference(before, arena.tree(arena.workspace), ignore=())]
    return Quiet(holds=not stirred, words="; ".join(stirred) or "no process, no request, no file change")


def _given_up_at_once(arena: Arena) -> set[int]:
    """The requests that were taken back before anything was answered: they were on their way when the turn ended.

    Seen on Claude Code 2.1.332 on a busy machine: sent before the interrupt, it came 74 ms after the terminal event,
    and was hung up 0.3 ms later.
    """
    came = {request.number: request.at_ms for request in arena.model.requests}
    return {
        hang_up.request
        for hang_up in arena.model.hang_ups
        if hang_up.after_events == 0 and hang_up.at_ms - came[hang_up.request] < AT_ONCE_MS
    }


async def _lively(arena: Arena) -> list[str]:
    """Watch for 2 s: the requests of any lane in that time, and the processes that live at its end."""
    asked = len(arena.model.requests)
    with suppress(DeadlineExceeded):
        await arena.model.quiet_for(QUIET_FOR, timeout=QUIET_FOR)
    return [
        *(f"model request {request.number}, lane {request.lane}" for request in arena.model.requests[asked:]),
        *(
            f"process {process.pid} is alive: {' '.join(process.cmdline)[:120]}"
            for process in arena.processes(without_harness=True)
        ),
    ]


async def settle(arena: Arena) -> None:
    """Give a message that is delivered twice, or a call that runs late, the time to show itself."""
    await watch(arena, SETTLED_FOR)


async def watch(arena: Arena, seconds: float) -> None:
    """Give what must not happen its time: no request for `seconds`, counted from when a command of ours has run.

    On a busy machine a command takes long to start; one that the harness runs too early must show itself all the same.
    """
    await within(arena, "a command of the kit's own", anyio.run_process(AS_A_TOOL))
    await arena.model.quiet_for(seconds, timeout=PATIENCE)


def judge_outcome(arena: Arena, clause: str, *outcomes: Outcome) -> None:
    """Judge the outcome of an interrupted turn, or of several in the same window."""
    by = stoppers(arena)
    arena.judge(
        clause,
        holds=all(_is_interrupted(outcome, by) for outcome in outcomes),
        expected=f"interrupted, exit status 130, with a reason, stopped by {' or '.join(sorted(by))}",
        observed="; ".join(_shown(outcome) for outcome in outcomes),
        enforced_by="adapter",
    )


def stoppers(arena: Arena) -> frozenset[str]:
    """What may have stopped an interrupted turn, by the words of the record."""
    takes_commands = not arena.target.manifest.lacks(Capability.LIVE_CONTROL)
    return BY_THE_HARNESS if takes_commands else BY_FORCE


def _is_interrupted(outcome: Outcome, by: frozenset[str]) -> bool:
    stopped_so = outcome.stopped_by is not None and outcome.stopped_by.value in by
    return (
        (outcome.status.value, outcome.exit_status) == ("interrupted", 130)
        and bool(outcome.reason)
        and stopped_so
    )


def _shown(outcome: Outcome) -> str:
    stopped_by = outcome.stopped_by.value if outcome.stopped_by else None
    return f"{outcome.status.value}, exit status {outcome.exit_status}, stopped by {stopped_by}: {outcome.reason}"


def judge_quiet(arena: Arena, clause: str, quiet: Quiet) -> None:
    """Judge whether the harness was quiet."""
    arena.judge(
        clause,
        holds=quiet.holds,
        expected=f"quiet within {UNTIL_QUIET:g} s and for {QUIET_FOR:g} s: no process, no request, no file change",
        observed=quiet.words,
    )


def times_anywhere(arena: Arena, text: str) -> int:
    """How many model requests of any kind hold a text, instructions and calls included."""
    return sum(text in "\n".join(texts_within(request.body)) for request in arena.model.requests)


def texts_within(value: object) -> Iterator[str]:
    """All texts within decoded JSON, as they are."""
    match value:
        case str():
            yield value
        case dict():
            for inner in cast("dict[str, object]", value).values():
                yield from texts_within(inner)
        case list():
            for inner in cast("list[object]", value):
                yield from texts_within(inner)
        case _:
            return
