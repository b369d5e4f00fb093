"""The steps that run the harness: conversations, a prompt, a question, a steer, an interrupt, and the end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import cast

from checkrein.adapters.interrupting import LadderTimes
from checkrein.adapters.manifest import Capability, Support
from checkrein.adapters.outcome import Outcome, StoppedBy
from checkrein.adapters.policy import IMPLEMENTED, Policy
from checkrein.adapters.steering import SteerState
from checkrein.conformance.arena import Arena
from checkrein.conformance.scenarios.moves import (
    OLD_ENOUGH,
    PATIENCE,
    finish,
    next_approval,
    settle,
    watch_quiet,
    within,
)
from checkrein.conformance.smoke.steps import LiveStep, StepFailed
from checkrein.scripted_models import ViolationKind, say, shell

#: How long the harness may take to stop by itself, in seconds; none was seen to take 1.
LADDER = LadderTimes(harness=5.0)

ANSWER = "It works."
STEER = "and keep the public signature"


def _lacks(arena: Arena, capability: Capability) -> bool:
    return arena.target.manifest.lacks(capability)


def _not_there(capability: Capability) -> str:
    return f"the manifest says {capability.value} = no: nothing to try"


async def policies(arena: Arena) -> str:
    """A conversation opens under each policy that the harness can have, and the policy is read back."""
    seen: list[str] = []
    for policy in sorted(IMPLEMENTED):
        if policy is not Policy.AUTO and _lacks(arena, Capability.APPROVALS):
            seen.append(f"{policy.value}: not tried, approvals = no")
            continue
        async with arena.session(policy=policy) as session:
            opened = session.opened
            if not opened.session_id or not opened.version:
                raise StepFailed(
                    f"with the policy {policy.value} the harness's own version or session id is not told",
                    advice="fill in Opened from what the process says",
                )
            if not opened.policy_asked and not _lacks(arena, Capability.POLICY_ECHO):
                raise StepFailed(
                    f"with the policy {policy.value} nothing is read back",
                    advice="give policy_asked and policy_effective in the harness's own words, or say "
                    "policy_echo = no in the manifest",
                )
            seen.append(f"{policy.value}: {_read_back(opened.policy_effective)}")
    return "; ".join(seen)


def _read_back(effective: Mapping[str, str]) -> str:
    match len(effective):
        case 0:
            return "not read back, policy_echo = no"
        case 1:
            return "read back"
        case settings:
            return f"{settings} settings read back"


async def prompt(arena: Arena) -> str:
    """One prompt ends completed, with the model's text."""
    arena.script.main([say(ANSWER)])
    async with arena.session(policy=Policy.AUTO) as session:
        turn = await within(arena, "the start of the turn", session.start("Say that it works."))
        outcome = await finish(arena, turn)
    if (outcome.status.value, outcome.text) != ("completed", ANSWER):
        raise StepFailed(
            f"expected completed with {ANSWER!r}, and it {_shown(outcome)} with {outcome.text!r}",
            advice="look at the lines below: the text is a TextDone, the end is a TurnClosed",
        )
    known = outcome.usage.input_tokens is not None and outcome.usage.output_tokens is not None
    if not known and arena.target.manifest.support(Capability.USAGE) is Support.YES:
        raise StepFailed(
            "the manifest says usage = yes, and the turn has none",
            advice="yield UsageReported, or say usage = no",
        )
    usage = outcome.usage
    told = f"{usage.input_tokens} tokens in, {usage.output_tokens} out" if known else "usage unknown"
    return f"completed; {told}"


async def question(arena: Arena) -> str:
    """Under `ask` a shell call is asked about, and a deny keeps it from running."""
    if _lacks(arena, Capability.APPROVALS):
        return _not_there(Capability.APPROVALS)
    arena.script.main([shell("touch asked.txt", id="call_touch")])
    arena.script.main([say("Understood.")])
    ran = arena.workspace / "asked.txt"
    async with arena.session(policy=Policy.ASK) as session:
        turn = await within(arena, "the start of the turn", session.start("touch it"))
        approval = await next_approval(arena, turn)
        if ran.exists():
            raise StepFailed("the call had run before it was asked about", advice="the harness asks too late")
        if "touch asked.txt" not in approval.shown:
            raise StepFailed(
                f"a person is shown {approval.shown[:120]!r} and not the whole command",
                advice="give ToolCall the kind COMMAND and the whole shell line",
            )
        await within(arena, "the deny to be taken", approval.deny("not now"))
        outcome = await finish(arena, turn)
        await settle(arena)
    if ran.exists():
        raise StepFailed("the denied call has run", advice="answer with the harness's own refusal")
    return f"asked, denied, not run; the turn {_shown(outcome)}"


