"""Toolsets and profiles like the real ones, and requests as the harnesses send them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import httpx2

from checkrein.scripted_models import HarnessProfile, ModelSession, NativeCall
from checkrein.scripted_models.openai_chat.events import DONE

Json = dict[str, object]


class ClaudeCodeTools:
    """The tools of Claude Code 2.1.332."""

    def shell(self, command: str) -> NativeCall:
        return NativeCall(name="Bash", input={"command": command, "description": "run it"})

    def write_file(self, path: str, text: str) -> NativeCall:
        return NativeCall(name="Write", input={"file_path": path, "content": text})

    def edit_file(self, path: str, old: str, new: str) -> NativeCall:
        return NativeCall(name="Edit", input={"file_path": path, "old_string": old, "new_string": new})

    def read_file(self, path: str) -> NativeCall:
        return NativeCall(name="Read", input={"file_path": path})


class CodexTools:
    """The tools of Codex 0.171.0 with the model gpt-5.5."""

    def shell(self, command: str) -> NativeCall:
        return NativeCall(name="exec_command", input={"cmd": command, "yield_time_ms": 30000})

    def write_file(self, path: str, text: str) -> NativeCall:
        added = "\n".join(f"+{line}" for line in text.splitlines())
        return self._patch(f"*** Add File: {path}\n{added}")

    def edit_file(self, path: str, old: str, new: str) -> NativeCall:
        lines = [*(f"-{line}" for line in old.splitlines()), *(f"+{line}" for line in new.splitlines())]
        changed = "\n".join(lines)
        return self._patch(f"*** Update File: {path}\n@@\n{changed}")

    def read_file(self, path: str) -> NativeCall:
        return self.shell(f"cat {path}")

    def _patch(self, body: str) -> NativeCall:
        return NativeCall(name="apply_patch", input=f"*** Begin Patch\n{body}\n*** End Patch", custom=True)


class PiTools:
    """The tools of pi 1.6.0."""

    def shell(self, command: str) -> NativeCall:
        return NativeCall(name="bash", input={"command": command})

    def write_file(self, path: str, text: str) -> NativeCall:
        return NativeCall(name="write", input={"path": path, "content": text})

    def edit_file(self, path: str, old: str, new: str) -> NativeCall:
        return NativeCall(name="edit", input={"path": path, "edits": [{"oldText": old, "newText": new}]})

    def read_file(self, path: str) -> NativeCall:
        return NativeCall(name="read", input={"path": path})


ANTHROPIC = HarnessProfile(dialect="anthropic-messages", toolset=ClaudeCodeTools())
RESPONSES = HarnessProfile(dialect="openai-responses", toolset=CodexTools())
CHAT = HarnessProfile(dialect="openai-chat", toolset=PiTools())
PROFILES = {profile.dialect: profile for profile in (ANTHROPIC, RESPONSES, CHAT)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """How to talk to one dialect by hand."""

    profile: HarnessProfile
    path: str

    def url(self, session: ModelSession) -> str:
        """The address of the model in a session."""
        return session.base_url + self.path

    def body(self, *history: Json, stream: bool = True, tools: bool = True, **more: object) -> Json:
        """A request with this history."""
        listed: list[Json] = [{"name": "Bash"}] if tools else []
        if self.profile is ANTHROPIC:
            return {
                "model": "m",
                "max_tokens": 9,
                "stream": stream,
                "tools": listed,
                "messages": list(history),
                **more,
            }
        if self.profile is CHAT:
            options: Json = {"stream_options": {"include_usage": True}} if stream else {}
            said: Json = {"model": "m", "stream": stream, "messages": list(history), **options}
            return {**said, "tools": listed, **more} if tools else {**said, **more}
        return {"model": "m", "stream": stream, "tools": listed, "input": list(history), **more}

    def user(self, text: str) -> Json:
        """A user message."""
        kind = "input_text" if self.profile is RESPONSES else "text"
        return {"role": "user", "content": [{"type": kind, "text": text}]}

    def assistant(self, text: str) -> Json:
        """An assistant message."""
        kind = "output_text" if self.profile is RESPONSES else "text"
        return {"role": "assistant", "content": [{"type": kind, "text": text}]}

    def call(self, id: str, name: str = "Bash") -> Json:
        """A tool call in the history."""
        if self.profile is ANTHROPIC:
            block = {"type": "tool_use", "id": id, "name": name, "input": {"command": "ls"}}
            return {"role": "assistant", "content": [block]}
        if self.profile is CHAT:
            function = {"name": name, "arguments": '{"command":"ls"}'}
            call = {"id": id, "type": "function", "function": function}
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        return {"type": "function_call", "call_id": id, "name": name, "arguments": '{"cmd":"ls"}'}

    def result(self, id: str, text: str, *, error: bool = False) -> Json:
        """A tool result in the history; only Messages has an error mark."""
        if self.profile is ANTHROPIC:
            block: Json = {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": error}
            return {"role": "user", "content": [block]}
        if self.profile is CHAT:
            return {"role": "tool", "tool_call_id": id, "content": text}
        return {"type": "function_call_output", "call_id": id, "output": text}


WIRES = {
    "anthropic-messages": Wire(profile=ANTHROPIC, path="/v1/messages?beta=true"),
    "openai-responses": Wire(profile=RESPONSES, path="/v1/responses"),
    "openai-chat": Wire(profile=CHAT, path="/v1/chat/completions"),
}


def events_of(body: str) -> list[Json]:
    """The events of an event stream, each checked to carry its own name if it has one."""
    events: list[Json] = []
    for block in body.removesuffix("\n\n").split("\n\n"):
        *name, data = block.split("\n")
        text = data.removeprefix("data: ")
        event: Json = dict(DONE) if text == "[DONE]" else json.loads(text)
        assert name == ([f"event: {event['type']}"] if "type" in event else [])
        events.append(event)
    return events


async def ask(session: ModelSession, wire: Wire, *history: Json, **more: object) -> httpx2.Response:
    """Send one request and read the whole answer."""
    stream, tools = more.pop("stream", True), more.pop("tools", True)
    body = wire.body(*history, stream=bool(stream), tools=bool(tools), **more)
    async with httpx2.AsyncClient(timeout=20, trust_env=False) as client:
        return await client.post(wire.url(session), json=body, headers={"x-api-key": "secret-key"})


def kinds(violations: Sequence[object]) -> list[str]:
    """The kinds of these violations."""
    return [str(getattr(violation, "kind", "")) for violation in violations]
