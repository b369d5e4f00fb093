"""What the conformance kit must know of the reference agent."""

from __future__ import annotations

from pathlib import Path

from checkrein.adapters.acp.kit import acp_kit_facts
from checkrein.adapters.kit_facts import Widening
from checkrein.adapters.open_recipe import OpenRecipe
from checkrein.scripted_models import HarnessProfile, NativeCall

#: The honest agent, and the one that trusts the workspace.
HONEST, TRUSTING = (str(Path(__file__).with_name(name)) for name in ("agent.py", "trusting.py"))


class ReferenceTools:
    """The agent's tools, see `tools.py`."""

    def shell(self, command: str) -> NativeCall:
        """Return the call that runs one shell line and waits for it."""
        return NativeCall(name="shell", input={"command": command})

    def write_file(self, path: str, text: str) -> NativeCall:
        """Return the call that writes the file, new or not."""
        return NativeCall(name="write_file", input={"path": path, "text": text})

    def edit_file(self, path: str, old: str, new: str) -> NativeCall:
        """Return the call that replaces `old`, which must be there once, by `new`."""
        return NativeCall(name="edit_file", input={"path": path, "old": old, "new": new})

    def read_file(self, path: str) -> NativeCall:
        """Return the call that shows the file."""
        return NativeCall(name="read_file", input={"path": path})


def background_call(command: str) -> NativeCall:
    """A command that outlives its call: the agent itself knows no background jobs."""
    return NativeCall(name="shell", input={"command": f"{command} </dev/null >/dev/null 2>&1 &"})


def brief_call(command: str, seconds: int) -> NativeCall:
    """A command that is killed when its time is over."""
    return NativeCall(name="shell", input={"command": command, "timeout_seconds": seconds})


KIT = acp_kit_facts(
    profile=HarnessProfile(dialect="openai-chat", toolset=ReferenceTools()),
    transcripts=(".reference-agent/sessions/*",),
    state=("tmp/*",),
    background_call=background_call,
    brief_call=brief_call,
    widening=Widening(argv={"ask": "auto"}),
    open_recipes={"usual": OpenRecipe(words={HONEST: TRUSTING})},
)
