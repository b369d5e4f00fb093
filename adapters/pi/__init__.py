"""pi over `pi --mode rpc`; what holds natively and what is enforced here is in docs/harnesses/pi.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from checkrein.adapters.interface import Connection, HarnessAdapter, Launch, SessionSpec
from checkrein.adapters.manifest import Manifest, load_manifest
from checkrein.adapters.pi.connection import PiConnection
from checkrein.adapters.pi.launch import launch
from checkrein.adapters.transport import HarnessProcess
from checkrein.adapters.workspace import WorkspaceFinding, load_workspace_rules


class PiAdapter(HarnessAdapter):
    """The pi harness."""

    def __init__(self) -> None:
        self._manifest = load_manifest(__name__)
        self._rules = load_workspace_rules(__name__, self._manifest.name)

    @property
    def manifest(self) -> Manifest:
        """See `HarnessAdapter.manifest`."""
        return self._manifest

    def launch(self, spec: SessionSpec) -> Launch:
        """See `HarnessAdapter.launch`."""
        return launch(spec)

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        """See `HarnessAdapter.connect`."""
        return PiConnection(spec, process)

    def workspace_findings(self, workspace: Path) -> Sequence[WorkspaceFinding]:
        """See `HarnessAdapter.workspace_findings`."""
        return self._rules.examine(workspace)


HARNESS: HarnessAdapter = PiAdapter()
