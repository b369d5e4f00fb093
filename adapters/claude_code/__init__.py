"""Claude Code, over `claude -p` with stream-json on both sides.

Observed on 2.1.296 and 2.1.332; the facts stand beside the code that rests on them.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

from checkrein.adapters.claude_code.connection import ClaudeCodeConnection
from checkrein.adapters.claude_code.launch import launch_of
from checkrein.adapters.interface import Connection, HarnessAdapter, Launch, Origin, SessionSpec
from checkrein.adapters.manifest import Manifest, load_manifest
from checkrein.adapters.transport import HarnessProcess
from checkrein.adapters.workspace import WorkspaceFinding, load_workspace_rules

__all__ = ["HARNESS", "ClaudeCode"]


class ClaudeCode(HarnessAdapter):
    """The adapter of Claude Code."""

    def __init__(self) -> None:
        self._manifest = load_manifest(__name__)
        self._rules = load_workspace_rules(__name__, self._manifest.name)
        # Claude Code takes a fork's new id on its command line and does not state it before the first turn, so it is
        # made at launch and kept until the process is spoken with. By identity: two forks may have equal specs.
        self._forks: dict[int, tuple[SessionSpec, str]] = {}

    @property
    def manifest(self) -> Manifest:
        """What Claude Code can do through this adapter."""
        return self._manifest

    def launch(self, spec: SessionSpec) -> Launch:
        """The command line and environment for that spec."""
        if spec.origin is not Origin.FORK:
            return launch_of(spec, spec.session_id)
        new_id = str(uuid.uuid4())
        launch = launch_of(spec, new_id)
        self._forks[id(spec)] = (spec, new_id)
        return launch

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        """Speak with a process that was launched for that spec."""
        session_id = self._forks.pop(id(spec))[1] if spec.origin is Origin.FORK else spec.session_id
        return ClaudeCodeConnection(spec, process, session_id)

    def workspace_findings(self, workspace: Path) -> Sequence[WorkspaceFinding]:
        """What of a tree would take effect with an ordinary launch of Claude Code."""
        return self._rules.examine(workspace)


HARNESS = ClaudeCode()
