"""What an adapter reports upward: native events in neutral words. The turn decides what they mean.

An adapter never decides an outcome. It says what the harness said; `Turn`, the steer ledger and the
approval desk draw the conclusions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import msgspec


class ToolKind(StrEnum):
    """What a tool call does, as far as approvals and records care."""

    COMMAND = "command"
    EDIT = "edit"
    READ = "read"
    NETWORK = "network"
    QUESTION = "question"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool call of the model.

    Args:
        call_id: the model's id of the call; results are paired by it, never by order.
        name: the harness's own name of the tool.
        kind: what it does.
        command: the whole shell line, for a command.
        paths: the files it reads or changes, as given.
        change: the diff or new content, for an edit.
        cwd: the directory it runs in, when the harness says so.
        input_json: the whole input as JSON text.
    """

    call_id: str
    name: str
    kind: ToolKind
    command: str | None = None
    paths: tuple[str, ...] = ()
    change: str | None = None
    cwd: str | None = None
    input_json: str = "{}"

    @property
    def likeness(self) -> tuple[str, ...]:
        """What makes two calls alike for `allow_always`: same tool, same directory, same command or same files.

        A call that is neither a command nor about named files is like nothing but its exact twin.
        """
        if self.command is not None:
            return (self.kind.value, self.name, self.cwd or "", self.command)
        if self.kind is ToolKind.EDIT and self.paths:
            return (self.kind.value, self.name, *self.paths)
        return (self.kind.value, self.name, self.input_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and cost; unknown is None, never 0.

    Args:
        input_tokens: tokens sent to the model, cached ones included.
        cached_tokens: of those, read from a cache.
        output_tokens: tokens that the model produced.
        cost_usd: cost in US dollars as the harness reckons it.
    """

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class UsageScope(StrEnum):
    """What a usage report counts."""

    #: everything since the conversation (or the process) began
    CUMULATIVE = "cumulative"
    #: this turn alone
    TURN = "turn"


class ToolStatus(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    ERROR = "error"
    DECLINED = "declined"
    ABORTED = "aborted"


class TurnStatus(StrEnum):
    """The terminal state of a turn as the harness names it."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOpened:
    """The harness runs a turn.

    Args:
        native_id: the harness's id of the turn ("" when it has none).
        prompt_id: the id of ours that opened it: of a turn's prompt, or of a steer that came too late and now
            starts a turn; None for a turn that we did not open.
        cause: why the harness opened it by itself, in its own words.
    """

    native_id: str
    prompt_id: str | None
    cause: str = ""


class TextDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the model's visible text. A struct, since most events are of this class."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDone:
    """One finished text block of the model, whole."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """The model asked for a tool call (it may still wait for an approval)."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A tool call has its result.

    Args:
        output: what the tool printed, as much as the harness passes on.
        exit_status: of the command, when known.
    """

    call_id: str
    status: ToolStatus
    output: str = ""
    exit_status: int | None = None


class SteerProgress(StrEnum):
    """What the harness said of a steer of ours."""

    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    #: it stays in the conversation but starts, or will be part of, the next turn
    QUEUED = "queued"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerMoved:
    """A steer moved on.

    Args:
        evidence: the wire fact that shows it, for the record.
    """

    steer_id: str
    progress: SteerProgress
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something that the harness waits on.

    Args:
        question_id: the harness's id of the question, as text.
        call: the call that it is about.
        reason: why the harness asks, in its own words.
        real_paths: where the call's paths really lead, when the harness resolved a link.
    """

    question_id: str
    call: ToolCall
    reason: str = ""
    real_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The harness asks and waits."""

    question: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionVoided:
    """The harness withdrew a question, or says that it is resolved."""

    question_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReported:
    """The harness told its usage.

    Args:
        baseline: True when it tells where the count stood before the turn (at opening or after a resume).
    """

    usage: Usage
    scope: UsageScope
    baseline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundJob:
    """A job that the harness runs beside the turn appeared or ended."""

    job_id: str
    alive: bool


class NoticeKind(StrEnum):
    """What a notice is about."""

    RETRY = "retry"
    WARNING = "warning"
    UNKNOWN_MESSAGE = "unknown_message"
    STRAY_OUTPUT = "stray_output"
    REFUSED_QUESTION = "refused_question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something worth showing that changes no state."""

    kind: NoticeKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationNamed:
    """The harness told the id of its conversation only after the opening; from now on it goes by this one.

    Args:
        session_id: the one to resume later.
    """

    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnClosed:
    """The harness ended a turn.

    Args:
        native_id: the harness's id of the turn ("" when it has none).
        reason: in words, for a person; for a failure it holds the model's status and message.
        native_status: the harness's own word, verbatim.
    """

    native_id: str
    status: TurnStatus
    reason: str
    native_status: str
    usage: Usage | None = field(default=None)


#: What concerns the turn that runs.
TurnEvent = (
    TurnOpened
    | TextDelta
    | TextDone
    | ToolStarted
    | ToolFinished
    | SteerMoved
    | Asked
    | QuestionVoided
    | BackgroundJob
    | Notice
    | TurnClosed
)

NativeEvent = TurnEvent | UsageReported | ConversationNamed
