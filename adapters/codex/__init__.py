"""Codex over `codex app-server`; what holds natively and what is enforced here is in docs/harnesses/codex.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from checkrein.adapters.codex.connection import CodexConnection
from checkrein.adapters.codex.launch import launch
from checkrein.adapters.interface import Connection, HarnessAdapter, Launch, SessionSpec
from checkrein.adapters.manifest import Manifest, load_manifest
from checkrein.adapters.transport import HarnessProcess
from checkrein.adapters.workspace import WorkspaceFinding, load_workspace_rules


class CodexAdapter(HarnessAdapter):
    """The Codex harness."""

    def __init__(self) -> None:
        self._manifest = load_manifest("checkrein.adapters.codex")
        self._rules = load_workspace_rules("checkrein.adapters.codex", self._manifest.name)

    @property
    def manifest(self) -> Manifest:
        """See `HarnessAdapter.manifest`."""
        return self._manifest

    def launch(self, spec: SessionSpec) -> Launch:
        """See `HarnessAdapter.launch`."""
        return launch(spec)

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        """See `HarnessAdapter.connect`."""
        return CodexConnection(spec, process)

    def workspace_findings(self, workspace: Path) -> Sequence[WorkspaceFinding]:
        """See `HarnessAdapter.workspace_findings`."""
        return self._rules.examine(workspace)


HARNESS: HarnessAdapter = CodexAdapter()