async def steer(arena: Arena) -> str:
    """A steer while a tool runs is in a model request, once, and the session knows."""
    if _lacks(arena, Capability.STEER):
        return _not_there(Capability.STEER)
    build = arena.script.held_tool("build")
    arena.script.main([shell(build, id="call_build")])
    arena.script.main([say("Adjusted.")])
    async with arena.session(policy=Policy.AUTO) as session:
        turn = await within(arena, "the start of the turn", session.start("build it"))
        await build.started(timeout=PATIENCE)
        sent = await within(arena, "the steer to be taken", turn.steer(STEER))
        build.finish("built ok")
        await arena.model.wait_requests(2, timeout=PATIENCE)
        seen = arena.model.main_requests[-1].view.count(STEER)
        if seen != 1:
            raise StepFailed(
                f"the text is {seen} time(s) in the request behind it", advice="send it as it is"
            )
        state = await within(arena, "the session to learn what became of the steer", sent.settled())
        for each in session.turns:
            await finish(arena, each)
    if state not in (SteerState.DELIVERED, SteerState.QUEUED):
        raise StepFailed(
            f"the model has the text, and the steer is {state.value}",
            advice="yield SteerMoved when the harness says that the model has it",
        )
    return f"{state.value}, once in request {len(arena.model.main_requests)}"


async def interrupt(arena: Arena) -> str:
    """An interrupt while a tool runs ends the turn as interrupted, by the harness's own means, and leaves nothing."""
    build = arena.script.held_tool("build")
    arena.script.main([shell(build, id="call_build")])
    async with arena.session(policy=Policy.AUTO, ladder=LADDER) as session:
        turn = await within(arena, "the start of the turn", session.start("build it"))
        await build.running_for(OLD_ENOUGH, timeout=PATIENCE)
        begun = time.monotonic()
        outcome = await within(arena, "the interrupt", turn.interrupt())
        seconds = time.monotonic() - begun
        quiet = await watch_quiet(arena, build)
    if (outcome.status.value, outcome.exit_status) != ("interrupted", 130):
        raise StepFailed(
            f"the turn {_shown(outcome)}", advice="the TurnClosed of an interrupted turn says INTERRUPTED"
        )
    support = arena.target.manifest.support
    by_itself = (support(Capability.INTERRUPT), support(Capability.LIVE_CONTROL)) == (
        Support.YES,
        Support.YES,
    )
    if by_itself and outcome.stopped_by is not StoppedBy.HARNESS:
        raise StepFailed(
            f"the manifest says interrupt = yes, and it took the kill ladder to stop the turn: {outcome.reason}",
            advice="see what the harness answers to its interrupt",
        )
    if not quiet.holds:
        raise StepFailed(
            f"not quiet after the interrupt: {quiet.words}",
            advice="do in `settle` what the harness still needs to be quiet",
        )
    by = cast("StoppedBy", outcome.stopped_by).value
    return f"interrupted after {seconds:.1f} s, stopped by {by}, no process left"


async def close(arena: Arena) -> str:
    """Closing a session in the middle of a tool leaves no process."""
    build = arena.script.held_tool("build", ignore_signals=True)
    arena.script.main([shell(build, id="call_build")])
    async with arena.session(policy=Policy.AUTO) as session:
        await within(arena, "the start of the turn", session.start("build it"))
        await build.started(timeout=PATIENCE)
        lived = len(arena.processes())
    left = [" ".join(process.cmdline)[:80] for process in arena.processes()]
    if left:
        raise StepFailed(
            f"alive after the close: {'; '.join(left)}", advice="see how it left its process tree"
        )
    return f"{lived} processes before, none after"


def _shown(outcome: Outcome) -> str:
    return f"ended {outcome.status.value} ({outcome.reason})"


LIVE_STEPS = (
    LiveStep(
        name="policies",
        act=policies,
        looks_at=("open", "decode"),
        advice="`open` shakes hands and returns Opened; `decode` settles what it waits for",
    ),
    LiveStep(
        name="prompt",
        act=prompt,
        looks_at=("start_turn", "decode"),
        advice="`start_turn` sends the prompt; `decode` yields TurnOpened (with its prompt_id), TextDone, TurnClosed",
    ),
    LiveStep(
        name="question",
        act=question,
        looks_at=("decode", "answer"),
        advice="`decode` yields Asked, `answer` sends the decision",
        # Where a deny ends the turn, the model is not asked again.
        allowed=frozenset({ViolationKind.LEFTOVER_STEP}),
    ),
    LiveStep(
        name="steer",
        act=steer,
        looks_at=("steer", "decode"),
        advice="`steer` returns when the harness took it; `decode` yields SteerMoved; or say steer = no",
    ),
    LiveStep(
        name="interrupt",
        act=interrupt,
        looks_at=("interrupt", "settle"),
        advice="`interrupt` returns at the acknowledgement; `decode` yields TurnClosed",
    ),
    LiveStep(
        name="close",
        act=close,
        looks_at=("decode",),
        advice="the transport ends every process that carries its marker in the environment: pass the environment on",
    ),
)
