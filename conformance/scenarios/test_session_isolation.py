"""Sessions beside each other, and sessions that never were."""

from __future__ import annotations

import uuid

from checkrein.adapters.errors import CheckreinError, SessionNotFound
from checkrein.adapters.events import Event, SteerChanged, TextDelta, ToolStarted
from checkrein.adapters.manifest import Capability
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import PATIENCE, finish, next_approval, run, within
from checkrein.scripted_models import View, say, shell


@scenario("session.two.no-crosstalk")
async def test_two_sessions_at_once(arena: Arena) -> None:
    # One model serves both: each step is asked for before the other session may go on.
    tools = {name: arena.script.held_tool(f"tool of {name}") for name in ("one", "two")}
    for name, tool in tools.items():
        arena.script.main([say(f"Text of {name}."), shell(tool, id=f"call_{name}")])
    arena.script.main([say("End of two.")])
    arena.script.main([say("Later in one.")])
    asks, steers = (
        not arena.target.manifest.lacks(capability) for capability in (Capability.APPROVALS, Capability.STEER)
    )
    policy = "ask" if asks else "auto"
    async with arena.session(policy=policy) as one, arena.session(policy=policy) as two:
        first = await one.start("prompt of one")
        asked_one = await next_approval(arena, first) if asks else None
        if asked_one is None:
            await tools["one"].started(timeout=PATIENCE)
        second = await two.start("prompt of two")
        early = 0
        if asked_one is not None:
            asked_two = await next_approval(arena, second)
            await asked_two.allow()
            await tools["two"].started(timeout=PATIENCE)
            early = tools["one"].starts
            await asked_one.allow()
        await tools["two"].started(timeout=PATIENCE)
        await tools["one"].started(timeout=PATIENCE)
        if steers:
            await first.steer("steer of one")
            await second.steer("steer of two")
        stopped = await within(arena, "the end of the interrupt", first.interrupt())
        alive = tools["two"].is_running and second.ended is None
        tools["two"].finish("output of two")
        ended = await finish(arena, second)
        of_two = arena.model.main_requests[-1].view
        later = await run(arena, one, "later prompt of one")
        of_one = arena.model.main_requests[-1].view
        events_of_one = [event async for event in first.events()]
        events_of_two = [event async for event in second.events()]
    wrong = [
        *([] if early == 0 else ["the answer to two's question started one's tool"]),
        *([] if alive else ["the interrupt of one stopped two"]),
        *_strays("two", events_of_one, of_one),
        *_strays("one", events_of_two, of_two),
        *(
            []
            if of_two.count("steer of two") == int(steers)
            else ["the steer of two is not in its own request once"]
        ),
        *([] if len(first.asked) == len(second.asked) == int(asks) else ["a question is in two turns"]),
    ]
    ends = [(outcome.status.value, outcome.text) for outcome in (ended, later)]
    arena.judge(
        "session.two.no-crosstalk",
        holds=not wrong
        and stopped.status.value == "interrupted"
        and ends == [("completed", "End of two."), ("completed", "Later in one.")]
        and one.id != two.id,
        expected="each session has its own texts, calls, questions and steers alone; one is interrupted, two goes on",
        observed="; ".join(wrong) or f"nothing of the other in either; {stopped.status.value}, then {ends}",
    )


def _strays(other: str, events: list[Event], request: View) -> list[str]:
    """What of the other session is in the events of a turn, and in the last request of its session."""
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    calls = {event.call.call_id for event in events if isinstance(event, ToolStarted)}
    steers = {event.steer.text for event in events if isinstance(event, SteerChanged)}
    marks = [f"prompt of {other}", f"Text of {other}.", f"steer of {other}", f"output of {other}"]
    return [
        *([f"the text of {other} in the other's events"] if f"Text of {other}." in text else []),
        *([f"the call of {other} in the other's events"] if f"call_{other}" in calls else []),
        *([f"the steer of {other} in the other's events"] if f"steer of {other}" in steers else []),
        *(f"{mark!r} in the other's request" for mark in marks if request.count(mark)),
    ]


@scenario("session.resume.unknown-id")
async def test_an_unknown_id(arena: Arena) -> None:
    attempts = {
        "to resume an id that never was": {"resume": str(uuid.uuid4())},
        "to fork an id that never was": {"fork": str(uuid.uuid4())},
        "to resume what is no id": {"resume": "no-such-conversation"},
    }
    if arena.target.manifest.lacks(Capability.FORK):
        del attempts["to fork an id that never was"]
    said: dict[str, str] = {}
    for words, origin in attempts.items():
        said[words] = await _refusal(arena, origin)
    left = [f"{process.pid} {process.name}" for process in arena.processes()]
    requests = len(arena.model.requests)
    arena.judge(
        "session.resume.unknown-id",
        holds=set(said.values()) == {SessionNotFound.__name__} and not left and requests == 0,
        expected=f"{SessionNotFound.__name__} each time, no process left, no model request",
        observed=f"{'; '.join(f'{words}: {error}' for words, error in said.items())}; left: {left or 'nothing'}; "
        f"{requests} request(s)",
        enforced_by="adapter",
    )


async def _refusal(arena: Arena, origin: dict[str, str]) -> str:
    """The class of the error with which opening such a session ends."""
    try:
        async with arena.session(
            policy="auto", resume=origin.get("resume"), fork=origin.get("fork")
        ) as session:
            return f"it became the session {session.id}"
    except CheckreinError as error:
        return type(error).__name__
