"""Messages of `pi --mode rpc`, as much of each as we use; unknown fields are ignored.

One JSON object per line: responses to commands, by their id, and events. Field names as in the package's own
`rpc-types.d.ts`, which is the same in 1.3.0 and 1.6.0, and as recorded (fixtures/wire/pi/).
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

_NOTHING = Raw(b"null")


class Camel(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message whose fields have camel-case names on the wire."""


# ---- received ---------------------------------------------------------------------------------------


class AnswerPiece(Camel, frozen=True):
    """`assistantMessageEvent` of a `message_update`: a piece of the model's answer."""

    type: str
    delta: str = ""


class Incoming(Camel, frozen=True, kw_only=True):
    """Any received line."""

    type: str
    #: of a response: the command's; of a dialog: its own
    id: str | None = None
    # response
    command: str = ""
    success: bool = True
    error: str = ""
    data: Raw = _NOTHING
    # message_start, message_end: an object; extension_ui_request: a text
    message: Raw = _NOTHING
    assistant_message_event: AnswerPiece | None = None
    # tool_execution_*
    tool_call_id: str = ""
    tool_name: str = ""
    args: Raw = Raw(b"{}")
    result: Raw = _NOTHING
    is_error: bool = False
    # queue_update
    steering: tuple[str, ...] = ()
    # agent_settled
    aborted: bool = False
    # auto_retry_start
    error_message: str = ""
    # extension_ui_request
    method: str = ""
    title: str = ""


class Disposition(Camel, frozen=True):
    """The data of an answered `prompt` or `steer`: `started`, `queued` or `handled`."""

    disposition: str


class ClearedQueue(Camel, frozen=True):
    """The data of an answered `clear_queue`: what was taken out."""

    steering: tuple[str, ...] = ()


class StateModel(Camel, frozen=True):
    id: str
    provider: str


class State(Camel, frozen=True):
    """The data of an answered `get_state`."""

    session_id: str
    model: StateModel | None = None


class Block(Camel, frozen=True):
    """A block of a message's content."""

    type: str
    text: str = ""


class Cost(Camel, frozen=True):
    total: float = 0.0


class TokenUsage(Camel, frozen=True):
    """What one answer used; `input` is without what was read from a cache or written to it."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Cost = Cost()


class Message(Camel, frozen=True, kw_only=True):
    """A message of the conversation."""

    role: str
    content: tuple[Block, ...] | str = ()
    stop_reason: str = ""
    error_message: str = ""
    usage: TokenUsage = TokenUsage()

    @property
    def texts(self) -> tuple[str, ...]:
        """Its text blocks."""
        if isinstance(self.content, str):
            return (self.content,)
        return tuple(block.text for block in self.content if block.type == "text")


class StructuredResult(Struct, frozen=True, kw_only=True):
    """Not camel case on the wire."""

    exit_code: int | None = None


class ToolResult(Camel, frozen=True):
    """The result of a tool."""

    content: tuple[Block, ...] = ()
    structured_content: StructuredResult | None = None


# ---- the gate's own words (gate.ts) -------------------------------------------------------------------


class Ready(Camel, frozen=True, kw_only=True):
    """The notice with which the gate begins; `checkrein` is `ready`."""

    checkrein: str
    token: str
    version: str
    policy: str
    project_trusted: bool
    mode: str
    answers: bool
    cwd: str


class GateQuestion(Camel, frozen=True, kw_only=True):
    """The title of the gate's dialog about a call; `checkrein` is `approval`."""

    checkrein: str
    tool_call_id: str
    tool_name: str
    input: Raw
    cwd: str
    parent_tool_call_id: str | None = None


# ---- sent ---------------------------------------------------------------------------------------------


class Command(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command; `message` goes with `prompt` and `steer`."""

    id: str
    type: str
    message: str | None = None


class DialogAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to a dialog; there is no response to it."""

    id: str
    value: str | None = None
    cancelled: bool = False
    type: str = msgspec.field(default_factory=lambda: "extension_ui_response")


class GateAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The `value` of the answer to a gate's question."""

    decision: str
    message: str = ""


def line(message: Command | DialogAnswer) -> bytes:
    """Encode one message as a line, without its line feed."""
    return msgspec.json.encode(message)
