"""What the conformance kit must know of any agent that speaks ACP; what is the agent's own is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from checkrein.adapters.acp.asked_kinds import asked_kinds
from checkrein.adapters.kit_facts import InterruptSigns, KitFacts, Widening, WireFacts, WireMessage
from checkrein.adapters.open_recipe import OpenRecipe
from checkrein.scripted_models import HarnessProfile, NativeCall

#: What holds on any agent only by the adapter's help.
ADAPTER_ENFORCES = frozenset(
    {
        "approve.deny.message-reaches-model",  # an answer has no place for a message: it is steered in
        "approve.always.same-call-not-asked",  # the driver remembers, the agent is told `allow_once`
        "approve.always.not-wider",
        "approve.always.writes-nothing",
        "approve.always.next-turn-asks",
        "approve.always.resume-asks",
    }
)


def acp_kit_facts(
    *,
    profile: HarnessProfile,
    transcripts: tuple[str, ...],
    state: tuple[str, ...],
    background_call: Callable[[str], NativeCall],
    brief_call: Callable[[str, int], NativeCall],
    widening: Widening,
    persistent_grant: Callable[[Mapping[str, object]], bytes] | None = None,
    open_recipes: Mapping[str, OpenRecipe] | None = None,
    adapter_enforces: frozenset[str] = frozenset(),
) -> KitFacts:
    """The facts of one agent. The arguments are those of `KitFacts`.

    Args:
        adapter_enforces: clauses besides those that the adapter enforces on every agent.
    """
    return KitFacts(
        profile=profile,
        transcripts=transcripts,
        state=state,
        persistent_grant=persistent_grant,
        widening=widening,
        wire=WireFacts(
            ends_turn=('"stopReason":',),
            unknown=(
                '{"jsonrpc":"2.0","method":"_checkrein/unknown","params":{"text":"PADDING"}}',
                '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"checkrein_unknown"}}}',
                '{"jsonrpc":"2.0","id":"checkrein-unknown","result":{"text":"nobody asked"}}',
                '{"jsonrpc":"2.0","checkrein":"neither a call nor an answer"}',
            ),
            objects=("params", "result", "update", "content", "toolCall", "options", "usage", "modes"),
        ),
        interrupt_signs=InterruptSigns(
            asks=lambda line: line.get("method") == "session/cancel",
            acknowledges=lambda _, line: _ends_turn(line),
            ends_turn=_ends_turn,
        ),
        acknowledges_steer=lambda sent, line: "method" not in line and line.get("id") == sent.get("id"),
        background_call=background_call,
        brief_call=brief_call,
        asked_kinds=asked_kinds,
        unknown_prompt=unknown_prompt,
        open_recipes=open_recipes or {},
        adapter_enforces=ADAPTER_ENFORCES | adapter_enforces,
    )


def unknown_prompt(session_id: str) -> bytes:
    """A prompt that no session has sent."""
    prompt = [{"type": "text", "text": "Nobody has asked for this."}]
    params = {"sessionId": session_id, "prompt": prompt}
    return msgspec.json.encode(
        {"jsonrpc": "2.0", "id": "unknown", "method": "session/prompt", "params": params}
    )


def _ends_turn(line: WireMessage) -> bool:
    result = line.get("result")
    return isinstance(result, dict) and "stopReason" in result
