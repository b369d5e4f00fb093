"""The lines of Claude Code's `stream-json` output, typed. Unknown fields are passed over.

Only what is used is named. Field by field from the wire transcripts of 2.1.296 and 2.1.332; a field that one of them
lacks has a default.
"""

from __future__ import annotations

import string
from collections.abc import Mapping

import msgspec

from checkrein.adapters.errors import BadRequest


class ContentBlock(msgspec.Struct, frozen=True):
    """One block of a message: text, a tool call, or a tool's result."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")
    tool_use_id: str = ""
    content: msgspec.Raw = msgspec.Raw(b"null")
    is_error: bool | None = None


class ModelMessage(msgspec.Struct, frozen=True):
    """A message of the conversation."""

    content: str | list[ContentBlock] = ""


class PermissionDecision(msgspec.Struct, frozen=True):
    """How a call came to run or not."""

    decision: str = ""


class ResultMeta(msgspec.Struct, frozen=True):
    """What the harness adds about one tool result."""

    id: str = ""
    non_execution_kind: str | None = None
    permission_decision: PermissionDecision | None = None


class Assistant(msgspec.Struct, frozen=True, tag="assistant"):
    """One finished block of the model; with `error` a text that the harness made up for a failed request."""

    message: ModelMessage
    parent_tool_use_id: str | None = None
    error: str | None = None


class User(msgspec.Struct, frozen=True, tag="user"):
    """Tool results, or a text that the harness put into the conversation."""

    message: ModelMessage
    tool_use_result: msgspec.Raw = msgspec.Raw(b"null")
    tool_result_meta: list[ResultMeta] = []


class StreamDelta(msgspec.Struct, frozen=True):
    """The new piece of a streamed block."""

    type: str | None = None
    text: str = ""


class ModelEvent(msgspec.Struct, frozen=True):
    """An event of the model's stream."""

    type: str = ""
    delta: StreamDelta | None = None


class StreamEvent(msgspec.Struct, frozen=True, tag="stream_event"):
    """An event of the model's stream, passed on."""

    event: ModelEvent
    parent_tool_use_id: str | None = None


class CommandLifecycle(msgspec.Struct, frozen=True, tag="command_lifecycle"):
    """What became of a user message: `queued`, `started`, `completed`, `cancelled`.

    The schema has `discarded` and `refused` as well; neither was seen.
    """

    command_uuid: str
    state: str
    wakeup_source: str | None = None


class ModelUsage(msgspec.Struct, frozen=True, rename="camel"):
    """What one model was used for since the conversation began; the three kinds of input exclude each other."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class TurnUsage(msgspec.Struct, frozen=True):
    """The tokens of one turn."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class TurnOrigin(msgspec.Struct, frozen=True):
    """Why the harness began a turn by itself."""

    kind: str = ""


class Result(msgspec.Struct, frozen=True, tag="result"):
    """The end of a turn."""

    subtype: str = ""
    is_error: bool = False
    terminal_reason: str | None = None
    result: str | None = None
    errors: list[str] = []
    api_error_status: int | None = None
    total_cost_usd: float | None = None
    usage: TurnUsage | None = None
    model_usage: dict[str, ModelUsage] | None = msgspec.field(name="modelUsage", default=None)
    user_message_uuids: list[str] = []
    origin: TurnOrigin | None = None


class BackgroundTask(msgspec.Struct, frozen=True):
    """A job beside the turn."""

    task_id: str


class System(msgspec.Struct, frozen=True, tag="system"):
    """Everything else that the harness tells; which fields are set depends on `subtype`."""

    subtype: str = ""
    #: of `init`
    permission_mode: str | None = msgspec.field(name="permissionMode", default=None)
    #: of `background_tasks_changed`
    tasks: list[BackgroundTask] = []
    #: of `task_started` and `task_notification`
    task_id: str | None = None
    is_backgrounded: bool | None = None
    status: str | None = None
    summary: str = ""
    #: of `api_retry`
    attempt: int | None = None
    max_retries: int | None = None
    error_status: int | None = None
    error: str | None = None
    #: of those that are for people
    content: str = ""
    message: str = ""
    tool_name: str = ""


class Ask(msgspec.Struct, frozen=True):
    """What the harness wants to know of its host; the fields are those of `can_use_tool`."""

    subtype: str = ""
    tool_name: str = ""
    tool_use_id: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")
    blocked_path: str | None = None
    decision_reason: str | None = None
    decision_reason_type: str | None = None
    suppress_always_allow_rule: bool = False


class ControlRequest(msgspec.Struct, frozen=True, tag="control_request"):
    """A question of the harness to its host."""

    request: Ask
    request_id: str = ""


class UnreadControlRequest(msgspec.Struct, frozen=True, tag="control_request"):
    """The envelope of a question whose content has no shape that is known."""

    request_id: str


class ControlCancelRequest(msgspec.Struct, frozen=True, tag="control_cancel_request"):
    """The harness withdraws a question."""

    request_id: str


