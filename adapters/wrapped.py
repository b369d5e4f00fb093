"""An adapter around another one, for the conformance kit: what it does not override is the other's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from checkrein.adapters.interface import Connection, HarnessAdapter, Launch, SessionSpec
from checkrein.adapters.manifest import Manifest
from checkrein.adapters.transport import HarnessProcess
from checkrein.adapters.workspace import WorkspaceFinding


class WrappedAdapter(HarnessAdapter):
    """The adapter that is given, unchanged.

    Args:
        adapter: the honest one.
    """

    def __init__(self, adapter: HarnessAdapter) -> None:
        self._adapter = adapter

    @property
    def manifest(self) -> Manifest:
        """See `HarnessAdapter.manifest`."""
        return self._adapter.manifest

    def launch(self, spec: SessionSpec) -> Launch:
        """See `HarnessAdapter.launch`."""
        return self._adapter.launch(spec)

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        """See `HarnessAdapter.connect`."""
        return self._adapter.connect(spec, process)

    def workspace_findings(self, workspace: Path) -> Sequence[WorkspaceFinding] | None:
        """See `HarnessAdapter.workspace_findings`."""
        return self._adapter.workspace_findings(workspace)
