"""Tool calls of ACP in neutral words. A call comes in pieces, which are merged by its id."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from msgspec import Raw

from checkrein.adapters.acp import messages as m
from checkrein.adapters.native import ToolCall, ToolKind

#: ACP's kinds; one that is not here is OTHER
_KINDS = {
    "execute": ToolKind.COMMAND,
    "edit": ToolKind.EDIT,
    "delete": ToolKind.EDIT,
    "move": ToolKind.EDIT,
    "read": ToolKind.READ,
    "search": ToolKind.READ,
    "fetch": ToolKind.NETWORK,
}

#: Statuses after which a call has its result.
ENDED = frozenset({"completed", "failed"})

_NOTHING = Raw(b"{}")


class _Input(msgspec.Struct):
    """What the raw input of a call may hold, of what is shown. Its names are each agent's own: these are common."""

    command: str | tuple[str, ...] | None = None
    cwd: str | None = None
    path: str | None = None
    file_path: str | None = None
    content: str | None = None
    text: str | None = None


class _Output(msgspec.Struct, rename="camel"):
    exit_code: int | None = None


class _SnakeOutput(msgspec.Struct):
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSoFar:
    """What is known of one call.

    Args:
        call: in neutral words.
        status: ACP's word.
        output: what it has brought forth.
        exit_status: of a command, when the agent tells it.
    """

    call: ToolCall
    status: str
    output: str = ""
    exit_status: int | None = None


def merged(before: m.CallUpdate | None, update: m.CallUpdate) -> m.CallUpdate:
    """Return a call with what an update says of it."""
    if before is None:
        return update
    said = {
        field: value
        for field in before.__struct_fields__
        if (value := getattr(update, field)) is not None and value != m.NULL
    }
    return msgspec.structs.replace(before, **said)


def so_far(update: m.CallUpdate) -> CallSoFar:
    """Return a merged call in neutral words."""
    return CallSoFar(
        call=call_of(update),
        status=update.status or "pending",
        output=_output(update),
        exit_status=_exit_status(update.raw_output),
    )


def call_of(update: m.CallUpdate) -> ToolCall:
    """Return the call that an update, or the question about it, describes."""
    kind = _KINDS.get(update.kind or "", ToolKind.OTHER)
    raw = update.raw_input if update.raw_input != m.NULL else _NOTHING
    try:
        given = msgspec.json.decode(raw, type=_Input)
    except msgspec.DecodeError:
        given = _Input()
    return ToolCall(
        call_id=update.tool_call_id,
        name=update.kind or update.title or "tool",
        kind=kind,
        command=_command(update, given) if kind is ToolKind.COMMAND else None,
        paths=_paths(update, given),
        change=_change(update, given) if kind is ToolKind.EDIT else None,
        cwd=given.cwd,
        input_json=bytes(raw).decode(),
    )


def _command(update: m.CallUpdate, given: _Input) -> str | None:
    """The whole line; the title, which may be shortened, only where there is nothing else."""
    match given.command:
        case str() as line:
            return line
        case None:
            return update.title
        case words:
            return " ".join(words)


def _paths(update: m.CallUpdate, given: _Input) -> tuple[str, ...]:
    places = [location.path for location in update.locations or ()]
    places += [content.path for content in update.content or () if content.type == "diff"]
    places += [path for path in (given.path, given.file_path) if path]
    return tuple(dict.fromkeys(places))


def _change(update: m.CallUpdate, given: _Input) -> str | None:
    pieces: list[str] = []
    for content in update.content or ():
        if content.type == "diff" and content.old_text is None:
            pieces.append(content.new_text)
        elif content.type == "diff":
            pieces += [f"-{line}" for line in (content.old_text or "").split("\n")]
            pieces += [f"+{line}" for line in content.new_text.split("\n")]
    return "\n".join(pieces) or given.content or given.text


def _output(update: m.CallUpdate) -> str:
    texts = [content.content.text for content in update.content or () if content.content is not None]
    return "\n".join(text for text in texts if text)


def _exit_status(raw: Raw) -> int | None:
    for shape in (_Output, _SnakeOutput):
        try:
            status = msgspec.json.decode(raw, type=shape).exit_code
        except msgspec.DecodeError:
            continue
        if status is not None:
            return status
    return None
