"""A harness that does what the test tells it: a real process (`cat`) behind an adapter of a few lines.

Every event that the test emits travels through the process and comes back as its output, so that order, reading
and the loss of the process are real; only the words are not.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import anyio

from checkrein.adapters.errors import CallRefused, SteerReason, SteerRejected
from checkrein.adapters.interface import (
    Connection,
    Decision,
    HarnessAdapter,
    HarnessBinary,
    Launch,
    Opened,
    Origin,
    SessionSpec,
)
from checkrein.adapters.manifest import Capability, Manifest, Support
from checkrein.adapters.native import (
    NativeEvent,
    Question,
    ToolCall,
    ToolKind,
    TurnClosed,
    TurnOpened,
    TurnStatus,
)
from checkrein.adapters.transport import ExitStatus, HarnessProcess

ECHO = (
    "import sys\n"
    "for line in iter(sys.stdin.buffer.readline, b''):\n"
    "    sys.stdout.buffer.write(line); sys.stdout.buffer.flush()\n"
)

#: The same, but deaf to the end of its input and to SIGTERM, and mute: only SIGKILL ends it.
FROZEN = (
    "import signal, sys, threading\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "for line in iter(sys.stdin.buffer.readline, b''):\n"
    "    sys.stdout.buffer.write(line); sys.stdout.buffer.flush()\n"
    "threading.Event().wait()\n"
)


class Held:
    """A method of the connection that waits until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.released = anyio.Event()


class EchoConnection(Connection):
    """Speaks with the process; what it was told is kept for the test."""

    def __init__(self, harness: EchoHarness, spec: SessionSpec, process: HarnessProcess) -> None:
        super().__init__(spec, process)
        self.harness = harness
        self.sent: list[tuple[str, ...]] = []
        self.grants = False
        self.interrupted = anyio.Event()
        self.answered = anyio.Event()
        self._events: list[NativeEvent] = []

    def _fail(self, method: str) -> None:
        if (fault := self.harness.faults.get(method)) is not None:
            raise fault

    async def _step(self, method: str) -> None:
        if (look := self.harness.before.get(method)) is not None:
            look()
        self._fail(method)
        if (held := self.harness.held.get(method)) is not None:
            held.reached.set()
            await held.released.wait()

    async def emit(self, *events: NativeEvent) -> None:
        """Let the process report these events."""
        for event in events:
            self._events.append(event)
            await self.process.send(str(len(self._events) - 1).encode())

    def decode(self, lines: list[bytes]) -> Iterable[NativeEvent]:
        self._fail("decode")
        return [self._events[int(line)] for line in lines]

    def ended(self, status: ExitStatus | None, stderr: str) -> Iterable[NativeEvent]:
        self._fail("ended")
        return self.harness.at_end

    def take_replies(self) -> list[bytes]:
        return []

    def fail_calls(self, error: Exception) -> None:
        self.sent.append(("calls failed", type(error).__name__))

    async def open(self) -> Opened:
        self.harness.connections.append(self)
        await self._step("open")
        return Opened(
            session_id=f"fork-of-{self.spec.session_id}"
            if self.spec.origin is Origin.FORK
            else self.spec.session_id,
            version="1.0",
            policy_asked={"policy": self.spec.policy.value},
            policy_effective={"policy": self.harness.policy_says or self.spec.policy.value},
        )

    async def start_turn(self, turn_id: str, prompt: str) -> None:
        self.sent.append(("start", prompt))
        await self._step("start_turn")
        if self.harness.refuses_prompts:
            raise CallRefused("the harness refused the prompt", message="no")
        await self.emit(TurnOpened(native_id=f"native-{turn_id}", prompt_id=turn_id))

    async def steer(self, steer_id: str, text: str) -> None:
        self.sent.append(("steer", text))
        await self._step("steer")
        if self.harness.refuses_steers:
            raise SteerRejected(SteerReason.NOT_STEERABLE, by="harness", message="cannot steer")

    async def withdraw(self, steer_id: str) -> bool:
        self.sent.append(("withdraw", steer_id))
        await self._step("withdraw")
        return self.harness.drops_withdrawn

    async def interrupt(self) -> None:
        self.sent.append(("interrupt",))
        self.interrupted.set()
        await self._step("interrupt")
        if self.harness.obeys_interrupts:
            await self.emit(closed(TurnStatus.INTERRUPTED))

    async def settle(self) -> None:
        self.sent.append(("settle",))

    async def answer(self, question: Question, decision: Decision) -> None:
        await self._step("answer")
        self.sent.append(("answer", question.question_id, decision.kind.value, decision.message))
        self.answered.set()

    @property
    def holds_grants(self) -> bool:
        return self.grants


class EchoHarness(HarnessAdapter):
    """The adapter, with the ways to behave as attributes."""

    def __init__(self) -> None:
        self.connections: list[EchoConnection] = []
        self.program = ECHO
        self.policy_says: str | None = None
        self.refuses_prompts = False
        self.refuses_steers = False
        self.drops_withdrawn = True
        self.obeys_interrupts = True
        #: by method of the connection: what it raises
        self.faults: dict[str, Exception] = {}
        self.held: dict[str, Held] = {}
        #: what is done when a method is called
        self.before: dict[str, Callable[[], None]] = {}
        #: what the end of each process tells
        self.at_end: list[NativeEvent] = []
        self.lacks: frozenset[Capability] = frozenset()

    def hold(self, method: str) -> Held:
        """Let this method of every connection wait."""
        self.held[method] = Held()
        return self.held[method]

    @property
    def manifest(self) -> Manifest:
        support = {one: Support.NO if one in self.lacks else Support.YES for one in Capability}
        return Manifest(
            name="echo",
            title="Echo",
            vendor="tests",
            dialects=(),
            capabilities=support,
            memory_files=("AGENTS.md",),
        )

    def launch(self, spec: SessionSpec) -> Launch:
        argv = (*spec.binary.command, "-I", "-S", "-c", self.program)
        return Launch(argv=argv, environment=spec.environment, cwd=spec.cwd)

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        if (fault := self.faults.get("connect")) is not None:
            raise fault
        return EchoConnection(self, spec, process)

    @property
    def newest(self) -> EchoConnection:
        """The connection of the newest process."""
        return self.connections[-1]

    @property
    def binary(self) -> HarnessBinary:
        """This Python, which runs the program."""
        path = Path(sys.executable)
        return HarnessBinary(path=path, version="1.0", sha256=hashlib.sha256(b"echo").hexdigest())


def closed(status: TurnStatus = TurnStatus.COMPLETED, reason: str = "done") -> TurnClosed:
    """The end of a turn."""
    return TurnClosed(native_id="", status=status, reason=reason, native_status=status.value)


def command(text: str, call_id: str = "call-1") -> ToolCall:
    """A shell call."""
    return ToolCall(call_id=call_id, name="shell", kind=ToolKind.COMMAND, command=text)


def question(text: str, question_id: str = "q-1") -> Question:
    """The question whether a shell call may run."""
    return Question(question_id=question_id, call=command(text, call_id=f"call-of-{question_id}"))
