"""From Claude Code's messages to native events: the state of one conversation as its output shows it.

Order on the wire, the same on 2.1.296 and 2.1.332: `command_lifecycle queued`, `started`, `system/init`, then per model
step the stream, one `assistant` line per finished block and one `user` line per tool result, then `result`, then the
opener's `completed` or `cancelled`. A message that joins the turn is `started` behind a tool result; its `completed`
comes before `result`. A turn that nobody asked for (a background job ended) has no lifecycle at all, only `init`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from checkrein.adapters.claude_code.endings import outcome_of, usage_of
from checkrein.adapters.claude_code.messages import (
    Assistant,
    CommandLifecycle,
    ContentBlock,
    Result,
    ResultMeta,
    StreamEvent,
    System,
    User,
)
from checkrein.adapters.claude_code.tool_calls import tool_call
from checkrein.adapters.claude_code.tool_results import finished
from checkrein.adapters.native import (
    BackgroundJob,
    NativeEvent,
    Notice,
    NoticeKind,
    SteerMoved,
    SteerProgress,
    TextDelta,
    TextDone,
    ToolFinished,
    ToolStarted,
    TurnClosed,
    TurnOpened,
    TurnStatus,
)

#: `system` messages that tell nothing which is used here; most are known from the binary of 2.1.332 only.
UNUSED_SUBTYPES = frozenset(
    {
        "commands_changed",
        "compact_boundary",
        "control_request_progress",
        "file_snapshot",
        "hook_progress",
        "hook_response",
        "hook_started",
        "local_command",
        "local_command_output",
        "memory_recall",
        "memory_saved",
        "per_turn_effort_changed",
        "permission_check_status",
        "post_turn_summary",
        "session_metadata",
        "session_state_changed",
        "session_title_changed",
        "shell_cwd",
        "status",
        "stop_hook_summary",
        "task_progress",
        "task_summary",
        "task_updated",
        "thinking_tokens",
        "turn_duration",
        "turn_starting",
        "vcs_state_changed",
    }
)

#: `system` messages that a person may want to see.
WARNING_SUBTYPES = frozenset(
    {
        "informational",
        "instruction_size_warning",
        "late_allow_not_run",
        "model_fallback",
        "model_refusal_fallback",
        "model_refusal_no_fallback",
        "notification",
        "permission_denied",
        "scheduled_task_fire",
        "session_writes_lost",
    }
)


class Purpose(StrEnum):
    """What a message of ours is for."""

    PROMPT = "prompt"
    STEER = "steer"


class Stage(StrEnum):
    """How far a message of ours has come."""

    SENT = "sent"
    QUEUED = "queued"
    #: it joined the running turn, and no model request that holds it is known yet
    FOLDED = "folded"


class Translator:
    """Translates one process's output, message by message."""

    def __init__(self) -> None:
        self._purpose: dict[str, Purpose] = {}
        self._stage: dict[str, Stage] = {}
        self._turn_open = False
        self._turn_id = ""
        #: prompts of ours that were dropped while another turn was open, with the harness's word
        self._withdrawn: dict[str, str] = {}
        self._jobs: set[str] = set()
        self._job_news = ""
        self._calls: dict[str, str] = {}
        self._denied: set[str] = set()
        self._unknown: set[str] = set()

    def sending(self, message_id: str, purpose: Purpose) -> None:
        """A message of ours is about to be sent."""
        self._purpose[message_id] = purpose
        self._stage[message_id] = Stage.SENT

    def denied(self, call_id: str) -> None:
        """A call was denied by us, so that its error result is no failure of the tool."""
        self._denied.add(call_id)

    @property
    def prompt_waits(self) -> bool:
        """Whether a prompt of ours waits behind a turn that the harness began by itself."""
        waiting = (
            message_id for message_id in self._stage if self._purpose.get(message_id) is Purpose.PROMPT
        )
        return self._turn_open and not self._turn_id and any(waiting)

    def cancelled(self, message_id: str, evidence: str) -> Iterator[NativeEvent]:
        """The harness says that it dropped a message; usually its lifecycle has said so before."""
        if message_id in self._stage:
            yield from self._drop(message_id, "cancelled", evidence)

    def unknown(self, what: str) -> Iterator[NativeEvent]:
        """A message of a kind that this adapter does not know; told once per kind."""
        if what not in self._unknown:
            self._unknown.add(what)
            yield Notice(kind=NoticeKind.UNKNOWN_MESSAGE, text=f"passed over an unknown message: {what}")

    def lifecycle(self, message: CommandLifecycle) -> Iterator[NativeEvent]:
        """What became of a message."""
        message_id = message.command_uuid
        purpose = self._purpose.get(message_id)
        match message.state:
            case "queued":
                if purpose is not None:
                    self._stage[message_id] = Stage.QUEUED
                if purpose is Purpose.STEER:
                    yield _moved(message_id, SteerProgress.ACCEPTED, "command_lifecycle queued")
            case "started":
                yield from self._started(message, purpose)
            case "completed":
                yield from self._delivered([message_id], "command_lifecycle completed")
                self._forget(message_id)
            case "cancelled" | "discarded" | "refused":
                yield from self._drop(message_id, message.state, f"command_lifecycle {message.state}")
            case other:
                yield from self.unknown(f"command_lifecycle {other}")

    def _started(self, message: CommandLifecycle, purpose: Purpose | None) -> Iterator[NativeEvent]:
        message_id = message.command_uuid
        if not self._turn_open:
            self._stage.pop(message_id, None)
            if purpose is not None:
                yield self._open(message_id)
            else:
                source = message.wakeup_source
                yield self._open(None, cause=source or "a message that this driver never sent")
        elif purpose is Purpose.STEER:
            self._stage[message_id] = Stage.FOLDED
        elif purpose is Purpose.PROMPT:
            # The harness had begun a turn by itself while our prompt was on its way: that turn now works on it.
            self._stage.pop(message_id, None)
            yield self._open(message_id)
        else:
            yield Notice(
                kind=NoticeKind.WARNING,
                text=f"a message that this driver never sent joined the turn ({message.wakeup_source or 'no source'})",
            )

    def _drop(self, message_id: str, word: str, evidence: str) -> Iterator[NativeEvent]:
        """A message that will not run.

        Not every one that is `cancelled`: in an interrupted turn a message that has joined it is, before `result`,
        and stays in the conversation (then `result` decides); and so is the opener, behind `result` (2.1.332).
        """
        purpose = self._purpose.get(message_id)
        stage = self._stage.get(message_id)
        if stage is Stage.FOLDED:
            return
        self._forget(message_id)
        if stage is None:
            return
        if purpose is Purpose.STEER:
            yield _moved(message_id, SteerProgress.CANCELLED, evidence)
        elif self._turn_open:
            self._withdrawn[message_id] = word
        else:
            yield from self._never_ran(message_id, word)

    def _never_ran(self, prompt_id: str, word: str) -> Iterator[NativeEvent]:
        yield self._open(prompt_id)
        self._turn_open = False
        yield TurnClosed(
            native_id=prompt_id,
            status=TurnStatus.INTERRUPTED,
            reason=f"the prompt was {word} before its turn began",
            native_status=word,
        )

    def _forget(self, message_id: str) -> None:
        self._purpose.pop(message_id, None)
        self._stage.pop(message_id, None)

    def _open(self, prompt_id: str | None, *, cause: str = "") -> TurnOpened:
        self._turn_open = True
        self._turn_id = prompt_id or ""
        self._job_news = ""
        return TurnOpened(native_id=self._turn_id, prompt_id=prompt_id, cause=cause)

    def _delivered(self, message_ids: list[str], evidence: str) -> Iterator[NativeEvent]:
        for message_id in message_ids:
            if self._stage.get(message_id) is Stage.FOLDED:
                del self._stage[message_id]
                yield _moved(message_id, SteerProgress.DELIVERED, evidence)

    def _model_active(self, evidence: str) -> Iterator[NativeEvent]:
        """The model answers; so a request was made, and it held every message that had joined the turn before."""
        if Stage.FOLDED in self._stage.values():
            yield from self._delivered(list(self._stage), evidence)

    def piece(self, message: StreamEvent) -> TextDelta | None:
        """The piece of visible text in an event of the model's stream; None in others, and in those of subagents."""
        delta = message.event.delta
        if delta is None or delta.type != "text_delta" or message.parent_tool_use_id is not None:
            return None
        return TextDelta(text=delta.text) if delta.text else None

    def answer_begins(self, message: StreamEvent) -> Iterator[NativeEvent]:
        """The model begins an answer."""
        if message.parent_tool_use_id is None:
            yield from self._model_active("stream_event message_start after command_lifecycle started")

    def assistant(self, message: Assistant) -> Iterator[NativeEvent]:
        """A finished block of the model. A text made up for a failed request is left out: `result` repeats it."""
        own = message.parent_tool_use_id is None
        if own and message.error is None:
            yield from self._model_active("assistant after command_lifecycle started")
        content = message.message.content
        blocks = [ContentBlock(type="text", text=content)] if isinstance(content, str) else content
        for block in blocks:
            if block.type == "text" and own and message.error is None:
                yield TextDone(text=block.text)
            elif block.type == "tool_use":
                self._calls[block.id] = block.name
                yield ToolStarted(call=tool_call(block.id, block.name, block.input))

    def user(self, message: User) -> Iterator[NativeEvent]:
        """Results of calls."""
        content = message.message.content
        if isinstance(content, str):
            return
        meta = {entry.id: entry for entry in message.tool_result_meta}
        for block in content:
            if block.type == "tool_result":
                yield self._finished(block, meta.get(block.tool_use_id), message.tool_use_result)

    def _finished(self, block: ContentBlock, meta: ResultMeta | None, detail: msgspec.Raw) -> ToolFinished:
        name = self._calls.pop(block.tool_use_id, "")
        denied = block.tool_use_id in self._denied
        self._denied.discard(block.tool_use_id)
        return finished(block, meta, detail, tool=name, denied=denied)

    def system(self, message: System) -> Iterator[NativeEvent]:
        """Turns that the harness begins, its background jobs, its retries."""
        match message.subtype:
            case "init":
                if not self._turn_open:
                    yield self._open(None, cause=self._job_news or "the harness began a turn by itself")
            case "background_tasks_changed":
                yield from self._jobs_are({task.task_id for task in message.tasks})
            case "task_started":
                if message.is_backgrounded and message.task_id:
                    yield from self._jobs_are(self._jobs | {message.task_id})
            case "task_notification":
                self._job_news = message.summary or "a background job changed"
                if message.task_id:
                    yield from self._jobs_are(self._jobs - {message.task_id})
            case "api_retry":
                yield Notice(kind=NoticeKind.RETRY, text=_retry(message))
            case subtype if subtype in WARNING_SUBTYPES:
                words = message.content or message.message or message.tool_name
                text = f"{subtype}: {words}" if words else subtype
                yield Notice(kind=NoticeKind.WARNING, text=text)
            case subtype if subtype not in UNUSED_SUBTYPES:
                yield from self.unknown(f"system {subtype}")
            case _:
                pass

    def _jobs_are(self, alive: set[str]) -> Iterator[NativeEvent]:
        for job in sorted(alive - self._jobs):
            yield BackgroundJob(job_id=job, alive=True)
        for job in sorted(self._jobs - alive):
            yield BackgroundJob(job_id=job, alive=False)
        self._jobs = alive

    def result(self, message: Result) -> Iterator[NativeEvent]:
        """The end of the turn."""
        yield from self._delivered(message.user_message_uuids, "result.user_message_uuids")
        yield from usage_of(message)
        if not self._turn_open:
            text = f"a result without a turn: {'; '.join(message.errors) or message.subtype}"
            yield Notice(kind=NoticeKind.WARNING, text=text)
            return
        for message_id in [one for one, stage in self._stage.items() if stage is Stage.FOLDED]:
            # It is in the conversation, but no request of this turn is known to hold it.
            self._forget(message_id)
            yield _moved(message_id, SteerProgress.QUEUED, "result without it in user_message_uuids")
        self._turn_open = False
        self._calls.clear()
        self._denied.clear()
        status, reason, word = outcome_of(message)
        yield TurnClosed(native_id=self._turn_id, status=status, reason=reason, native_status=word)
        withdrawn, self._withdrawn = self._withdrawn, {}
        for prompt_id, how in withdrawn.items():
            yield from self._never_ran(prompt_id, how)


def _retry(message: System) -> str:
    status = message.error_status if message.error_status is not None else "no status"
    failure = f"model request failed ({status}, {message.error or 'no reason'})"
    return f"{failure}; try {message.attempt} of {message.max_retries}"


def _moved(steer_id: str, progress: SteerProgress, evidence: str) -> SteerMoved:
    return SteerMoved(steer_id=steer_id, progress=progress, evidence=evidence)
