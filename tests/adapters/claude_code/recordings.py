"""Recorded conversations with the real Claude Code, played to a connection that has no process.

A recording is one line per message, `{"direction": "to_harness" | "from_harness", "message": {...}}`, taken from runs
of the version in its name; handshakes, timings and long lists are left out, paths are made neutral.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import msgspec
from anyio.abc import TaskGroup

from checkrein.adapters.claude_code.connection import ClaudeCodeConnection
from checkrein.adapters.interface import Decision, DecisionKind, HarnessBinary, Origin, SessionSpec
from checkrein.adapters.native import Asked, NativeEvent, Question, TurnClosed, TurnOpened
from checkrein.adapters.policy import Policy
from checkrein.adapters.transport import HarnessProcess

Json = dict[str, Any]

WORKSPACE = Path("/workspace")


def recording(name: str) -> list[Json]:
    """The rows of a recording."""
    text = files("checkrein.fixtures").joinpath("wire", "claude-code", f"{name}.jsonl").read_bytes()
    return [msgspec.json.decode(line) for line in text.split(b"\n") if line]


def names() -> list[str]:
    """Every recording but the one that begins with a handshake."""
    folder = files("checkrein.fixtures").joinpath("wire", "claude-code")
    found = (entry.name.removesuffix(".jsonl") for entry in folder.iterdir())
    return sorted(name for name in found if not name.startswith("resumed-"))


def spec(*, origin: Origin = Origin.NEW, policy: Policy = Policy.ASK) -> SessionSpec:
    """A spec whose binary is never run."""
    return SessionSpec(
        binary=HarnessBinary(path=Path("/opt/claude"), version=None, sha256=""),
        cwd=WORKSPACE,
        policy=policy,
        origin=origin,
        session_id="759f3f65-a1d7-48d4-8d60-c25d1ddb4450",
        home=None,
        endpoint=None,
        environment={},
        call_seconds=5.0,
    )


class Pipe:
    """Takes what a connection sends, in the place of a process."""

    def __init__(self) -> None:
        self.sent: list[Json] = []
        self._more = anyio.Event()

    async def send(self, line: bytes, *, deadline_seconds: float | None = None) -> None:
        self.sent.append(msgspec.json.decode(line))
        self._more.set()

    async def reaches(self, count: int) -> None:
        """Wait until that many lines were sent."""
        with anyio.fail_after(5):
            while len(self.sent) < count:
                self._more = anyio.Event()
                await self._more.wait()


def connected(pipe: Pipe, **about: Any) -> ClaudeCodeConnection:
    """A connection to the pipe."""
    given = spec(**about)
    return ClaudeCodeConnection(given, cast("HarnessProcess", pipe), given.session_id)


@dataclass
class Replay:
    """Plays a recording: what the driver sent is sent by the connection, what came is decoded.

    Attributes:
        events: what the connection reported.
        pipe: what it sent.
        failures: what its calls raised.
    """

    tasks: TaskGroup
    pipe: Pipe = field(default_factory=Pipe)
    events: list[NativeEvent] = field(default_factory=list[NativeEvent])
    failures: list[Exception] = field(default_factory=list[Exception])

    def __post_init__(self) -> None:
        self.connection = connected(self.pipe)
        self._questions: dict[str, Question] = {}
        self._ids: dict[str, str] = {}

    async def play(self, name: str) -> list[NativeEvent]:
        """Play a whole recording; the events."""
        for row in recording(name):
            if row["direction"] == "to_harness":
                await self._send(row["message"])
            else:
                await self._receive(row["message"])
        return self.events

    async def _send(self, message: Json) -> None:
        match message:
            case {"type": "user", "uuid": str(uuid), "message": {"content": str(text)}}:
                steering = self._turn_is_open()
                # A recording has prompts that were sent before the last turn's end was read.
                send = self.connection.steer if steering else self.connection.start_turn
                await self._do(lambda: send(uuid, text))
            case {"type": "control_request", "request": {"subtype": "interrupt"}}:
                await self._do(self.connection.interrupt)
                self._ids[message["request_id"]] = self.pipe.sent[-1]["request_id"]
            case {"type": "control_response", "response": {"request_id": str(question), "response": answer}}:
                kind = DecisionKind(answer["behavior"])
                decision = Decision(kind=kind, message=answer.get("message", ""))
                await self._do(lambda: self.connection.answer(self._questions[question], decision))
            case _:
                raise AssertionError(f"the replay has no words for {message}")

    async def _do(self, command: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            try:
                await command()
            except Exception as error:
                self.failures.append(error)

        sent = len(self.pipe.sent)
        self.tasks.start_soon(run)
        await self.pipe.reaches(sent + 1)

    async def _receive(self, message: Json) -> None:
        if message["type"] == "control_response":
            response = message["response"]
            response["request_id"] = self._ids.get(response["request_id"], response["request_id"])
        for event in self.connection.decode([msgspec.json.encode(message)]):
            self.events.append(event)
            if isinstance(event, Asked):
                self._questions[event.question.question_id] = event.question
        await anyio.lowlevel.checkpoint()

    def _turn_is_open(self) -> bool:
        turns = [event for event in self.events if isinstance(event, TurnOpened | TurnClosed)]
        return bool(turns) and isinstance(turns[-1], TurnOpened)
