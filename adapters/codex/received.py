"""Messages of `codex app-server` that we receive, as much of each as we use; unknown fields are ignored."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from checkrein.adapters.codex.messages import Camel, RequestId

# ---- answers ----------------------------------------------------------------------------------------


class InitializeResult(Camel, frozen=True):
    user_agent: str


class Thread(Camel, frozen=True):
    id: str


class Sandbox(Camel, frozen=True):
    type: str


class ThreadOpened(Camel, frozen=True):
    """The answer to thread/start, thread/resume and thread/fork: the effective policy among other things."""

    thread: Thread
    model: str
    model_provider: str
    cwd: str
    #: a word, or an object (`granular`)
    approval_policy: Raw
    approvals_reviewer: str
    sandbox: Sandbox
    instruction_sources: tuple[str, ...] = ()


class TurnId(Camel, frozen=True):
    id: str


class TurnStarted(Camel, frozen=True):
    """The answer to turn/start, and the notification turn/started."""

    turn: TurnId
    thread_id: str = ""


# ---- notifications ----------------------------------------------------------------------------------


class CommandExecution(Camel, frozen=True, tag_field="type", tag="commandExecution"):
    id: str
    command: str
    cwd: str = ""
    status: str = ""
    process_id: str | None = None
    aggregated_output: str | None = None
    exit_code: int | None = None


class ChangeKind(Camel, frozen=True):
    type: str
    #: not camel case on the wire
    move_path: str | None = msgspec.field(name="move_path", default=None)


class FileUpdate(Camel, frozen=True):
    path: str
    kind: ChangeKind
    diff: str = ""


class FileChange(Camel, frozen=True, tag_field="type", tag="fileChange"):
    id: str
    changes: tuple[FileUpdate, ...] = ()
    status: str = ""


class McpError(Camel, frozen=True):
    message: str


class McpToolCall(Camel, frozen=True, tag_field="type", tag="mcpToolCall"):
    id: str
    server: str
    tool: str
    status: str = ""
    arguments: Raw = Raw(b"{}")
    result: Raw | None = None
    error: McpError | None = None


class DynamicToolCall(Camel, frozen=True, tag_field="type", tag="dynamicToolCall"):
    id: str
    tool: str
    status: str = ""
    arguments: Raw = Raw(b"{}")
    success: bool | None = None


class UserMessage(Camel, frozen=True, tag_field="type", tag="userMessage"):
    id: str
    client_id: str | None = None


class AgentMessage(Camel, frozen=True, tag_field="type", tag="agentMessage"):
    id: str
    text: str = ""


Item = CommandExecution | FileChange | McpToolCall | DynamicToolCall | UserMessage | AgentMessage


class ItemHead(Camel, frozen=True):
    """An item of a type that has no struct here."""

    type: str
    id: str = ""
    status: str = ""


class ItemEvent(Camel, frozen=True):
    thread_id: str
    turn_id: str
    item: Raw


class Delta(Camel, frozen=True):
    """A piece of text or of output that belongs to an item."""

    thread_id: str
    turn_id: str
    item_id: str
    delta: str


class TokenCount(Camel, frozen=True):
    #: cached ones included
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int


class TokenUsage(Camel, frozen=True):
    total: TokenCount


class TokenUsageUpdated(Camel, frozen=True):
    thread_id: str
    turn_id: str
    token_usage: TokenUsage


class TurnError(Camel, frozen=True):
    message: str
    #: a word, or an object whose one key is the word
    codex_error_info: Raw = Raw(b"null")
    additional_details: str | None = None


class ErrorHappened(Camel, frozen=True):
    error: TurnError
    will_retry: bool = False
    thread_id: str = ""
    turn_id: str = ""


class EndedTurn(Camel, frozen=True):
    id: str
    status: str
    error: TurnError | None = None


class TurnCompleted(Camel, frozen=True):
    thread_id: str
    turn: EndedTurn


class RequestResolved(Camel, frozen=True):
    request_id: RequestId
    thread_id: str = ""


class Warned(Camel, frozen=True):
    """warning, guardianWarning (message); configWarning, deprecationNotice (summary, details)."""

    message: str = ""
    summary: str = ""
    details: str | None = None


class McpStartup(Camel, frozen=True):
    name: str
    status: Raw = Raw(b"null")
    error: str | None = None


class ModelRerouted(Camel, frozen=True):
    from_model: str
    to_model: str


# ---- questions --------------------------------------------------------------------------------------


class NetworkContext(Camel, frozen=True):
    host: str
    protocol: Raw = Raw(b"null")


class CommandAction(Camel, frozen=True):
    """What Codex makes of a part of a command line: it reads, lists or searches that path; or it is unknown."""

    path: str | None = None


class CommandQuestion(Camel, frozen=True):
    thread_id: str
    turn_id: str
    item_id: str
    kind: str = "command"
    reason: str | None = None
    command: str | None = None
    cwd: str | None = None
    command_actions: Raw = Raw(b"null")
    additional_permissions: Raw = Raw(b"null")
    network_approval_context: NetworkContext | None = None


class FileQuestion(Camel, frozen=True):
    thread_id: str
    turn_id: str
    item_id: str
    reason: str | None = None
    grant_root: str | None = None


class PathEntry(Camel, frozen=True):
    path: Raw


class FileSystemWish(Camel, frozen=True):
    read: tuple[str, ...] | None = None
    write: tuple[str, ...] | None = None
    entries: tuple[PathEntry, ...] = ()


class PermissionsWish(Camel, frozen=True):
    file_system: FileSystemWish | None = None


class PermissionsQuestion(Camel, frozen=True):
    thread_id: str
    turn_id: str
    item_id: str
    permissions: Raw
    cwd: str = ""
    reason: str | None = None


class AskedPoint(Camel, frozen=True):
    id: str
    question: str = ""


class InputQuestion(Camel, frozen=True):
    thread_id: str
    turn_id: str
    item_id: str
    questions: tuple[AskedPoint, ...] = ()


class ElicitedSchema(Camel, frozen=True):
    required: tuple[str, ...] = ()


class Elicitation(Camel, frozen=True):
    thread_id: str
    server_name: str
    mode: str
    turn_id: str | None = None
    message: str = ""
    requested_schema: ElicitedSchema = ElicitedSchema()


class OldCommandQuestion(Camel, frozen=True):
    conversation_id: str
    call_id: str
    command: tuple[str, ...]
    cwd: str = ""
    reason: str | None = None


class OldPatchQuestion(Camel, frozen=True):
    conversation_id: str
    call_id: str
    file_changes: dict[str, Raw] = msgspec.field(default_factory=dict[str, Raw])
    reason: str | None = None
