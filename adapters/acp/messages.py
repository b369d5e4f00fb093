"""Messages of ACP, as much of each as we use; unknown fields are ignored.

JSON-RPC 2.0, one object a line. Field names as in version 1 of the protocol, schema 1.19; a test checks what we send
and read against the models of the package `agent-client-protocol`. That package is not used here: its own connection
runs on asyncio alone, and loading its models takes more than a second.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

RequestId = int | str

#: The version of the protocol that is spoken here.
PROTOCOL_VERSION = 1

#: JSON-RPC: there is no such method; the parameters are not those of the method. ACP: there is no such session; the
#: request was cancelled.
METHOD_NOT_FOUND, INVALID_PARAMS, RESOURCE_NOT_FOUND, REQUEST_CANCELLED = -32601, -32602, -32002, -32800

NULL = Raw(b"null")


class Camel(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message whose fields have camel-case names on the wire."""


# ---- any line -----------------------------------------------------------------------------------------


class RpcError(Struct, frozen=True):
    """Why a request was refused."""

    code: int
    message: str = ""
    data: Raw = NULL

    @property
    def words(self) -> str:
        """The message, and the data where it is a text or has one."""
        for shape in (str, _Detail):
            try:
                data = msgspec.json.decode(self.data, type=shape)
            except msgspec.DecodeError:
                continue
            text = data if isinstance(data, str) else data.details or data.message
            if text and text not in self.message:
                return f"{self.message}: {text}"
        return self.message


class _Detail(Struct, frozen=True):
    details: str = ""
    message: str = ""


class Incoming(Struct, frozen=True, kw_only=True):
    """Any received line: a request (id, method), a notification (method) or an answer (id)."""

    id: RequestId | None = None
    method: str | None = None
    params: Raw = Raw(b"{}")
    result: Raw = NULL
    error: RpcError | UnsetType | None = UNSET


class Request(Struct, frozen=True, kw_only=True):
    """A request of ours."""

    id: int
    method: str
    params: Struct
    jsonrpc: str = "2.0"


class Notification(Struct, frozen=True, kw_only=True):
    """A notification of ours."""

    method: str
    params: Struct
    jsonrpc: str = "2.0"


class Answer(Struct, frozen=True, kw_only=True):
    """Our answer to a request."""

    id: RequestId
    result: Struct
    jsonrpc: str = "2.0"


class ErrorBody(Struct, frozen=True):
    code: int
    message: str


class RefusedAnswer(Struct, frozen=True, kw_only=True):
    """Our answer to a request that nobody here can answer."""

    id: RequestId
    error: ErrorBody
    jsonrpc: str = "2.0"


def line(message: Request | Notification | Answer | RefusedAnswer) -> bytes:
    """Encode one message as a line, without its line feed."""
    return msgspec.json.encode(message)


# ---- opening ------------------------------------------------------------------------------------------


class Implementation(Camel, frozen=True):
    name: str
    version: str
    title: str | None = None


class FileCapabilities(Camel, frozen=True):
    read_text_file: bool = False
    write_text_file: bool = False


class ClientCapabilities(Camel, frozen=True):
    """Nothing is offered: the agent uses its own files and processes, where we see them."""

    fs: FileCapabilities = FileCapabilities()
    terminal: bool = False


class Initialize(Camel, frozen=True):
    protocol_version: int
    client_info: Implementation
    client_capabilities: ClientCapabilities = ClientCapabilities()


class SessionCapability(Camel, frozen=True):
    """An object, whatever is in it, says that the capability is there."""


class SessionCapabilities(Camel, frozen=True):
    fork: SessionCapability | None = None
    resume: SessionCapability | None = None


class AgentCapabilities(Camel, frozen=True):
    load_session: bool | None = None
    session_capabilities: SessionCapabilities | None = None


class SteeringSupport(Camel, frozen=True):
    supported: bool = False


