"""What the conformance kit must know of Codex. Paths as seen on 0.171.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec

from checkrein.adapters.codex.asked_kinds import asked_kinds
from checkrein.adapters.codex.launch import ASKING
from checkrein.adapters.codex.model_profile import PROFILE
from checkrein.adapters.kit_facts import InterruptSigns, KitFacts, Widening, WireFacts
from checkrein.scripted_models import NativeCall

#: how long exec_command waits before it leaves a command in the background, in ms; its shortest (0.171.0)
SHORTEST_WAIT_MS = 250


def persistent_grant(question: Mapping[str, object]) -> bytes:
    """Accept, with the amendment of the execution policy that Codex proposes: a rule in `rules/default.rules`."""
    parameters = cast("dict[str, object]", question["params"])
    amendment = {"execpolicy_amendment": parameters["proposedExecpolicyAmendment"]}
    decision = {"decision": {"acceptWithExecpolicyAmendment": amendment}}
    return msgspec.json.encode({"id": question["id"], "result": decision})


def background_call(command: str) -> NativeCall:
    """A command for which the model does not wait: a background terminal, as soon as it outlives the wait."""
    return NativeCall(name="exec_command", input={"cmd": command, "yield_time_ms": SHORTEST_WAIT_MS})


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
            '{"method":"item/started","params":{"item":{"type":"checkreinUnknown","id":"unknown-1"},"threadId":"-",'
            '"turnId":"-","startedAtMs":0}}',
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
    background_call=background_call,
    asked_kinds=asked_kinds,
    adapter_enforces=frozenset(
        {
            "interrupt.tool-running.quiet",  # the interrupted command lives on until its terminal is cleaned
            "approve.deny.message-reaches-model",  # a decline has no place for a message: it is steered in
            "approve.always.writes-nothing",  # the lasting grant that is offered writes a file of rules
            "approve.always.next-turn-asks",  # a grant lives as long as the process, which is renewed
            "record.usage.per-turn",  # tokens are a total of the conversation
        }
    ),
)
    acknowledges_steer=lambda sent, line: "method" not in line and line.get("id") == sent.get("id"),
