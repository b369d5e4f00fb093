"""pi over `pi --mode rpc`; what holds natively and what is enforced here is in docs/harnesses/pi.md."""

from __future__ import annotations

from checkrein.adapters.interface import Connection, HarnessAdapter, Launch, SessionSpec
from checkrein.adapters.manifest import Manifest, load_manifest
from checkrein.adapters.pi.connection import PiConnection
from checkrein.adapters.pi.launch import launch
from checkrein.adapters.transport import HarnessProcess


class PiAdapter(HarnessAdapter):
    """The pi harness."""

    def __init__(self) -> None:
        self._manifest = load_manifest("checkrein.adapters.pi")

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


HARNESS: HarnessAdapter = PiAdapter()
