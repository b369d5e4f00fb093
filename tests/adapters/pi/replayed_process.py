"""A recording of a real pi in the place of its process: commands as recorded, its lines to `decode`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

import anyio
import msgspec
import pytest

from checkrein.adapters.interface import (
    Decision,
    DecisionKind,
    HarnessBinary,
    ModelEndpoint,
    Opened,
    Origin,
    SessionSpec,
)
from checkrein.adapters.native import Asked, NativeEvent
from checkrein.adapters.pi import connection as module
from checkrein.adapters.pi.connection import PiConnection
from checkrein.adapters.policy import Policy
from checkrein.adapters.transport import HarnessProcess
from tests.adapters.recordings import Message, RecordedLine, SilentProcess, recording

E = TypeVar("E", bound=NativeEvent)

#: stands for the token in the recordings
TOKEN = "recorded-token"


def spec(session_id: str, *, policy: Policy = Policy.ASK) -> SessionSpec:
    """The spec under which the recordings were made."""
    return SessionSpec(
        binary=HarnessBinary(path=Path("/opt/pi/cli-runtime.js"), version="1.6.0", sha256=""),
        cwd=Path("/workspace"),
        policy=policy,
        origin=Origin.NEW,
        session_id=session_id,
        home=Path("/home/user"),
        endpoint=ModelEndpoint(base_url="http://127.0.0.1:1", api_key="k"),
        environment={},
        call_seconds=5.0,
    )


@dataclass(slots=True)
class Replay:
    """What came of a recording.

    Args:
        events: every event, in order.
        recorded: what was sent when it was recorded.
        sent: what was sent now.
    """

    events: list[NativeEvent] = field(default_factory=list[NativeEvent])
    recorded: list[Message] = field(default_factory=list[Message])
    sent: list[Message] = field(default_factory=list[Message])
    opened: Opened | None = None

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


async def replay(name: str, monkeypatch: pytest.MonkeyPatch, *, policy: Policy = Policy.ASK) -> Replay:
    """Give the recorded commands to a connection, and the recorded lines of pi to its `decode`."""
    monkeypatch.setattr(module, "token_of", _recorded_token)
    lines = recording("pi", f"{name}-1.6.0")
    process = SilentProcess()
    connection = PiConnection(spec(_session_id(lines), policy=policy), cast("HarnessProcess", process))
    found = Replay(sent=process.sent)

    async def open_it() -> None:
        found.opened = await connection.open()

    def command(message: Message) -> Callable[[], Awaitable[None]] | None:
        text = str(message.get("message"))
        match message.get("type"):
            case "get_state":
                return open_it
            case "prompt":
                return lambda: connection.start_turn(f"turn {message['id']}", text)
            case "steer":
                marked = text.removeprefix(f"\x01{TOKEN}\x01")
                return lambda: connection.steer(f"steer {message['id']}", marked)
            case "abort":
                return connection.interrupt
            case "extension_ui_response":
                given = msgspec.json.decode(str(message["value"]), type=dict[str, str])
                kind = DecisionKind(given["decision"])
                question = next(
                    asked.question for asked in found.of(Asked) if asked.question.question_id == message["id"]
                )
                return lambda: connection.answer(
                    question, Decision(kind=kind, message=given.get("message", ""))
                )
            case _:
                return None  # clear_queue goes before an abort, by the same command

    async with anyio.create_task_group() as tasks:
        for line in lines:
            if line.direction == "to_harness":
                found.recorded.append(line.message)
                if (perform := command(line.message)) is not None:
                    tasks.start_soon(_perform, perform)
            else:
                found.events += connection.decode([msgspec.json.encode(line.message)])
                process.sent += [
                    msgspec.json.decode(reply, type=Message) for reply in connection.take_replies()
                ]
            await anyio.wait_all_tasks_blocked()
    return found


def _session_id(lines: list[RecordedLine]) -> str:
    for line in lines:
        data = line.message.get("data")
        if isinstance(data, dict) and "sessionId" in data:
            return str(cast("Message", data)["sessionId"])
    raise ValueError("no session id in the recording")


def _recorded_token(_: SessionSpec) -> str:
    return TOKEN


async def _perform(command: Callable[[], Awaitable[None]]) -> None:
    await command()
