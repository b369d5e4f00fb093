"""Codex's items as tool calls: what is called, with which result."""

from __future__ import annotations

import msgspec

from checkrein.adapters.codex import messages as m
from checkrein.adapters.codex import received as r
from checkrein.adapters.native import ToolCall, ToolKind, ToolStatus

#: items without a struct of their own that are tool calls all the same
_OTHER_TOOLS = {
    "collabAgentToolCall": ToolKind.OTHER,
    "imageGeneration": ToolKind.OTHER,
    "imageView": ToolKind.READ,
    "sleep": ToolKind.OTHER,
    "webSearch": ToolKind.NETWORK,
}

_STATUS = {
    "completed": ToolStatus.OK,
    "failed": ToolStatus.ERROR,
    "declined": ToolStatus.DECLINED,
}


def call_of(item: r.Item | None, head: r.ItemHead, raw: bytes) -> ToolCall | None:
    """Return the call that an item stands for; None for an item that is no tool call.

    Args:
        item: the item by its own type; None when it has none here.
        head: its type and id.
        raw: the whole item as JSON.
    """
    match item:
        case r.CommandExecution():
            return ToolCall(
                call_id=item.id,
                name="exec_command",
                kind=ToolKind.COMMAND,
                command=item.command,
                cwd=item.cwd or None,
                input_json=m.as_json({"command": item.command, "cwd": item.cwd}),
            )
        case r.FileChange():
            return ToolCall(
                call_id=item.id,
                name="apply_patch",
                kind=ToolKind.EDIT,
                paths=paths_of(item),
                change=diff_of(item),
                input_json=m.as_json({"changes": item.changes}),
            )
        case r.McpToolCall():
            return ToolCall(
                call_id=item.id,
                name=f"{item.server}.{item.tool}",
                kind=ToolKind.OTHER,
                input_json=bytes(item.arguments).decode(),
            )
        case r.DynamicToolCall():
            return ToolCall(
                call_id=item.id,
                name=item.tool,
                kind=ToolKind.OTHER,
                input_json=bytes(item.arguments).decode(),
            )
        case r.UserMessage() | r.AgentMessage():
            return None
        case None:
            kind = _OTHER_TOOLS.get(head.type)
            if kind is None:
                return None
            return ToolCall(call_id=head.id, name=head.type, kind=kind, input_json=raw.decode())


def paths_of(item: r.FileChange) -> tuple[str, ...]:
    """Return every path that a change touches, the new names of moved files included."""
    paths: list[str] = []
    for change in item.changes:
        paths += [path for path in (change.path, change.kind.move_path) if path]
    return tuple(paths)


def diff_of(item: r.FileChange) -> str:
    """Return the change as text: per file what happens to it, then the diff as the harness gives it.

    For an added file 0.171.0 gives the content instead of a diff.
    """
    return "\n".join(f"*** {change.kind.type} {change.path}\n{change.diff}" for change in item.changes)


def status_of(item: r.Item | None, head: r.ItemHead) -> ToolStatus:
    """Return how an ended item ended; an unknown word is an error."""
    if isinstance(item, r.DynamicToolCall) and item.success is False:
        return ToolStatus.ERROR
    return _STATUS.get(head.status, ToolStatus.OK if not head.status else ToolStatus.ERROR)


def output_of(item: r.Item | None) -> tuple[str, int | None]:
    """Return what an ended item printed, and its exit status where it has one."""
    match item:
        case r.CommandExecution():
            return item.aggregated_output or "", item.exit_code
        case r.McpToolCall(error=r.McpError(message=message)):
            return message, None
        case r.McpToolCall(result=msgspec.Raw() as result):
            return bytes(result).decode(), None
        case _:
            return "", None
