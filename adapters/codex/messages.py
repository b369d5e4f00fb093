"""Messages of `codex app-server`: the envelope of all, and what we send. What we receive is in `received.py`.

One JSON object per line, without a `jsonrpc` field. A received line is read in two steps: the envelope first, then
the parameters by the method's own type, so that nothing is decoded that nobody looks at. Unknown fields are
ignored. Shapes: `codex app-server generate-json-schema --experimental` of 0.171.0; the tests validate against it.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

RequestId = int | str


class RpcError(Struct, frozen=True, kw_only=True):
    """An error answer; `data` differs by condition."""

    code: int
    message: str
    data: Raw = Raw(b"null")


class Incoming(Struct, frozen=True, kw_only=True):
    """Any received line: a request (id and method), a notification (method) or an answer (id)."""

    id: RequestId | UnsetType | None = UNSET
    method: str | None = None
    params: Raw = Raw(b"{}")
    result: Raw | UnsetType = UNSET
    error: RpcError | UnsetType = UNSET


# ---- sent -----------------------------------------------------------------------------------------------------


class Camel(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A message whose fields have camel-case names on the wire."""


class ClientInfo(Camel, frozen=True):
    name: str
    title: str
    version: str


class Capabilities(Camel, frozen=True):
    #: needed for thread/backgroundTerminals/clean
    experimental_api: bool
    request_attestation: bool


class Initialize(Camel, frozen=True):
    client_info: ClientInfo
    capabilities: Capabilities


class ProjectTrust(Struct, frozen=True, kw_only=True):
    trust_level: str


class ThreadConfig(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Overrides of config.toml for one thread; the keys are dotted paths."""

    projects: dict[str, ProjectTrust]
    include_instructions: bool | UnsetType = msgspec.field(name="skills.include_instructions", default=UNSET)


class ThreadStart(Camel, frozen=True):
    cwd: str
    approval_policy: str
    sandbox: str
    approvals_reviewer: str
    config: ThreadConfig
    #: the project's memory
    developer_instructions: str | None = None
    model: str | None = None
    model_provider: str | None = None


class ThreadResume(ThreadStart, frozen=True, kw_only=True):
    thread_id: str
    #: the history is not sent along; the usage so far is told all the same
    exclude_turns: bool


class ThreadFork(ThreadStart, frozen=True, kw_only=True):
    """`excludeTurns` stays away: with it, 0.171.0 does not tell the usage that the fork inherits."""

    thread_id: str


class TextInput(Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    text: str


class TurnStart(Camel, frozen=True):
    thread_id: str
    input: tuple[TextInput, ...]
    client_user_message_id: str


class TurnSteer(Camel, frozen=True):
    thread_id: str
    expected_turn_id: str
    input: tuple[TextInput, ...]
    client_user_message_id: str


class TurnInterrupt(Camel, frozen=True):
    thread_id: str
    turn_id: str


class TerminalsClean(Camel, frozen=True):
    thread_id: str


Params = (
    Initialize
    | ThreadStart
    | ThreadResume
    | ThreadFork
    | TurnStart
    | TurnSteer
    | TurnInterrupt
    | TerminalsClean
)


class Call(Struct, frozen=True, kw_only=True):
    id: RequestId
    method: str
    params: Params


class Initialized(Struct, frozen=True, kw_only=True):
    method: str = "initialized"


class ErrorBody(Struct, frozen=True, kw_only=True):
    code: int
    message: str


class Answer(Struct, frozen=True, kw_only=True):
    """Our answer to a question; `result` is already JSON."""

    id: RequestId
    result: Raw


class RefusedAnswer(Struct, frozen=True, kw_only=True):
    id: RequestId
    error: ErrorBody


_encoder = msgspec.json.Encoder()


def line(message: Call | Initialized | Answer | RefusedAnswer) -> bytes:
    """Encode one message as a line, without its line feed."""
    return _encoder.encode(message)


def as_json(value: object) -> str:
    """Return a value as JSON text."""
    return _encoder.encode(value).decode()
