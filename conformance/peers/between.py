"""A harness with a misbehaving peer in front of it, for `Arena.session(adapter=…)`."""

from __future__ import annotations

import sys
from dataclasses import replace

from checkrein.adapters.interface import HarnessAdapter, Launch, SessionSpec
from checkrein.adapters.wrapped import WrappedAdapter
from checkrein.conformance.peers.order import Order, encode_order


class PeerBetween(WrappedAdapter):
    """The harness's own adapter; the processes that it launches have a peer between driver and CLI.

    Args:
        adapter: the honest one.
        order: what the peer does.
        processes: how many processes get the peer, the first ones; the rest are the CLI alone.
    """

    def __init__(self, adapter: HarnessAdapter, order: Order, *, processes: int = 1) -> None:
        super().__init__(adapter)
        self._order = order
        self._left = processes

    def launch(self, spec: SessionSpec) -> Launch:
        launch = self._adapter.launch(spec)
        if self._left == 0:
            return launch
        self._left -= 1
        peer = (sys.executable, "-I", "-m", "checkrein.conformance.peers", encode_order(self._order), "--")
        return replace(launch, argv=(*peer, *launch.argv))
