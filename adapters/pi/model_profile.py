"""pi as a scripted model sees it: how its tools are called, which requests are which.

pi 1.3.0 and 1.6.0 send their tools with every request of a turn, whatever the dialect. They keep the history that they
sent, but for what a compaction replaces.
"""

from __future__ import annotations

from checkrein.adapters.pi.launch import DEFAULT_DIALECT
from checkrein.scripted_models import HarnessProfile, NativeCall, ParsedRequest
from checkrein.scripted_models.json_reading import as_text


class PiTools:
    """pi's own tools."""

    def shell(self, command: str) -> NativeCall:
        """Return the call that runs one shell line and waits for it, however long it takes."""
        return NativeCall(name="bash", input={"command": command})

    def write_file(self, path: str, text: str) -> NativeCall:
        """Return the call that writes the file, new or not."""
        return NativeCall(name="write", input={"path": path, "content": text})

    def edit_file(self, path: str, old: str, new: str) -> NativeCall:
        """Return the call that replaces `old`, which must be there once, by `new`."""
        return NativeCall(name="edit", input={"path": path, "edits": [{"oldText": old, "newText": new}]})

    def read_file(self, path: str) -> NativeCall:
        """Return the call that shows the file."""
        return NativeCall(name="read", input={"path": path})


def conversation(request: ParsedRequest) -> str:
    """Return pi's session id: a header with Chat Completions and Messages, the cache's key with Responses."""
    return request.headers.get("x-session-affinity", "") or as_text(request.body.get("prompt_cache_key"))


PROFILE = HarnessProfile(dialect=DEFAULT_DIALECT, toolset=PiTools(), conversation=conversation)
