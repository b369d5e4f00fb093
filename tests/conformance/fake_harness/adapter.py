"""The adapter of the fake harness."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable

import anyio

from checkrein.adapters.errors import HarnessDied
from checkrein.adapters.interface import (
    Connection,
    Decision,
    DecisionKind,
    HarnessAdapter,
    Launch,
    Opened,
    SessionSpec,
)
from checkrein.adapters.manifest import Capability, Manifest, Support
from checkrein.adapters.native import (
    Asked,
    NativeEvent,
    Question,
    SteerMoved,
    SteerProgress,
    TextDone,
    ToolCall,
    ToolFinished,
    ToolKind,
    ToolStarted,
    ToolStatus,
    TurnClosed,
    TurnOpened,
    TurnStatus,
)
from checkrein.adapters.transport import BrokenTransport, HarnessProcess

#: In the environment of the driver: how the fake harness misbehaves (see `program.py`).
FLAW_VARIABLE = "FAKE_HARNESS_FLAW"

_LACKS = frozenset({Capability.FORK})

#: What its manifest says nothing of.
_LEFT_OPEN = frozenset({Capability.USAGE})


class FakeConnection(Connection):
    """Speaks the fake harness's lines."""

    def __init__(self, spec: SessionSpec, process: HarnessProcess) -> None:
        super().__init__(spec, process)
        self._ready = anyio.Event()
        self._lost: Exception | None = None

    def decode(self, lines: list[bytes]) -> Iterable[NativeEvent]:
        for line in lines:
            message = json.loads(line)
            match message["event"]:
                case "ready":
                    self._ready.set()
                case "opened":
                    yield TurnOpened(native_id=message["id"], prompt_id=message["id"])
                case "text":
                    yield TextDone(text=message["text"])
                case "tool":
                    yield ToolStarted(call=_call(message))
                case "ask":
                    yield Asked(question=Question(question_id=message["id"], call=_call(message)))
                case "result":
                    status = ToolStatus.OK if message["status"] == 0 else ToolStatus.ERROR
                    yield ToolFinished(
                        call_id=message["id"],
                        status=status,
                        output=message["output"],
                        exit_status=message["status"],
                    )
                case "steered":
                    yield SteerMoved(
                        steer_id=message["id"], progress=SteerProgress.DELIVERED, evidence="steered"
                    )
                case "closed":
                    yield TurnClosed(
                        native_id="",
                        status=TurnStatus(message["status"]),
                        reason=message["reason"],
                        native_status=message["status"],
                    )
                case other:
                    raise ValueError(other)

    def take_replies(self) -> list[bytes]:
        return []

    def fail_calls(self, error: Exception) -> None:
        self._lost = error
        self._ready.set()

    async def open(self) -> Opened:
        await self._ready.wait()
        if self._lost is not None:
            raise HarnessDied("the fake harness did not start", status="gone", stderr="") from self._lost
        policy = {"policy": self.spec.policy.value}
        return Opened(
            session_id=self.spec.session_id, version="1.0", policy_asked=policy, policy_effective=policy
        )

    async def start_turn(self, turn_id: str, prompt: str) -> None:
        await self._send(do="start", id=turn_id, prompt=prompt)

    async def steer(self, steer_id: str, text: str) -> None:
        await self._send(do="steer", id=steer_id, text=text)

    async def interrupt(self) -> None:
        await self._send(do="interrupt")

    async def settle(self) -> None:
        return

    async def answer(self, question: Question, decision: Decision) -> None:
        await self._send(do="answer", allow=decision.kind is not DecisionKind.DENY)

    @property
    def holds_grants(self) -> bool:
        return False

    async def _send(self, **order: object) -> None:
        try:
            await self.process.send(json.dumps(order).encode())
        except BrokenTransport as fault:
            raise HarnessDied("the fake harness is gone", status="gone", stderr="") from fault


def _call(message: dict[str, str]) -> ToolCall:
    return ToolCall(call_id=message["id"], name="sh", kind=ToolKind.COMMAND, command=message["command"])


class FakeAdapter(HarnessAdapter):
    """Launches the fake harness; its binary is the program's file."""

    @property
    def manifest(self) -> Manifest:
        capabilities = {
            one: Support.NO if one in _LACKS else Support.YES for one in Capability if one not in _LEFT_OPEN
        }
        return Manifest(
            name="fake",
            title="Fake",
            vendor="tests",
            dialects=("anthropic-messages",),
            capabilities=capabilities,
        )

    def launch(self, spec: SessionSpec) -> Launch:
        assert spec.home is not None
        assert spec.endpoint is not None
        flaw = os.environ.get(FLAW_VARIABLE, "none")
        argv = (sys.executable, "-I", str(spec.binary.path), spec.policy.value, flaw)
        model = {"FAKE_MODEL_URL": spec.endpoint.base_url, "FAKE_MODEL_KEY": spec.endpoint.api_key}
        own = {"HOME": str(spec.home), **model}
        return Launch(argv=argv, environment={**spec.environment, **own}, cwd=spec.cwd)

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        return FakeConnection(spec, process)


HARNESS = FakeAdapter()
