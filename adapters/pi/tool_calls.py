"""pi's tool calls in neutral words."""

from __future__ import annotations

import os
import re

import msgspec
from msgspec import Raw

from checkrein.adapters.native import ToolCall, ToolKind
from checkrein.adapters.pi import messages as m

#: pi's own tools (1.3.0, 1.6.0); grep, find and ls are off by default
_KINDS = {
    "bash": ToolKind.COMMAND,
    "powershell": ToolKind.COMMAND,
    "edit": ToolKind.EDIT,
    "write": ToolKind.EDIT,
    "read": ToolKind.READ,
    "grep": ToolKind.READ,
    "find": ToolKind.READ,
    "ls": ToolKind.READ,
}

_EXITED = re.compile(r"Command exited with code (\d+)\s*$")


class _Replacement(msgspec.Struct, rename="camel"):
    old_text: str = ""
    new_text: str = ""


class _Input(msgspec.Struct, rename="camel"):
    """What calls of pi's own tools may hold, of what is shown."""

    command: str | None = None
    path: str | None = None
    content: str | None = None
    edits: tuple[_Replacement, ...] = ()


def call_id(native: str) -> str:
    """Return the model's id of a call: with the Responses API pi adds the id of the item behind a bar."""
    return native.partition("|")[0]


def call_of(native_id: str, name: str, given: Raw, cwd: str | None) -> ToolCall:
    """Return the call of a tool with that input."""
    kind = _KINDS.get(name, ToolKind.OTHER)
    try:
        read = msgspec.json.decode(given, type=_Input)
    except msgspec.DecodeError:
        read = _Input()  # pi checks inputs itself; what it refuses never runs
    return ToolCall(
        call_id=call_id(native_id),
        name=name,
        kind=kind,
        command=read.command if kind is ToolKind.COMMAND else None,
        paths=(read.path,) if read.path and kind in (ToolKind.EDIT, ToolKind.READ) else (),
        change=_change(read) if kind is ToolKind.EDIT else None,
        cwd=cwd,
        input_json=bytes(given).decode(),
    )


def _change(read: _Input) -> str | None:
    if read.content is not None:
        return read.content
    pieces: list[str] = []
    for edit in read.edits:
        pieces += [f"-{line}" for line in edit.old_text.split("\n")]
        pieces += [f"+{line}" for line in edit.new_text.split("\n")]
    return "\n".join(pieces) or None


def real_paths(paths: tuple[str, ...], *, cwd: str, home: str) -> tuple[str, ...]:
    """Return where the paths really lead, in the same order; empty when no link is involved."""
    absolute = [os.path.normpath(os.path.join(cwd, _at_home(path, home))) for path in paths]  # noqa: PTH118  # as text: pathlib would drop a `..` behind a link differently
    resolved = tuple(os.path.realpath(path) for path in absolute)
    return resolved if list(resolved) != absolute else ()


def _at_home(path: str, home: str) -> str:
    """pi takes `~` for the home (1.6.0)."""
    return home + path[1:] if path == "~" or path.startswith("~/") else path


def outcome_of(raw: Raw) -> tuple[str, int | None]:
    """Return what a tool printed, and the exit status of a command as far as pi tells it."""
    try:
        result = msgspec.json.decode(raw, type=m.ToolResult | None)
    except msgspec.DecodeError:
        return "", None
    if result is None:
        return "", None
    output = "\n".join(block.text for block in result.content if block.type == "text")
    if result.structured_content is not None:
        return output, result.structured_content.exit_code
    # A command that failed has only the text (1.3.0, 1.6.0).
    exited = _EXITED.search(output)
    return output, int(exited[1]) if exited else None
