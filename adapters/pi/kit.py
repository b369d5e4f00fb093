"""What the conformance kit must know of pi. Paths as seen on 1.6.0."""

from __future__ import annotations

import msgspec

from checkrein.adapters.kit_facts import InterruptSigns, KitFacts, Widening, WireFacts, WireMessage
from checkrein.adapters.open_recipe import OpenRecipe
from checkrein.adapters.pi.asked_kinds import asked_kinds
from checkrein.adapters.pi.launch import DISCOVERING_NOTHING, NOT_TRUSTING, TRUSTING
from checkrein.adapters.pi.model_profile import PROFILE
from checkrein.scripted_models import NativeCall


def brief_call(command: str, seconds: int) -> NativeCall:
    """A command that is killed when its time is over."""
    return NativeCall(name="bash", input={"command": command, "timeout": seconds})


def background_call(command: str) -> NativeCall:
    """A command that outlives its call: pi itself knows no background jobs."""
    return NativeCall(name="bash", input={"command": f"{command} </dev/null >/dev/null 2>&1 &"})


def unknown_prompt(session_id: str) -> bytes:
    """A prompt under an id that no session has given; pi holds one conversation, which it does not name here."""
    return msgspec.json.encode({"id": "unknown", "type": "prompt", "message": "Nobody has asked for this."})


def _answers(asked: WireMessage, line: WireMessage) -> bool:
    return line.get("type") == "response" and line.get("id") == asked.get("id")


KIT = KitFacts(
    profile=PROFILE,
    transcripts=(".pi/checkrein/sessions/*",),
    state=("tmp/*",),
    persistent_grant=None,
    wire=WireFacts(
        ends_turn=('"type":"agent_settled"',),
        unknown=(
            '{"type":"checkrein_unknown","text":"PADDING"}',
            '{"type":"message_update","assistantMessageEvent":{"type":"checkrein_unknown"}}',
            '{"type":"message_start","message":{"role":"checkrein_unknown","content":[]}}',
            '{"type":"message_end","message":{"role":"checkrein_unknown","content":[{"type":"checkrein_unknown"}]}}',
            '{"type":"response","id":"checkrein-unknown","command":"checkrein_unknown","success":true}',
        ),
        objects=("message", "data", "model", "usage", "cost", "assistantMessageEvent", "result"),
    ),
    interrupt_signs=InterruptSigns(
        asks=lambda line: line.get("type") == "abort",
        acknowledges=_answers,
        ends_turn=lambda line: line.get("type") == "agent_settled",
    ),
    acknowledges_steer=_answers,
    background_call=background_call,
    brief_call=brief_call,
    asked_kinds=asked_kinds,
    unknown_prompt=unknown_prompt,
    open_recipes={
        "usual": OpenRecipe(words={NOT_TRUSTING: TRUSTING}, flags=DISCOVERING_NOTHING),
        # What pi does by itself: it asks about nothing.
        "unasked": OpenRecipe(words={NOT_TRUSTING: TRUSTING, "ask": "auto"}, flags=DISCOVERING_NOTHING),
    },
    widening=Widening(argv={NOT_TRUSTING: TRUSTING}),
    adapter_enforces=frozenset(
        {
            # pi asks nobody: the gate does
            "approve.ask.waits",
            "approve.allow.runs-once",
            "approve.deny.not-run",
            "approve.deny.turn-goes-on",
            "approve.deny.message-reaches-model",
            "approve.always.same-call-not-asked",
            "approve.always.not-wider",
            "approve.always.writes-nothing",
            "approve.always.next-turn-asks",
            "approve.always.resume-asks",
            "approve.edit.asks",
            "approve.read-outside.asks",
            "interrupt.approval-open.quiet",
            "interrupt.mark.visible",  # pi drops the interrupted answer without a word: the gate leaves one
            "steer.order.kept",  # by default one steer goes with each request: our settings ask for all
            "record.usage.per-turn",  # tokens are told for each answer
        }
    ),
)
