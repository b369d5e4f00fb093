"""What the conformance kit must know of pi. Paths as seen on 1.6.0."""

from __future__ import annotations

from checkrein.adapters.kit_facts import KitFacts, Widening
from checkrein.adapters.pi.launch import NOT_TRUSTING, TRUSTING
from checkrein.adapters.pi.model_profile import PROFILE

KIT = KitFacts(
    profile=PROFILE,
    transcripts=(".pi/checkrein/sessions/*",),
    state=("tmp/*",),
    persistent_grant=None,
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
