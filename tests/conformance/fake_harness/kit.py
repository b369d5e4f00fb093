"""What the kit must know of the fake harness."""

from __future__ import annotations

from collections.abc import Mapping

from checkrein.adapters.kit_facts import InterruptSigns, KitFacts, Widening, WireFacts
from checkrein.scripted_models import HarnessProfile, NativeCall


class FakeTools:
    """It has a shell, and nothing else."""

    def shell(self, command: str) -> NativeCall:
        return NativeCall(name="sh", input={"command": command})

    def write_file(self, path: str, text: str) -> NativeCall:
        raise NotImplementedError

    def edit_file(self, path: str, old: str, new: str) -> NativeCall:
        raise NotImplementedError

    def read_file(self, path: str) -> NativeCall:
        raise NotImplementedError


def _no_grant(_: Mapping[str, object]) -> bytes:
    raise NotImplementedError


KIT = KitFacts(
    profile=HarnessProfile(dialect="anthropic-messages", toolset=FakeTools()),
    transcripts=(),
    state=(),
    persistent_grant=_no_grant,
    widening=Widening(),
    wire=WireFacts(ends_turn=('"event": "closed"',), unknown=(), objects=()),
    interrupt_signs=InterruptSigns(
        asks=lambda line: line.get("do") == "interrupt",
        acknowledges=lambda _asked, line: line.get("event") == "closed",
        ends_turn=lambda line: line.get("event") == "closed",
    ),
    acknowledges_steer=lambda sent, line: (line.get("event"), line.get("id")) == ("steered", sent.get("id")),
    background_call=lambda command: NativeCall(name="sh", input={"command": f"{command} &"}),
    brief_call=lambda command, seconds: NativeCall(name="sh", input={"command": command, "seconds": seconds}),
    asked_kinds=lambda _: (),
    unknown_prompt=lambda _: b"",
)
