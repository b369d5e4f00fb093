"""Codex as a scripted model sees it: how its tools are called, which requests are which.

Holds for models with plain tools, such as `gpt-5.5` on 0.162.1 and 0.171.0; models of the gpt-6 family run JavaScript
in one tool instead. Codex keeps the history that it sent, to the byte, also after an interrupt; the one exception is a
compaction, which has a lane of its own. So there are no history rules beyond the dialect's.
"""

from __future__ import annotations

import shlex

import msgspec

from checkrein.scripted_models import HarnessProfile, Lane, NativeCall, ParsedRequest, default_classifier

DIALECT = "openai-responses"
#: how long exec_command waits before it leaves a command in the background, in ms; its longest
LONGEST_WAIT_MS = 30_000

#: `request_kind` of requests that are no part of a turn's conversation
_SIDE_KINDS = frozenset({"prewarm", "memory"})

#: `subagent_kind` of the agent that answers approvals in the person's place, with the reviewer `auto_review` (0.171.0)
_REVIEWER = "guardian"

_default = default_classifier(DIALECT)


class _Metadata(msgspec.Struct):
    """The header x-codex-turn-metadata, in part."""

    request_kind: str = "turn"
    agent_name: str = ""
    subagent_kind: str = ""
    thread_id: str = ""


class CodexTools:
    """The tools of Codex's plain models."""

    def shell(self, command: str) -> NativeCall:
        """Return the call that runs one shell line and waits for it, up to 30 s."""
        return NativeCall(name="exec_command", input={"cmd": command, "yield_time_ms": LONGEST_WAIT_MS})

    def write_file(self, path: str, text: str) -> NativeCall:
        """Return the patch that adds the file (0.171.0 replaces one that is there)."""
        added = "".join(f"+{line}\n" for line in text.split("\n")[: -1 if text.endswith("\n") else None])
        return _patch(f"*** Add File: {path}\n{added}")

    def edit_file(self, path: str, old: str, new: str) -> NativeCall:
        """Return the patch that replaces `old`, which must be whole lines, by `new`."""
        removed = "".join(f"-{line}\n" for line in old.rstrip("\n").split("\n"))
        added = "".join(f"+{line}\n" for line in new.rstrip("\n").split("\n"))
        return _patch(f"*** Update File: {path}\n@@\n{removed}{added}")

    def read_file(self, path: str) -> NativeCall:
        """Return the shell call that shows the file: Codex has no tool of its own for it."""
        return self.shell(f"cat -- {shlex.quote(path)}")


def _patch(body: str) -> NativeCall:
    return NativeCall(name="apply_patch", input=f"*** Begin Patch\n{body}*** End Patch\n", custom=True)


def classify(request: ParsedRequest) -> Lane:
    """Tell a request's lane by what Codex says of it in the header x-codex-turn-metadata, else by its shape."""
    try:
        told = msgspec.json.decode(request.headers.get("x-codex-turn-metadata", "{}"), type=_Metadata)
    except msgspec.DecodeError:
        return _default(request)
    if told.request_kind == "compaction":
        return Lane.COMPACT
    if told.request_kind in _SIDE_KINDS or told.subagent_kind == _REVIEWER:
        return Lane.SIDE
    if told.agent_name not in ("", "/root"):
        return Lane.agent(told.thread_id)
    return _default(request)


PROFILE = HarnessProfile(dialect=DIALECT, toolset=CodexTools(), classify=classify)
