"""A peer that puts out, as lines of the harness, whatever the driver dictates: for questions that need a live turn."""

from __future__ import annotations

from checkrein.conformance.peers.relay import Misbehaviour

#: A line of the driver that begins with this is never passed on; the rest of it is put out as a line of the harness.
DICTATION = b"checkrein-dictation "


class Dictated(Misbehaviour):
    """Lines of the harness that it never wrote, whenever they are dictated; the answers to them stay here."""

    def from_driver(self, line: bytes) -> None:
        if line.startswith(DICTATION):
            self.relay.to_driver(line.removeprefix(DICTATION))
        elif not any(text.encode() in line for text in self.order.own_answers):
            super().from_driver(line)
