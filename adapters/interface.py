"""What an adapter is: the two classes that a new harness implements, and the values they exchange with the session.

`HarnessAdapter` says how to launch the harness; `Connection` speaks with one running process of it. Everything
else (turn states, steer ledger, approvals, interrupt ladder, renewal of the process) is shared and lives beside
this file. A connection never decides: it translates commands down and events up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from checkrein.adapters.errors import CallExpired, HarnessDied, Unsupported
from checkrein.adapters.manifest import Manifest
from checkrein.adapters.native import NativeEvent, Question
from checkrein.adapters.policy import Policy
from checkrein.adapters.project_memory import ProjectMemory
from checkrein.adapters.transport import (
    BrokenTransport,
    ExitStatus,
    HarnessProcess,
    ProcessInfo,
    SendTimedOut,
)
from checkrein.adapters.workspace import WorkspaceFinding

#: How long a process that takes no more input may take to end, in seconds; past it, it lives with its input closed.
LAST_WORDS_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessBinary:
    """The program of a harness.

    Args:
        path: a native executable, or the JavaScript that is the harness; never a script that starts another program.
        version: its version as its package says; None when the path was given by hand.
        sha256: hex digest of the file.
        launcher: the words before it on the command line, for a program that something else runs.
    """

    path: Path
    version: str | None
    sha256: str
    launcher: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The words that start it, its own arguments aside."""
        return (*self.launcher, str(self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessIdentity:
    """Which harness a session runs, known before the first prompt.

    Args:
        name: of the adapter.
        version: as the running process says.
        sha256: hex digest of the binary.
    """

    name: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """Where the harness finds its model, when not where it would by itself.

    Args:
        base_url: without a trailing slash; the dialect's own path (`/v1/messages`, `/v1/responses`,
            `/v1/chat/completions`) follows it.
        api_key: the key that is sent there. In a session of `open_session` the harness does not get it: it gets the
            address of a relay on loopback, and a token (see `relay/`).
        model: the model's name; None leaves the adapter's default.
        environment_proxies: the relay goes through the proxies that the environment of this process names.
        retries: how often the harness tries a failed request again; None leaves the adapter's default.
        dialect: what is spoken there, one of the manifest's; None for the first of these.
        silence_seconds: how long the model may send nothing before the harness gives the request up; None leaves
            the harness's default, which is minutes.
    """

    base_url: str
    api_key: str = field(repr=False)
    model: str | None = None
    environment_proxies: bool = False
    retries: int | None = None
    dialect: str | None = None
    silence_seconds: float | None = None


class Origin(StrEnum):
    """Where a conversation comes from."""

    NEW = "new"
    RESUME = "resume"
    FORK = "fork"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpec:
    """All that is needed to run one process of a harness.

    Args:
        binary: what to run.
        cwd: the workspace; absolute and resolved.
        policy: who decides over calls.
        origin: a new conversation, or one that exists.
        session_id: of the conversation to resume or fork; for a new one, an id (a UUID) that the adapter uses
            when the harness lets it.
        home: HOME of the harness; None leaves the user's own.
        endpoint: None leaves the harness's own login and endpoint.
        environment: the complete environment, cleaned of any surrounding agent; the adapter adds its own to it.
        call_seconds: how long a call to the harness may take before it counts as expired.
        memory: the project's memory, to be passed on as text; None for none.
    """

    binary: HarnessBinary
    cwd: Path
    policy: Policy
    origin: Origin
    session_id: str
    home: Path | None
    endpoint: ModelEndpoint | None
    environment: Mapping[str, str]
    call_seconds: float = 20.0
    memory: ProjectMemory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start the process.

    Args:
        argv: the command line; it begins with the `command` of the binary.
        environment: the complete environment.
        cwd: the directory of the process, which need not be the workspace.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What a process said when the conversation was open.

    Args:
        session_id: the harness's id of the conversation: the one to resume or fork later.
        version: the harness's own statement of its version.
        policy_asked: the policy in the harness's words, as it was asked for, by setting.
        policy_effective: the same settings as the harness says they are; the session compares the two.
        model: the model that it will use, when it says so.
    """

    session_id: str
    version: str
    policy_asked: Mapping[str, str]
    policy_effective: Mapping[str, str]
    model: str | None = None


class DecisionKind(StrEnum):
    """What was decided about a call."""

    ALLOW = "allow"
    DENY = "deny"
    ALLOW_ALWAYS = "allow_always"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer to a question.

    Args:
        kind: what was decided.
        message: for a deny, what the model is told; "" for none.
    """

    kind: DecisionKind
    message: str = ""


class Connection(ABC):
    """One running process of a harness, holding one conversation.

    The session reads the process's output and passes it to `decode`; every command is a coroutine that ends
    when the harness has acknowledged it. Each raises `CallExpired` when the deadline of the spec passes,
    `CallRefused` when the harness says no, and `HarnessDied` when its process ends meanwhile.
    """

    def __init__(self, spec: SessionSpec, process: HarnessProcess) -> None:
        self.spec = spec
        self.process = process

    async def send(self, line: bytes, what: str) -> None:
        """Send a line to the harness, within the deadline of the spec.

        Args:
            what: it is, in words, for the errors.

        Raises:
            CallExpired: the harness did not read; nothing was sent.
            HarnessDied: the process has ended, or takes no more input.
        """
        seconds = self.spec.call_seconds
        try:
            await self.process.send(line, deadline_seconds=seconds)
        except SendTimedOut:
            raise CallExpired(
                f"the harness did not read {what} within {seconds:g} s",
                advice="the harness may be stuck; interrupt the turn, the ladder ends its process",
            ) from None
        except BrokenTransport as fault:
            raise await self._death(fault) from None

    async def _death(self, fault: BrokenTransport) -> HarnessDied:
        try:
            status = str(await self.process.wait_exit(LAST_WORDS_SECONDS))
        except TimeoutError:
            return HarnessDied(
                "the harness's process takes no more input",
                status=f"still running: {fault.where}",
                stderr=self.process.stderr_tail(),
            )
        return HarnessDied("the harness's process ended", status=status, stderr=self.process.stderr_tail())

    @abstractmethod
    def decode(self, lines: list[bytes]) -> Iterable[NativeEvent]:
        """Translate a batch of output lines; settles the calls that they answer. Never raises on bad input:
        an unknown or broken line becomes a `Notice`."""

    def ended(self, status: ExitStatus | None, stderr: str) -> Iterable[NativeEvent]:
        """Tell what the end of the process means, after its whole output was decoded and what it left was ended.

        Where one process is one turn, this closes the turn; elsewhere the end of a process tells nothing more.

        Args:
            status: how it ended; None when it could not be ended.
            stderr: the end of what it wrote on its standard error.
        """
        return ()

    @abstractmethod
    def take_replies(self) -> list[bytes]:
        """Lines to send that `decode` found necessary (questions of a kind that nobody can answer are refused)."""

    @abstractmethod
    def fail_calls(self, error: Exception) -> None:
        """The process is gone: every waiting call raises `error`."""

    @abstractmethod
    async def open(self) -> Opened:
        """Shake hands, open the conversation of the spec.

        Raises:
            SessionNotFound: there is no conversation of that id.
            HandshakeFailed: the harness answered something that is no handshake.
        """

    @abstractmethod
    async def start_turn(self, turn_id: str, prompt: str) -> None:
        """Send the prompt of a turn. `turn_id` comes back as `TurnOpened.prompt_id`."""

    @abstractmethod
    async def steer(self, steer_id: str, text: str) -> None:
        """Add a message to the running turn; returns when the harness took it.

        `steer_id` comes back in `SteerMoved`, and as `TurnOpened.prompt_id` if the message starts a turn.

        Raises:
            SteerRejected: the harness refused it (`by="harness"`).
        """

    async def withdraw(self, steer_id: str) -> bool:
        """Take back a steer that the harness took; returns whether it dropped it, so that no request will hold it.

        Overridden where the manifest does not say that the harness cannot.

        Raises:
            Unsupported: the harness has no such call.
        """
        raise Unsupported("this harness cannot take back a steer")

    @abstractmethod
    async def interrupt(self) -> None:
        """Ask the harness to stop the turn and to drop what is queued; returns at its acknowledgement.

        Raises:
            Unsupported: the harness takes no such command while it runs; nothing was sent, and its process is ended.
        """

    @abstractmethod
    async def settle(self) -> None:
        """After an interrupted turn has ended: whatever the harness still needs to be really quiet."""

    @abstractmethod
    async def answer(self, question: Question, decision: Decision) -> None:
        """Answer a question. An `ALLOW_ALWAYS` must be no wider than calls like this one and write no file."""

    @property
    @abstractmethod
    def holds_grants(self) -> bool:
        """Whether the process remembers a grant that must not outlive the turn (it is renewed before the next)."""

    @property
    def said_all(self) -> bool:
        """Whether the process has nothing more to say, though it may stay: it is ended then. Only where one process is
        one turn."""
        return False

    @property
    def tells_progress(self) -> bool:
        """Whether the harness says something while it works, so that a long silence means that it is stuck."""
        return True

    def is_own_process(self, process: ProcessInfo) -> bool:
        """Whether a process that appeared during a turn belongs to the harness itself (a server or helper of its
        own), rather than to a tool of the turn. Such a process outlives an interrupt."""
        return False


class HarnessAdapter(ABC):
    """One harness: found by the entry point group `checkrein.adapters`."""

    @property
    @abstractmethod
    def manifest(self) -> Manifest:
        """What the harness can do."""

    @abstractmethod
    def launch(self, spec: SessionSpec) -> Launch:
        """The command line and environment for that spec. May create files in the harness's own configuration
        directory, never in the workspace.

        Raises:
            BadRequest: the spec cannot be launched safely (for example the workspace holds the configuration).
        """

    @abstractmethod
    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        """Speak with a process that was launched for that spec."""

    def workspace_findings(self, workspace: Path) -> Sequence[WorkspaceFinding] | None:
        """What of a tree would take effect with an ordinary launch of the harness; nothing of it is executed.

        Args:
            workspace: absolute and resolved.

        Returns:
            The worst first; None where the adapter does not know.
        """
        return None
