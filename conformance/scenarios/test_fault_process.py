"""The harness's process is killed: the turn fails at once, and the conversation goes on in a new process."""

from __future__ import annotations

import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from checkrein.adapters import Outcome, Session, Turn
from checkrein.adapters.errors import ApprovalStale, CheckreinError
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import (
    PATIENCE,
    finish,
    next_approval,
    result_seen,
    run,
    text_seen,
    within,
)
from checkrein.scripted_models import hold, say, shell

#: How soon the turn must have failed, in seconds; seen: less than one.
AT_ONCE = 5.0

#: A prompt that the harness never reads.
UNREAD = "a prompt that is never read"

#: What the reason of such a failure holds.
KILLED = "signal 9"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Struck:
    """What came of one kill.

    Args:
        outcome: of the turn that ran; None when none did.
        seconds: from the kill to the outcome.
        wrong: what was not as it must be, besides.
    """

    outcome: Outcome | None
    seconds: float
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Points:
    """The session, and what the points need of the arena."""

    arena: Arena
    session: Session

    async def idle(self) -> _Struck:
        """No turn runs."""
        link = self.session.link
        assert link is not None
        await self.kill()
        await within(self.arena, "the end of the process to be seen", link.wait_lost())
        return _Struck(outcome=None, seconds=0.0)

    async def before_request(self) -> _Struck:
        """The prompt is on its way, and the harness has not read it."""
        assert self.session.link is not None
        await self.session.link.process.signal(signal.SIGSTOP)
        wrong: list[str] = []

        async def start() -> None:
            try:
                await self.session.start(UNREAD)
                wrong.append("the start of the turn did not fail")
            except CheckreinError:
                pass

        struck = _Struck(outcome=None, seconds=0.0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(start)
            await self.arena.wire.wait(lambda row: UNREAD in row.text, PATIENCE)
            struck = await self.strike(self.session.turns[-1])
        return _Struck(outcome=struck.outcome, seconds=struck.seconds, wrong=tuple(wrong))

    async def before_byte(self) -> _Struck:
        """The model has the request and says nothing yet."""
        turn = await self.session.start("before the first byte")
        await self.reached("no byte")
        return await self.strike(turn)

    async def mid_text(self) -> _Struck:
        """Half of the model's answer is there."""
        turn = await self.session.start("mid-text")
        await self.reached("half of the text")
        await text_seen(self.arena, turn)
        return await self.strike(turn)

    async def tool_running(self) -> _Struck:
        """A tool runs."""
        turn = await self.session.start("mid-tool")
        await (await next_approval(self.arena, turn)).allow()
        tool = self.arena.script.held_tools["tool"]
        await tool.started(timeout=PATIENCE)
        struck = await self.strike(turn)
        await tool.ended(timeout=AT_ONCE)
        return struck

    async def approval_open(self) -> _Struck:
        """A question waits for its answer."""
        turn = await self.session.start("a question")
        approval = await next_approval(self.arena, turn)
        struck = await self.strike(turn)
        try:
            await approval.allow()
        except ApprovalStale:
            return struck
        return _Struck(outcome=struck.outcome, seconds=struck.seconds, wrong=("the question was answered",))

    async def after_tool_result(self) -> _Struck:
        """A tool has its result, and the model says nothing to it yet."""
        turn = await self.session.start("after a result")
        await (await next_approval(self.arena, turn)).allow()
        await result_seen(self.arena, turn, "call_finished")
        await self.reached("the result is with the model")
        return await self.strike(turn)

    async def steer_queued(self) -> _Struck:
        """A steer waits for the end of a tool."""
        turn = await self.session.start("a steer on the way")
        await (await next_approval(self.arena, turn)).allow()
        await self.arena.script.held_tools["steered tool"].started(timeout=PATIENCE)
        steer = await turn.steer("too late to be seen")
        struck = await self.strike(turn)
        state = await within(self.arena, "the end of the steer", steer.settled())
        told = state.value not in ("delivered", "accepted", "sending")
        wrong = () if told else (f"the steer is {state.value}",)
        return _Struck(outcome=struck.outcome, seconds=struck.seconds, wrong=wrong)

    async def reached(self, gate: str) -> None:
        """Wait until the model's answer is held at a gate."""
        await self.arena.script.gates[gate].reached(timeout=PATIENCE)

    async def strike(self, turn: Turn) -> _Struck:
        """Kill the process, and wait for the end of the turn."""
        begun = time.monotonic()
        await self.kill()
        outcome = await finish(self.arena, turn)
        return _Struck(outcome=outcome, seconds=time.monotonic() - begun)

    async def kill(self) -> None:
        """SIGKILL for the harness's process alone."""
        assert self.session.link is not None
        await self.session.link.process.signal(signal.SIGKILL)


_POINTS: tuple[tuple[str, Callable[[_Points], Awaitable[_Struck]]], ...] = (
    ("idle", _Points.idle),
    ("before-request", _Points.before_request),
    ("before-byte", _Points.before_byte),
    ("mid-text", _Points.mid_text),
    ("tool-running", _Points.tool_running),
    ("approval-open", _Points.approval_open),
    ("after-tool-result", _Points.after_tool_result),
    ("steer-queued", _Points.steer_queued),
)


@scenario("fault.harness-dies", seconds=120.0)
async def test_the_harness_is_killed(arena: Arena) -> None:
    script = arena.script
    never = {
        name: script.gate(name, never_opened=True)
        for name in ("no byte", "half of the text", "the result is with the model")
    }
    before = {
        "before-byte": [[hold(never["no byte"])]],
        "mid-text": [[say("Half of"), hold(never["half of the text"])]],
        "tool-running": [[shell(script.held_tool("tool"), id="call_tool")]],
        "approval-open": [[shell("touch never-made", id="call_never")]],
        "after-tool-result": [
            [shell("touch made", id="call_finished")],
            [hold(never["the result is with the model"])],
        ],
        "steer-queued": [[shell(script.held_tool("steered tool"), id="call_steered")]],
    }
    script.main([say("The first answer.")])
    for name, _ in _POINTS:
        for reply in before.get(name, []):
            script.main(reply)
        script.main([say(f"Back after {name}.")])
    wrong: list[str] = []
    slowest = 0.0
    async with arena.session(policy="ask") as session:
        await run(arena, session, "the first prompt")
        for name, point in _POINTS:
            struck = await point(_Points(arena=arena, session=session))
            slowest = max(slowest, struck.seconds)
            wrong += [f"{name}: {sentence}" for sentence in (*struck.wrong, *_failure(struck))]
            alive = arena.processes()
            wrong += [f"{name}: {process.pid} {process.name} is alive" for process in alive]
            # What was cut off may be missing in the conversation; what was finished may not.
            arena.model.expect_rewind()
            after = await run(arena, session, f"the prompt after {name}")
            view = arena.model.main_requests[-1].view
            wrong += [f"{name}: {sentence}" for sentence in _continuation(name, after, view.count)]
    arena.judge(
        "fault.harness-dies",
        holds=not wrong,
        expected=f"at each of {len(_POINTS)} points: failed within {AT_ONCE:g} s with {KILLED!r} in the reason, none "
        "left alive, open approvals void; the next prompt is answered, with the finished turns before it",
        observed="; ".join(wrong) or f"all of it; the slowest failure took {slowest:.2f} s",
        enforced_by="adapter",
    )


def _failure(struck: _Struck) -> list[str]:
    outcome = struck.outcome
    if outcome is None:
        return []
    found: list[str] = []
    if (outcome.status.value, outcome.exit_status) != ("failed", 1):
        found.append(f"{outcome.status.value}, exit status {outcome.exit_status}")
    if KILLED not in outcome.reason:
        found.append(f"the reason is {outcome.reason!r}")
    if struck.seconds > AT_ONCE:
        found.append(f"the turn ended after {struck.seconds:.1f} s")
    return found


def _continuation(name: str, after: Outcome, count: Callable[[str], int]) -> list[str]:
    """What is wrong with the turn after a kill: with its answer, or with the finished turns in its request."""
    found: list[str] = []
    if (after.status.value, after.text) != ("completed", f"Back after {name}."):
        found.append(f"the next turn: {after.status.value} {after.text!r} {after.reason[:200]}")
    names = [point for point, _ in _POINTS]
    earlier = [f"Back after {point}." for point in names[: names.index(name)]]
    lost = {text: count(text) for text in ("The first answer.", *earlier) if count(text) != 1}
    return [*found, *([f"the next request holds {lost}"] if lost else [])]
