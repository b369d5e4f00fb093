"""A recording of a real app-server in the place of its process: commands as recorded, its lines to `decode`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import anyio
import msgspec

from checkrein.adapters.codex.connection import CodexConnection
from checkrein.adapters.errors import CheckreinError
from checkrein.adapters.interface import (
    Decision,
    DecisionKind,
    HarnessBinary,
    ModelEndpoint,
    Opened,
    Origin,
    SessionSpec,
)
from checkrein.adapters.native import Asked, NativeEvent, Question
from checkrein.adapters.policy import Policy
from checkrein.adapters.transport import HarnessProcess
from tests.adapters.recordings import Message, SilentProcess, recording


def spec(*, policy: Policy = Policy.ASK, origin: Origin = Origin.NEW, session_id: str = "") -> SessionSpec:
    """The spec under which the recordings were made."""
    return SessionSpec(
        binary=HarnessBinary(path=Path("/opt/codex/bin/codex"), version="0.171.0", sha256=""),
        cwd=Path("/workspace"),
        policy=policy,
        origin=origin,
        session_id=session_id,
        home=Path("/home/user"),
        endpoint=ModelEndpoint(base_url="http://127.0.0.1:1/s/token", api_key="k"),
        environment={},
        call_seconds=5.0,
    )


def connection(process: SilentProcess, of: SessionSpec) -> CodexConnection:
    """A connection that speaks to a process which answers nothing."""
    return CodexConnection(of, cast("HarnessProcess", process))


@dataclass(slots=True)
class Replay:
    """What came of a recording.

    Args:
        events: every event, in order.
        recorded: what was sent when it was recorded.
        sent: what was sent now.
        failures: what commands raised.
    """

    events: list[NativeEvent] = field(default_factory=list[NativeEvent])
    recorded: list[Message] = field(default_factory=list[Message])
    sent: list[Message] = field(default_factory=list[Message])
    failures: list[CheckreinError] = field(default_factory=list[CheckreinError])
    opened: Opened | None = None

    def of(self, kind: type[NativeEvent]) -> list[NativeEvent]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


async def replay(name: str, of: SessionSpec) -> Replay:
    """Give the recorded commands to a connection, and the recorded lines of the app-server to its `decode`."""
    lines = recording("codex", f"{name}-0.171.0")
    process = SilentProcess()
    replayer = _Replayer(connection(process, of), process)
    async with anyio.create_task_group() as tasks:
        for line in lines:
            if line.direction == "to_harness":
                replayer.replay.recorded.append(line.message)
                replayer.perform(line.message, lambda command: tasks.start_soon(replayer.watched, command))
            else:
                replayer.receive(line.message)
            await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    replayer.replay.sent = process.sent
    return replayer.replay


class _Replayer:
    def __init__(self, connection: CodexConnection, process: SilentProcess) -> None:
        self.replay = Replay()
        self._connection = connection
        self._process = process
        self._questions: dict[str, Question] = {}
        self._explaining = False

    async def watched(self, command: Callable[[], Awaitable[None]]) -> None:
        try:
            await command()
        except CheckreinError as error:
            self.replay.failures.append(error)

    def perform(self, message: Message, start: Callable[[Callable[[], Awaitable[None]]], object]) -> None:
        """Give the command that led to a recorded line; those that follow from another command give nothing."""
        connection = self._connection
        params = cast("Message", message.get("params", {}))
        client_id = str(params.get("clientUserMessageId"))
        match message.get("method"):
            case "initialize":
                start(self._open)
            case "turn/start":
                start(lambda: connection.start_turn(client_id, _text(params)))
            case "turn/steer" if client_id.startswith("deny-"):
                self._explaining = True
                question = list(self._questions.values())[-1]
                denied = Decision(kind=DecisionKind.DENY, message=_text(params))
                start(lambda: connection.answer(question, denied))
            case "turn/steer":
                start(lambda: connection.steer(client_id, _text(params)))
            case "turn/interrupt":
                start(connection.interrupt)
            case "thread/backgroundTerminals/clean":
                start(connection.settle)
            case None if self._explaining:
                self._explaining = False
            case None:
                question = self._questions[str(message["id"])]
                word = cast("Message", message["result"])["decision"]
                decision = Decision(kind=_DECISIONS[str(word)])
                start(lambda: connection.answer(question, decision))
            case _:
                pass

    def receive(self, message: Message) -> None:
        events = self._connection.decode([msgspec.json.encode(message)])
        for event in events:
            if isinstance(event, Asked):
                self._questions[event.question.question_id] = event.question
        self.replay.events += events

    async def _open(self) -> None:
        self.replay.opened = await self._connection.open()


_DECISIONS = {
    "accept": DecisionKind.ALLOW,
    "acceptForSession": DecisionKind.ALLOW_ALWAYS,
    "decline": DecisionKind.DENY,
}


def _text(params: Message) -> str:
    return str(cast("list[Message]", params["input"])[0]["text"])
