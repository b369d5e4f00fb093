"""Misbehaving once, at a moment of the conversation."""

from __future__ import annotations

from checkrein.conformance.peers.order import Order, Way
from checkrein.conformance.peers.relay import Misbehaviour, Relay


class Once(Misbehaviour):
    """Something that happens once, at the moment of the order."""

    def __init__(self, order: Order, relay: Relay) -> None:
        super().__init__(order, relay)
        self.happened = False

    def from_driver(self, line: bytes) -> None:
        if self._is_now("to_harness", line):
            self.now(line)
        else:
            super().from_driver(line)

    def from_harness(self, line: bytes) -> None:
        if self._is_now("from_harness", line):
            self.now(line)
        else:
            super().from_harness(line)

    def _is_now(self, way: Way, line: bytes) -> bool:
        if self.happened or self.order.at is None or not self.order.at.is_now(way, line):
            return False
        self.happened = True
        return True

    def now(self, line: bytes) -> None:
        """The moment has come, with that line, which is still to be passed on."""

    def pass_on(self, line: bytes) -> None:
        """Pass the line of the moment on."""
        assert self.order.at is not None
        if self.order.at.way == "to_harness":
            self.relay.to_harness(line)
        else:
            self.relay.to_driver(line)
