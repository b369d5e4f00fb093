"""A harness with a misbehaving peer in front of it, for `Arena.session(adapter=…)`."""

from __future__ import annotations

import sys
from dataclasses import replace

from checkrein.adapters.interface import Connection, HarnessAdapter, Launch, SessionSpec
from checkrein.adapters.manifest import Manifest
from checkrein.adapters.transport import HarnessProcess
from checkrein.conformance.peers.order import Order, encode_order


class PeerBetween(HarnessAdapter):
    """The harness's own adapter; the processes that it launches have a peer between driver and CLI.

    Args:
        adapter: the honest one.
        order: what the peer does.
        processes: how many processes get the peer, the first ones; the rest are the CLI alone.
    """

    def __init__(self, adapter: HarnessAdapter, order: Order, *, processes: int = 1) -> None:
        self._adapter = adapter
        self._order = order
        self._left = processes

    @property
    def manifest(self) -> Manifest:
        return self._adapter.manifest

    def launch(self, spec: SessionSpec) -> Launch:
        launch = self._adapter.launch(spec)
        if self._left == 0:
            return launch
        self._left -= 1
        peer = (sys.executable, "-I", "-m", "checkrein.conformance.peers", encode_order(self._order), "--")
        return replace(launch, argv=(*peer, *launch.argv))

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        return self._adapter.connect(spec, process)
