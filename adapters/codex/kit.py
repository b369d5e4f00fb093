"""What the conformance kit must know of Codex. Paths as seen on 0.171.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec

from checkrein.adapters.codex.asked_kinds import asked_kinds
from checkrein.adapters.codex.launch import ASKING, REVIEWER, SANDBOX
from checkrein.adapters.codex.model_profile import PROFILE
from checkrein.adapters.kit_facts import InterruptSigns, KitFacts, Widening, WireFacts
from checkrein.adapters.open_recipe import OpenRecipe
from checkrein.scripted_models import NativeCall

#: how long exec_command waits before it leaves a command in the background, in ms; its shortest (0.171.0)
SHORTEST_WAIT_MS = 250


def persistent_grant(question: Mapping[str, object]) -> bytes:
    """Accept, with the amendment of the execution policy that Codex proposes: a rule in `rules/default.rules`."""
    parameters = cast("dict[str, object]", question["params"])
    amendment = {"execpolicy_amendment": parameters["proposedExecpolicyAmendment"]}
    decision = {"decision": {"acceptWithExecpolicyAmendment": amendment}}
    return msgspec.json.encode({"id": question["id"], "result": decision})


def brief_call(command: str, seconds: int) -> NativeCall:
    """A command that becomes a background terminal when its time is over."""
    return NativeCall(name="exec_command", input={"cmd": command, "yield_time_ms": seconds * 1000})


def background_call(command: str) -> NativeCall:
    """A command for which the model does not wait: a background terminal, as soon as it outlives the wait."""
    return NativeCall(name="exec_command", input={"cmd": command, "yield_time_ms": SHORTEST_WAIT_MS})


def unknown_prompt(session_id: str) -> bytes:
    """A prompt under an id that no session has given."""
    content = [{"type": "text", "text": "Nobody has asked for this."}]
    return msgspec.json.encode(
        {"id": "unknown", "method": "turn/start", "params": {"threadId": session_id, "input": content}}
    )


#: Without a trust level `thread/start` writes that the workspace is trusted.
TRUSTING = {
    rb'"projects":\{[^{}]*\{[^{}]*\}\},?': b"",
    rb'"skills.include_instructions":false': b"",
    f'"approvalsReviewer":"{REVIEWER}",'.encode(): b"",
}

#: Goals are on by themselves.
GOALS = {"features.goals=false": "features.goals=true"}

ON_REQUEST = {
    f'"approvalPolicy":"{ASKING}"'.encode(): b'"approvalPolicy":"on-request"',
    f'"sandbox":"{SANDBOX}"'.encode(): b'"sandbox":"workspace-write"',
}

#: The temporary directories, which that sandbox leaves writable, are taken out: a workspace under test may lie there.
WITHOUT_TEMPORARY = {
    rb'"config":\{': b'"config":{"sandbox_workspace_write.exclude_slash_tmp":true,'
    b'"sandbox_workspace_write.exclude_tmpdir_env_var":true',
}

KIT = KitFacts(
    profile=PROFILE,
    transcripts=(".codex/sessions/*", ".codex/thread_history_*.sqlite*"),
    state=(
        ".codex/state_*.sqlite*",  # the list of threads
        ".codex/logs_*.sqlite*",  # the log
        ".codex/goals_*.sqlite*",
        ".codex/memories_*.sqlite*",
        ".codex/queue_*.sqlite*",
        ".codex/thread-writer-locks*",
        ".codex/shell_snapshots*",
        ".codex/tmp/*",  # links to the program, while the process runs
        "tmp/*",
    ),
    persistent_grant=persistent_grant,
    wire=WireFacts(
        ends_turn=('"method":"turn/completed"',),
        unknown=(
            '{"method":"checkrein/unknown","params":{"text":"PADDING"}}',
            '{"method":"item/started","params":{"item":{"type":"checkreinUnknown","id":"-"},"threadId":"-","turnId":"-"}}',
            '{"id":"checkrein-unknown-call","result":{"text":"nobody asked"}}',
            '{"checkrein":"neither a call nor an answer"}',
        ),
        objects=("params", "result", "thread", "turn", "item", "items", "tokenUsage", "status"),
    ),
    widening=Widening(lines={f'"approvalPolicy":"{ASKING}"'.encode(): b'"approvalPolicy":"on-request"'}),
    interrupt_signs=InterruptSigns(
        asks=lambda line: line.get("method") == "turn/interrupt",
        acknowledges=lambda asked, line: "method" not in line and line.get("id") == asked["id"],
        ends_turn=lambda line: line.get("method") == "turn/completed",
    ),
    acknowledges_steer=lambda sent, line: "method" not in line and line.get("id") == sent.get("id"),
    background_call=background_call,
    brief_call=brief_call,
    asked_kinds=asked_kinds,
    unknown_prompt=unknown_prompt,
    open_recipes={
        "usual": OpenRecipe(words=GOALS, lines=TRUSTING),
        "on-request": OpenRecipe(words=GOALS, lines=TRUSTING | ON_REQUEST),
        "sandboxed": OpenRecipe(words=GOALS, lines=TRUSTING | ON_REQUEST | WITHOUT_TEMPORARY),
    },
    adapter_enforces=frozenset(
        {
            "interrupt.before-request.quiet",  # refused before turn/started: waited for, and tried again
            "interrupt.tool-running.quiet",  # the interrupted command lives on until its terminal is cleaned
            "interrupt.steer-queued.quiet",  # as above
            "approve.deny.message-reaches-model",  # a decline has no place for a message: it is steered in
            "approve.always.writes-nothing",  # the lasting grant that is offered writes a file of rules
            "approve.always.next-turn-asks",  # a grant lives as long as the process, which is renewed
            "record.usage.per-turn",  # tokens are a total of the conversation
            "workspace.cannot-answer",  # an ordinary launch trusts the workspace
            "workspace.cannot-rewrite",  # as above
            "workspace.cannot-run-at-start",  # as above
            "workspace.cannot-widen",  # as above
            "workspace.cannot-redirect",  # as above
            "workspace.cannot-start-a-turn",  # what opens turns later is switched off
            "workspace.unasked-commands-are-inert",  # every command asks
        }
    ),
)
