"""Codex over `codex app-server`; what holds natively and what is enforced here is in docs/harnesses/codex.md."""

from __future__ import annotations

from checkrein.adapters.codex.connection import CodexConnection
from checkrein.adapters.codex.launch import launch
from checkrein.adapters.interface import Connection, HarnessAdapter, Launch, SessionSpec
from checkrein.adapters.manifest import Manifest, load_manifest
from checkrein.adapters.transport import HarnessProcess


class CodexAdapter(HarnessAdapter):
    """The Codex harness."""

    def __init__(self) -> None:
        self._manifest = load_manifest("checkrein.adapters.codex")

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


HARNESS: HarnessAdapter = CodexAdapter()
