"""Words and texts of Claude Code that decide something here; one table each, with the versions in which they were seen.

Seen on 2.1.296 and 2.1.332 unless a line says otherwise.
"""

from __future__ import annotations

import re
from types import MappingProxyType

#: `result.terminal_reason` of a turn that was stopped. It decides, never `subtype`: a message of priority `now` stops
#: a turn with subtype `success`.
INTERRUPTED_REASONS = frozenset({"aborted_streaming", "aborted_tools"})

#: `result.terminal_reason` of a turn that ran to its end, provided that `is_error` is false.
COMPLETED_REASON = "completed"

#: On standard error, and in `errors` of a zeroed `result`, before the process exits with 1.
NO_CONVERSATION = "No conversation found with session ID"

#: On standard error before the process exits with 1: `--session-id` names a conversation that is on disk.
SESSION_IN_USE = "is already in use"

#: The permission mode has two names: the help text of 2.1.332 says `manual`, its messages say `default`.
PERMISSION_MODES = MappingProxyType({"manual": "default"})

#: How the result of a shell command with another exit status than 0 begins.
EXIT_CODE = re.compile(r"\AExit code (\d+)(?:\n|\Z)")

#: `tool_use_result` of a call that an interrupt ended, or that a deny with `interrupt:true` refused.
REJECTED_RESULT = "User rejected tool use"

#: `tool_result_meta[].non_execution_kind` of a call that an interrupt ended. A denied call has `permission-rule` and
#: `permission_decision.decision` `reject` instead.
ABORTED_KIND = "user-rejected"
REJECTED_DECISION = "reject"
