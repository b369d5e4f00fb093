"""Every line of a real conversation, both ways, is what the official package of the protocol takes it for.

Neither the adapter nor the agent uses that package: its models are a second opinion on both.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import cast

import msgspec
import pytest
from acp import schema
from acp.meta import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION
from pydantic import BaseModel

from checkrein.adapters import OutcomeStatus
from checkrein.adapters.acp import asked_kinds, messages
from checkrein.adapters.transport import Direction
from checkrein.scripted_models import Script, fail, hold, say, shell, tool, write_file
from tests.adapters.acp.conftest import OpenReference, Play

pytestmark = pytest.mark.anyio

Message = dict[str, object]

#: What the parameters and the result of each method are.
REQUESTS: dict[str, tuple[type[BaseModel], type[BaseModel]]] = {
    "initialize": (schema.InitializeRequest, schema.InitializeResponse),
    "session/new": (schema.NewSessionRequest, schema.NewSessionResponse),
    "session/load": (schema.LoadSessionRequest, schema.LoadSessionResponse),
    "session/fork": (schema.ForkSessionRequest, schema.ForkSessionResponse),
    "session/prompt": (schema.PromptRequest, schema.PromptResponse),
    "session/request_permission": (schema.RequestPermissionRequest, schema.RequestPermissionResponse),
}
NOTIFICATIONS: dict[str, type[BaseModel]] = {
    "session/update": schema.SessionNotification,
    "session/cancel": schema.CancelNotification,
}


class Wire:
    """The lines of a conversation."""

    def __init__(self) -> None:
        self.lines: list[tuple[Direction, Message]] = []

    def tap(self, direction: Direction, line: bytes) -> None:
        if direction is not Direction.STDERR:
            self.lines.append((direction, msgspec.json.decode(line, type=Message)))

    def methods(self) -> set[str]:
        return {str(message["method"]) for _, message in self.lines if "method" in message}

    def faults(self) -> list[str]:
        """What the official models say against it."""
        asked: dict[tuple[Direction, object], str] = {}
        found: list[str] = []
        for direction, message in self.lines:
            assert message["jsonrpc"] == "2.0"
            method = str(message.get("method", ""))
            if method and "id" in message:
                asked[direction, message["id"]] = method
                model = REQUESTS[method][0] if method in REQUESTS else None
                found += _faults(method, model, message["params"])
            elif method:
                found += _faults(method, NOTIFICATIONS.get(method), message["params"])
            else:
                other = (
                    Direction.TO_HARNESS if direction is Direction.FROM_HARNESS else Direction.FROM_HARNESS
                )
                answered = asked.pop((other, message["id"]))
                if "error" in message:
                    found += _faults(f"error of {answered}", schema.Error, message["error"])
                elif answered in REQUESTS:
                    found += _faults(f"answer to {answered}", REQUESTS[answered][1], message["result"])
        return found + [f"{method} has no answer" for method in asked.values()]


def _faults(what: str, model: type[BaseModel] | None, data: object) -> list[str]:
    """What is wrong with data that is to be of a model; a method that is nobody's must be an extension."""
    if model is None:
        return [] if what.startswith("_") else [f"{what} is no method of the protocol"]
    try:
        read = model.model_validate(data, extra="forbid")
    except ValueError as fault:
        return [f"{what}: {fault}"]
    # The models pass over what they cannot read in optional fields: what was lost is not in what they write again.
    lost = _lost(data, read.model_dump(mode="json", by_alias=True, exclude_unset=True))
    return [f"{what}: {place} was not understood" for place in lost]


def _lost(said: object, understood: object, place: str = "$") -> Iterator[str]:
    """The places of what was said and not understood."""
    if isinstance(said, dict) and isinstance(understood, dict):
        kept = cast("Message", understood)
        for key, value in cast("Message", said).items():
            yield from _lost(value, kept.get(key), f"{place}.{key}")
    elif isinstance(said, list) and isinstance(understood, list):
        pairs = zip_longest(cast("list[object]", said), cast("list[object]", understood))
        for number, (one, other) in enumerate(pairs):
            yield from _lost(one, other, f"{place}[{number}]")
    elif said != understood:
        yield place


async def test_every_line_both_ways_is_of_the_protocol(
    reference: OpenReference, script: Script, playing: Play, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("old\n")
    middle = script.gate("middle", never_opened=True)
    build = script.held_tool("build")
    script.main([say("Both."), shell("false", id="call_sh"), write_file("b.txt", "new\n", id="call_w")])
    script.main([tool("edit_file", {"path": "a.txt", "old": "old", "new": "new"}, id="call_e")])
    script.main([tool("no_such_tool", {}, id="call_n"), shell(build, id="call_b")])
    script.main([say("Done.")])
    script.main([fail(400, message="not like this")])
    script.main([say("On and on "), hold(middle)])
    script.main([say("Loaded.")])
    script.main([say("Forked.")])
    wire = Wire()
    with playing() as model:
        async with reference(model, tap=wire.tap) as session:
            turn = await session.start("do it")
            async for approval in turn.approvals():
                if approval.call.call_id == "call_b":
                    await turn.steer("and mind the rest")
                    build.finish("built")
                await (approval.deny("no") if approval.call.call_id == "call_w" else approval.allow())
            assert (await turn.outcome()).status is OutcomeStatus.COMPLETED
            assert (await (await session.start("again")).outcome()).status is OutcomeStatus.FAILED
            turn = await session.start("talk")
            await middle.reached(timeout=20)
            assert (await turn.interrupt()).status is OutcomeStatus.INTERRUPTED
            session_id = session.id
        async with reference(model, resume=session_id, tap=wire.tap) as session:
            await (await session.start("and now?")).outcome()
        async with reference(model, fork=session_id, tap=wire.tap) as session:
            await (await session.start("and here?")).outcome()
    assert {*REQUESTS, *NOTIFICATIONS, "_session/steering"} <= wire.methods()
    assert wire.faults() == []


def test_the_second_opinion_sees_what_is_wrong() -> None:
    wire = Wire()
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "txet": "x"}}
    lines: tuple[Message, ...] = (
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}},
        {"jsonrpc": "2.0", "method": "session/invented", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}},
    )
    for line in lines:
        wire.tap(Direction.FROM_HARNESS, msgspec.json.encode(line))
    said = "\n".join(wire.faults())
    assert "session/update" in said
    assert "session/invented is no method of the protocol" in said
    assert "session/prompt has no answer" in said


def test_the_protocol_is_the_one_that_is_spoken_here() -> None:
    assert PROTOCOL_VERSION == messages.PROTOCOL_VERSION
    assert {*REQUESTS, *NOTIFICATIONS} <= {*AGENT_METHODS.values(), *CLIENT_METHODS.values()}


def test_every_request_that_an_agent_may_make_is_asked_by_the_kit() -> None:
    asked = {kind.name.partition(" ")[0] for kind in asked_kinds.asked_kinds(Path())}
    notifications = {"session/update", "elicitation/complete"}
    assert {*CLIENT_METHODS.values()} - notifications <= asked
