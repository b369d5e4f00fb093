"""How a tool call ended: from a `tool_result` block and what the harness adds to it."""

from __future__ import annotations

import msgspec

from checkrein.adapters.claude_code import wire_texts
from checkrein.adapters.claude_code.messages import ContentBlock, ResultMeta
from checkrein.adapters.native import ToolFinished, ToolStatus

_REJECTED_RESULT = msgspec.json.encode(wire_texts.REJECTED_RESULT)


class _ShellDetail(msgspec.Struct, frozen=True, rename="camel"):
    """What the shell tool adds to its result."""

    interrupted: bool = False
    return_code_interpretation: str | None = None
    background_task_id: str | None = None


_decode_detail = msgspec.json.Decoder(_ShellDetail).decode
_decode_text = msgspec.json.Decoder(str | list[ContentBlock] | None).decode


def _text_of(content: msgspec.Raw) -> str:
    try:
        value = _decode_text(content)
    except msgspec.ValidationError:
        return bytes(content).decode("utf-8", "replace")
    if isinstance(value, list):
        return "\n".join(block.text if block.type == "text" else f"[{block.type}]" for block in value)
    return value or ""


def _exit_status(name: str, status: ToolStatus, output: str, detail: msgspec.Raw) -> int | None:
    """Of a shell command: told in words when it failed; 0 when it is said to be well without a further word.

    `grep` that finds nothing is no error, but has `returnCodeInterpretation`; its number is not told (2.1.332).
    """
    if name != "Bash":
        return None
    if status is ToolStatus.ERROR:
        found = wire_texts.EXIT_CODE.match(output)
        return int(found[1]) if found else None
    if status is not ToolStatus.OK:
        return None
    try:
        told = _decode_detail(detail)
    except msgspec.ValidationError:
        return None
    plain = not (told.interrupted or told.return_code_interpretation or told.background_task_id)
    return 0 if plain else None


def finished(
    block: ContentBlock, meta: ResultMeta | None, detail: msgspec.Raw, *, tool: str, denied: bool
) -> ToolFinished:
    """The end of a call.

    Args:
        block: the `tool_result`.
        meta: what `tool_result_meta` says of it.
        detail: `tool_use_result` of the message that holds it.
        tool: name of the tool, "" when the call was not seen.
        denied: we denied it, so that its error is no failure of the tool.
    """
    output = _text_of(block.content)
    status = _status_of(block, meta, detail, denied=denied)
    return ToolFinished(
        call_id=block.tool_use_id,
        status=status,
        output=output,
        exit_status=_exit_status(tool, status, output, detail),
    )


def _status_of(
    block: ContentBlock, meta: ResultMeta | None, detail: msgspec.Raw, *, denied: bool
) -> ToolStatus:
    if not block.is_error:
        return ToolStatus.OK
    decision = None if meta is None else meta.permission_decision
    if denied or (decision is not None and decision.decision == wire_texts.REJECTED_DECISION):
        return ToolStatus.DECLINED
    aborted = meta is not None and meta.non_execution_kind == wire_texts.ABORTED_KIND
    if aborted or (meta is None and bytes(detail) == _REJECTED_RESULT):
        return ToolStatus.ABORTED
    return ToolStatus.ERROR
