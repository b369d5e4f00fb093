"""What the conformance kit must know of Claude Code. Paths as seen on 2.1.332."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import cast

import msgspec

from checkrein.adapters.claude_code.asked_kinds import asked_kinds
from checkrein.adapters.claude_code.launch import PERMISSION_MODE
from checkrein.adapters.claude_code.model_profile import PROFILE
from checkrein.adapters.kit_facts import InterruptSigns, KitFacts, Widening, WireFacts
from checkrein.adapters.open_recipe import OpenRecipe
from checkrein.scripted_models import NativeCall


def persistent_grant(question: Mapping[str, object]) -> bytes:
    """Allow, with an exact rule for `localSettings`: a file in the workspace that later sessions obey."""
    request = cast("dict[str, object]", question["request"])
    call = cast("dict[str, object]", request["input"])
    rule = {"toolName": request["tool_name"], "ruleContent": call["command"]}
    grant = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"}
    answer = {"behavior": "allow", "updatedInput": call, "updatedPermissions": [grant]}
    response = {"subtype": "success", "request_id": question["request_id"], "response": answer}
    return msgspec.json.encode({"type": "control_response", "response": response})


def brief_call(command: str, seconds: int) -> NativeCall:
    """A command that is moved to the background when its time is over."""
    call = {"command": command, "description": "scripted", "timeout": seconds * 1000}
    return NativeCall(name="Bash", input=call)


def background_call(command: str) -> NativeCall:
    """A command for which the model does not wait."""
    call = {"command": command, "description": "scripted", "run_in_background": True}
    return NativeCall(name="Bash", input=call)


def _asks_to_stop(line: Mapping[str, object]) -> bool:
    request = line.get("request")
    return isinstance(request, dict) and cast("dict[str, object]", request).get("subtype") == "interrupt"


def _acknowledges(asked: Mapping[str, object], line: Mapping[str, object]) -> bool:
    response = line.get("response")
    return (
        isinstance(response, dict)
        and cast("dict[str, object]", response).get("request_id") == asked["request_id"]
    )


def unknown_prompt(session_id: str) -> bytes:
    """A message of the user with an id that no session has given."""
    message = {"role": "user", "content": "Nobody has asked for this."}
    return msgspec.json.encode(
        {
            "type": "user",
            "uuid": str(uuid.uuid4()),
            "message": message,
            "parent_tool_use_id": None,
            "session_id": session_id,
        }
    )


KIT = KitFacts(
    profile=PROFILE,
    transcripts=(".claude/projects/*",),
    state=(
        ".claude/.claude.json*",  # rewritten at any time: start times, use of plugins; grants of old versions
        ".claude/backups/*",  # of that file
        ".claude/sessions/*",  # one file per process, while it runs
        ".claude/session-env*",  # an empty folder per conversation that ran a command
        ".claude/shell-snapshots*",  # the shell's functions, while the process runs
        "tmp/*",  # the temporary folder of the process: sockets, output of commands
    ),
    persistent_grant=persistent_grant,
    wire=WireFacts(
        ends_turn=('"type":"result"', '"duration_api_ms"'),
        unknown=(
            '{"type":"checkrein_unknown","text":"PADDING","session_id":"-","uuid":"-"}',
            '{"type":"system","subtype":"checkrein_unknown","session_id":"-","uuid":"-"}',
            '{"type":"stream_event","event":{"type":"checkrein_unknown"},"session_id":"-","parent_tool_use_id":null}',
            '{"type":"command_lifecycle","command_uuid":"-","state":"checkrein_unknown"}',
            '{"type":"assistant","message":{"role":"assistant","content":[{"type":"checkrein_unknown"}]}}',
            '{"type":"control_response","response":{"subtype":"checkrein_unknown","request_id":"nobody asked"}}',
        ),
        objects=("message", "content", "event", "delta", "response", "request", "usage"),
    ),
    widening=Widening(argv={PERMISSION_MODE: "acceptEdits"}),
    interrupt_signs=InterruptSigns(
        asks=_asks_to_stop,
        acknowledges=_acknowledges,
        ends_turn=lambda line: line.get("type") == "result",
    ),
    acknowledges_steer=lambda sent, line: (
        (line.get("type"), line.get("command_uuid"), line.get("state"))
        == ("command_lifecycle", sent.get("uuid"), "queued")
    ),
    background_call=background_call,
    brief_call=brief_call,
    asked_kinds=asked_kinds,
    unknown_prompt=unknown_prompt,
    open_recipes={
        "usual": OpenRecipe(
            options=frozenset({"--setting-sources", "--settings", "--disallowedTools"}),
            flags=frozenset({"--strict-mcp-config"}),
            variables=frozenset({"CLAUDE_CODE_DISABLE_CRON"}),
        )
    },
    adapter_enforces=frozenset(
        {
            "interrupt.steer-queued.quiet",  # what is queued runs as the next turn unless `cancel_queued` is asked for
            "interrupt.queued-steers.not-run",  # as above
            "steer.payload.verbatim",  # a text that begins with `/` is a command of its own
            "approve.always.not-wider",  # the suggestions hold `acceptEdits` and whole directories
            "approve.always.writes-nothing",  # the suggested destination is a file in the workspace
            "approve.always.next-turn-asks",  # a rule lives as long as the process, which is renewed
            "record.usage.per-turn",  # cost is a total over the turns
            "workspace.cannot-answer",  # an ordinary launch reads the workspace's settings
            "workspace.cannot-rewrite",  # as above
            "workspace.cannot-run-at-start",  # as above
            "workspace.cannot-widen",  # as above
            "workspace.cannot-redirect",  # as above
            "workspace.cannot-start-a-turn",  # what opens turns later is switched off
            "workspace.unasked-commands-are-inert",  # git asks
        }
    ),
)
