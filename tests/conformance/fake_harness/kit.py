"""What the kit must know of the fake harness."""

from __future__ import annotations

from checkrein.adapters.kit_facts import InterruptSigns, KitFacts
from checkrein.scripted_models import HarnessProfile, NativeCall, ToolMissing


class FakeTools:
    """It has a shell, and nothing else."""

    def shell(self, command: str) -> NativeCall:
        return NativeCall(name="sh", input={"command": command})

    def write_file(self, path: str, text: str) -> NativeCall:
        raise ToolMissing("tool that writes files")

    def edit_file(self, path: str, old: str, new: str) -> NativeCall:
        raise ToolMissing("tool that edits files")

    def read_file(self, path: str) -> NativeCall:
        raise ToolMissing("tool that reads files")


KIT = KitFacts(
    profile=HarnessProfile(dialect="anthropic-messages", toolset=FakeTools()),
    interrupt_signs=InterruptSigns(
        asks=lambda line: line.get("do") == "interrupt",
        acknowledges=lambda _asked, line: line.get("event") == "closed",
        ends_turn=lambda line: line.get("event") == "closed",
    ),
)
