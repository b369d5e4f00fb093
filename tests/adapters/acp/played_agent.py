"""An agent that a test plays: it shakes hands by itself, and everything else is up to the test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from checkrein.adapters.acp.connection import BEFORE_PROMPT, BEHIND_PROMPT, AcpConnection
from checkrein.adapters.acp.declaration import AcpDeclaration, read_declaration
from checkrein.adapters.interface import HarnessBinary, Opened, Origin, SessionSpec
from checkrein.adapters.manifest import Capability, Manifest, Support
from checkrein.adapters.native import NativeEvent
from checkrein.adapters.policy import Policy
from checkrein.adapters.transport import ExitStatus, HarnessProcess

Message = dict[str, object]
E = TypeVar("E", bound=NativeEvent)

SESSION = "the-session"

#: What an agent declares when a test says nothing else.
DECLARED: Message = {
    "prompt_while_running": "reject",
    "deny": "goes_on",
    "policies": {"ask": {}, "auto": {}},
}

MANIFEST = Manifest(
    name="played",
    title="Played",
    vendor="tests",
    dialects=("openai-chat",),
    capabilities=dict.fromkeys(Capability, Support.YES),
)


def spec(
    *, policy: Policy = Policy.ASK, origin: Origin = Origin.NEW, session_id: str = SESSION
) -> SessionSpec:
    """What a session asks of the agent."""
    return SessionSpec(
        binary=HarnessBinary(path=Path("/opt/played/agent"), version="1", sha256=""),
        cwd=Path("/workspace"),
        policy=policy,
        origin=origin,
        session_id=session_id,
        home=Path("/home/user"),
        endpoint=None,
        environment={},
        call_seconds=0.5,
    )


class _SilentProcess:
    """Takes lines for a played agent."""

    exit_status: ExitStatus | None = None

    def __init__(self, agent: PlayedAgent) -> None:
        self._agent = agent

    async def send(self, line: bytes, *, deadline_seconds: float | None = None) -> None:
        self._agent.heard(msgspec.json.decode(line, type=Message))

    def stderr_tail(self, max_bytes: int = 0) -> str:
        return ""


@dataclass(slots=True)
class PlayedAgent:
    """One agent with the connection that speaks to it.

    Args:
        declared: what its `acp.toml` says besides `DECLARED`.
        steers: it offers `_session/steering`.
        able: its capabilities.
        mode: the mode that it begins in; None when it has none.
        answers: what it answers to a method at once; an `error` in one is an error.
        before: what it does before it answers a method.
        sent: what it has got.
        events: what the connection made of what it said.
    """

    declared: Message = field(default_factory=Message)
    steers: bool = True
    able: Message = field(default_factory=Message)
    mode: str | None = None
    answers: dict[str, Message] = field(default_factory=dict[str, Message])
    before: dict[str, Callable[[], None]] = field(default_factory=dict[str, Callable[[], None]])
    asked: SessionSpec = field(default_factory=spec)
    sent: list[Message] = field(default_factory=list[Message])
    events: list[NativeEvent] = field(default_factory=list[NativeEvent])
    connection: AcpConnection = field(init=False)

    def __post_init__(self) -> None:
        process = cast("HarnessProcess", _SilentProcess(self))
        self.connection = AcpConnection(self.asked, process, self.declaration, MANIFEST)
        opened: Message = {"sessionId": SESSION}
        if self.mode is not None:
            opened["modes"] = {"currentModeId": self.mode, "availableModes": []}
        unknown: Message = {"error": {"code": -32601, "message": "there is no such method"}}
        self.answers = {
            "initialize": {
                "protocolVersion": 1,
                "agentInfo": {"name": "played", "version": "7"},
                "agentCapabilities": self.able,
                "_meta": {"steering": {"supported": self.steers}},
            },
            "session/new": opened,
            "session/load": {},
            BEFORE_PROMPT: unknown,
            BEHIND_PROMPT: unknown,
            "_session/steering": {"outcome": "injected"},
            **self.answers,
        }

    @property
    def declaration(self) -> AcpDeclaration:
        """What it does where the protocol leaves the choice."""
        return read_declaration({**DECLARED, **self.declared})

    async def open(self) -> Opened:
        """Open the conversation."""
        return await self.connection.open()

    async def begin(self, prompt: str = "go") -> None:
        """Open the conversation, and start a turn."""
        await self.open()
        await self.connection.start_turn("turn", prompt)

    def heard(self, message: Message) -> None:
        """A line came."""
        self.sent.append(message)
        if (act := self.before.get(str(message.get("method")))) is not None:
            act()
        answer = self.answers.get(str(message.get("method")))
        if answer is not None and "id" in message:
            self.says({"id": message["id"], **(answer if "error" in answer else {"result": answer})})

    def says(self, *messages: Message) -> None:
        """Send lines."""
        lines = [msgspec.json.encode({"jsonrpc": "2.0", **message}) for message in messages]
        self.events += self.connection.decode(lines)
        for reply in self.connection.take_replies():
            self.heard(msgspec.json.decode(reply, type=Message))

    def updates(self, *updates: Message) -> None:
        """Send updates of the session."""
        for update in updates:
            self.says({"method": "session/update", "params": {"sessionId": SESSION, "update": update}})

    def text(self, text: str, message_id: str | None = None) -> None:
        """Say a piece of the model's text."""
        self.updates(
            {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": text},
                "messageId": message_id,
            }
        )

    def shows(self, text: str, message_id: str | None = None) -> None:
        """Show a message of the user."""
        self.updates(
            {
                "sessionUpdate": "user_message_chunk",
                "content": {"type": "text", "text": text},
                "messageId": message_id,
            }
        )

    def asks(self, request_id: object, *options: tuple[str, str], call: Message | None = None) -> None:
        """Ask for a permission; each option is an id and a kind."""
        about = call or {"toolCallId": "call", "kind": "execute", "rawInput": {"command": "make"}}
        given = [{"optionId": option, "name": kind, "kind": kind} for option, kind in options]
        params = {"sessionId": SESSION, "toolCall": about, "options": given}
        self.says({"id": request_id, "method": "session/request_permission", "params": params})

    def ends(self, stop_reason: str = "end_turn", **more: object) -> None:
        """Answer the newest prompt."""
        self.says({"id": self.prompt_id, "result": {"stopReason": stop_reason, **more}})

    @property
    def prompt_id(self) -> object:
        """The id of the newest prompt."""
        return self.got("session/prompt")[-1]["id"]

    def got(self, method: str) -> list[Message]:
        """What it has got of that method."""
        return [message for message in self.sent if message.get("method") == method]

    def answer_to(self, request_id: object) -> Message:
        """What it was answered to a question of its own; the one answer that there is."""
        [answer] = [
            message for message in self.sent if message.get("id") == request_id and "method" not in message
        ]
        return answer

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]