class ControlReply(msgspec.Struct, frozen=True):
    """The answer to a call of ours; `response` is read by whoever made the call."""

    subtype: str
    request_id: str = ""
    response: msgspec.Raw = msgspec.Raw(b"{}")
    error: str = ""
    error_code: str | None = None


class ControlResponse(msgspec.Struct, frozen=True, tag="control_response"):
    """The envelope of an answer."""

    response: ControlReply


class Initialized(msgspec.Struct, frozen=True):
    """The answer to `initialize`, as far as it is used."""

    claude_code_version: str = ""
    current_permission_mode: str = ""


class PermissionRule(msgspec.Struct, frozen=True):
    """One rule that decides over calls without asking the host, or forces the question."""

    behavior: str
    source: str
    rule: str


class PermissionState(msgspec.Struct, frozen=True):
    """All rules in force."""

    rules: list[PermissionRule] = []


class PermissionListing(msgspec.Struct, frozen=True):
    """The answer to `list_permission_rules`."""

    state: PermissionState


class SessionUsage(msgspec.Struct, frozen=True):
    """The totals of a conversation over all its processes."""

    total_cost_usd: float | None = None
    model_usage: dict[str, ModelUsage] | None = None


class UsageListing(msgspec.Struct, frozen=True):
    """The answer to `get_usage`."""

    session: SessionUsage


class InterruptReceipt(msgspec.Struct, frozen=True):
    """The answer to `interrupt`; `cancelled` lists the queued messages that were dropped."""

    still_queued: list[str] = []
    cancelled: list[str] = []


class WithdrawReceipt(msgspec.Struct, frozen=True):
    """The answer to `cancel_async_message`."""

    cancelled: bool = False


Line = (
    Assistant
    | User
    | StreamEvent
    | CommandLifecycle
    | Result
    | System
    | ControlRequest
    | ControlCancelRequest
    | ControlResponse
)


class Head(msgspec.Struct, frozen=True):
    """What every line has, for lines that are no `Line`."""

    type: str


#: Types of lines that tell nothing which is used here. `keep_alive`, `tool_progress`, `rate_limit_event` and
#: `control_request_progress` are known from the schema only.
UNUSED_TYPES = frozenset(
    {
        "auth_status",
        "control_request_progress",
        "keep_alive",
        "prompt_suggestion",
        "rate_limit_event",
        "tool_progress",
        "tool_use_summary",
    }
)

decode_line = msgspec.json.Decoder(Line).decode
decode_unread_request = msgspec.json.Decoder(UnreadControlRequest).decode
decode_head = msgspec.json.Decoder(Head).decode
decode_initialized = msgspec.json.Decoder(Initialized).decode
decode_permissions = msgspec.json.Decoder(PermissionListing).decode
decode_usage = msgspec.json.Decoder(UsageListing).decode
decode_receipt = msgspec.json.Decoder(InterruptReceipt).decode
decode_withdrawal = msgspec.json.Decoder(WithdrawReceipt).decode

_encoder = msgspec.json.Encoder()


def encode(message: Mapping[str, object]) -> bytes:
    """One line to send. The only encoder: a line that is no JSON ends the harness's process (exit status 1).

    Raises:
        BadRequest: a text holds half of a surrogate pair, which no encoding of JSON can carry.
    """
    try:
        return _encoder.encode(message)
    except UnicodeEncodeError as fault:
        raise BadRequest(
            "the text holds half of a surrogate pair",
            where=f"character {fault.start}",
            advice="send valid Unicode text",
        ) from None


def control_request(request_id: str, subtype: str, **fields: object) -> bytes:
    """A call to the harness."""
    return encode(
        {"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **fields}}
    )


def control_answer(request_id: str, response: Mapping[str, object]) -> bytes:
    """The answer to a question of the harness."""
    answer = {"subtype": "success", "request_id": request_id, "response": response}
    return encode({"type": "control_response", "response": answer})


def control_refusal(request_id: str, error: str) -> bytes:
    """Refuse a question of the harness; a tool call that it is about is not run, and the turn goes on."""
    answer = {"subtype": "error", "request_id": request_id, "error": error}
    return encode({"type": "control_response", "response": answer})


#: What may stand before a `/` without hiding it from Claude Code, which trims as JavaScript does.
_TRIMMED = (
    string.whitespace
    + "\ufeff\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    + "".join(map(chr, range(0x2000, 0x200B)))
)


def user_message(message_id: str, text: str) -> bytes:
    """A message for the model, which gets `text` byte for byte.

    A text that begins with `/` is sent as two blocks, the second a line feed. As one text 2.1.332 takes it for a
    command of its own: `/compact` and some forty more then never reach the model, and even a path is held back until
    the turn is over instead of joining it. The last block decides, and a blank before the `/` does not help.
    """
    content: object = text
    if text.lstrip(_TRIMMED).startswith("/"):
        content = [{"type": "text", "text": text}, {"type": "text", "text": "\n"}]
    return encode(
        {
            "type": "user",
            "uuid": message_id,
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": None,
            "session_id": "",
        }
    )