class InitializeMeta(Camel, frozen=True):
    steering: SteeringSupport | None = None


class Initialized(Camel, frozen=True):
    """The answer to `initialize`."""

    protocol_version: int
    agent_info: Implementation | None = None
    agent_capabilities: AgentCapabilities | None = None
    meta: InitializeMeta | None = msgspec.field(name="_meta", default=None)


class OpenSession(Camel, frozen=True):
    """Parameters of `session/new`, and with an id of `session/load`, `session/resume` and `session/fork`."""

    cwd: str
    mcp_servers: tuple[str, ...] = ()
    session_id: str | UnsetType = UNSET


class Modes(Camel, frozen=True):
    current_mode_id: str


class SessionOpened(Camel, frozen=True):
    """The answer to any of these; `session/load` gives no id."""

    session_id: str | None = None
    modes: Modes | None = None


class SetMode(Camel, frozen=True):
    session_id: str
    mode_id: str


# ---- a turn -------------------------------------------------------------------------------------------


class TextBlock(Camel, frozen=True):
    """A block of a prompt."""

    text: str
    type: str = "text"


class Prompt(Camel, frozen=True):
    session_id: str
    prompt: tuple[TextBlock, ...]


class SessionOnly(Camel, frozen=True):
    """Parameters that name the session and nothing else."""

    session_id: str


class SteeringWish(Camel, frozen=True):
    """What the agent is to do with the message: hand it back when no turn runs; call it so when it is shown."""

    message_id: str
    idle_behavior: str = "promptRequired"


class SteeringMeta(Camel, frozen=True):
    steering: SteeringWish


class Steering(Camel, frozen=True):
    """Parameters of `_session/steering`."""

    session_id: str
    prompt: tuple[TextBlock, ...]
    meta: SteeringMeta = msgspec.field(name="_meta")


class Steered(Camel, frozen=True):
    """The answer to it: `injected`, `promptRequired`, `startedNewTurn` or `failed`."""

    outcome: str
    reason: str | None = None


class Usage(Camel, frozen=True):
    """Input tokens are counted without those that were read from a cache or written to it."""

    input_tokens: int
    output_tokens: int
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class PromptDone(Camel, frozen=True):
    """The answer to a prompt."""

    stop_reason: str
    usage: Usage | None = None


class Content(Camel, frozen=True):
    """A block of text, or of something else."""

    type: str = ""
    text: str = ""


class ToolContent(Camel, frozen=True):
    """What a call has brought forth or would change: `content`, `diff` or `terminal`."""

    type: str
    content: Content | None = None
    path: str = ""
    old_text: str | None = None
    new_text: str = ""


class Location(Camel, frozen=True):
    path: str


class CallUpdate(Camel, frozen=True):
    """A tool call, whole or in part; what is null is as it was before."""

    tool_call_id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: tuple[ToolContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: Raw = NULL
    raw_output: Raw = NULL


class UpdateHead(Camel, frozen=True):
    """What kind of update it is, and the fields of those that are text or a mode."""

    session_update: str
    content: Raw = NULL
    message_id: str | None = None
    current_mode_id: str = ""


class SessionUpdate(Camel, frozen=True):
    """Parameters of `session/update`."""

    update: UpdateHead


class SessionCallUpdate(Camel, frozen=True):
    """The same, when the update is of a tool call."""

    update: CallUpdate


class RetryNotice(Camel, frozen=True):
    message: str = ""


# ---- questions ----------------------------------------------------------------------------------------


class Option(Camel, frozen=True):
    option_id: str
    kind: str


class PermissionAsked(Camel, frozen=True):
    """Parameters of `session/request_permission`."""

    tool_call: CallUpdate
    options: tuple[Option, ...]


class Outcome(Camel, frozen=True):
    outcome: str
    option_id: str | UnsetType = UNSET


class PermissionAnswered(Camel, frozen=True):
    outcome: Outcome
