"""What a scripted model must know of Claude Code: its dialect, and which of its tools do the neutral things.

Tools and inputs as in the requests of 2.1.296 and 2.1.332. Lanes are the dialect's own, which were made for Claude
Code: its sub-agents carry `cc_is_subagent=true`, its side requests no tools.
"""

from __future__ import annotations

from checkrein.scripted_models import (
    HarnessProfile,
    HistoryItem,
    ItemKind,
    NativeCall,
    default_history_rules,
)

DIALECT = "anthropic-messages"
_settled = default_history_rules(DIALECT)


class ClaudeCodeTools:
    """Claude Code's tools."""

    def shell(self, command: str) -> NativeCall:
        """Run one shell line and wait for it."""
        return NativeCall(name="Bash", input={"command": command, "description": "scripted"})

    def write_file(self, path: str, text: str) -> NativeCall:
        """Make the file `path` (absolute) hold `text`."""
        return NativeCall(name="Write", input={"file_path": path, "content": text})

    def edit_file(self, path: str, old: str, new: str) -> NativeCall:
        """Replace `old` by `new` in the file `path` (absolute)."""
        return NativeCall(name="Edit", input={"file_path": path, "old_string": old, "new_string": new})

    def read_file(self, path: str) -> NativeCall:
        """Show the file `path` (absolute) to the model."""
        return NativeCall(name="Read", input={"file_path": path})


def history_rules(history: tuple[HistoryItem, ...]) -> tuple[HistoryItem, ...]:
    """What Claude Code leaves as it is: everything but its own system messages, and what the dialect's rules allow.

    2.1.296 ends each request with a fresh `<total_tokens>` message; 2.1.332 moves its `# Environment` message behind
    the newest prompt when the request before it failed or was interrupted unanswered.
    """
    return _settled(tuple(item for item in history if item.kind is not ItemKind.SYSTEM))


PROFILE = HarnessProfile(dialect=DIALECT, toolset=ClaudeCodeTools(), history_rules=history_rules)
