"""What Claude Code's tool inputs mean: from a tool's name and input to a `ToolCall`.

Tool names and input fields are those of 2.1.332's `system/init` and of the calls in the wire transcripts.
"""

from __future__ import annotations

import difflib

import msgspec

from checkrein.adapters.native import ToolCall, ToolKind

KINDS = {
    "Bash": ToolKind.COMMAND,
    "Monitor": ToolKind.COMMAND,
    "Write": ToolKind.EDIT,
    "Edit": ToolKind.EDIT,
    "NotebookEdit": ToolKind.EDIT,
    "Read": ToolKind.READ,
    "Glob": ToolKind.READ,
    "Grep": ToolKind.READ,
    "WebFetch": ToolKind.NETWORK,
    "WebSearch": ToolKind.NETWORK,
    "AskUserQuestion": ToolKind.QUESTION,
}


class _Input(msgspec.Struct, frozen=True):
    command: str | None = None
    file_path: str | None = None
    notebook_path: str | None = None
    path: str | None = None
    content: str | None = None
    old_string: str | None = None
    new_string: str | None = None
    replace_all: bool = False
    new_source: str | None = None


_decode_input = msgspec.json.Decoder(_Input).decode
_NO_INPUT = _Input()


def tool_call(call_id: str, name: str, raw_input: msgspec.Raw) -> ToolCall:
    """The call in neutral words. An input of an unexpected shape still gives a call, with the whole JSON text."""
    text = bytes(raw_input).decode("utf-8", "replace")
    kind = KINDS.get(name, ToolKind.OTHER)
    try:
        given = _decode_input(raw_input)
    except (msgspec.DecodeError, UnicodeDecodeError):
        given = _NO_INPUT
    command = given.command if kind is ToolKind.COMMAND else None
    return ToolCall(
        call_id=call_id,
        name=name,
        kind=kind,
        command=command,
        paths=_paths(kind, given),
        change=_change(given) if kind is ToolKind.EDIT else None,
        input_json=text,
    )


def _paths(kind: ToolKind, given: _Input) -> tuple[str, ...]:
    if kind not in (ToolKind.EDIT, ToolKind.READ):
        return ()
    return tuple(path for path in (given.file_path, given.notebook_path, given.path) if path)


def _change(given: _Input) -> str | None:
    if given.content is not None:
        return given.content
    if given.new_string is None:
        return given.new_source
    before = (given.old_string or "").splitlines()
    after = given.new_string.splitlines()
    name = given.file_path or ""
    diff = difflib.unified_diff(before, after, fromfile=name, tofile=name, lineterm="")
    note = "every occurrence:\n" if given.replace_all else ""
    return note + "\n".join(diff)
