"""Saboteurs: each puts exactly one named defect into what stands between the person and the real CLI.

A defect replaces one function of an adapter or of the shared machinery, or rewrites what the harness told the model.
The table of each module says which checks must turn red on which harness; `test_sabotage` asserts that exactly these
do.
"""

from __future__ import annotations

from tests.conformance.sabotage import (
    answering,
    approving,
    driving,
    faulting,
    gating,
    guarding,
    interrupting,
    meddling,
    minding_pi,
    outliving,
    recording,
    sessions,
    steering,
    trusting,
    unasked,
    wiring,
    withdrawing,
)
from tests.conformance.sabotage.defect import Defect

#: All of them, by name.
DEFECTS: dict[str, Defect] = {
    name: defect
    for module in (
        interrupting,
        steering,
        approving,
        answering,
        sessions,
        recording,
        faulting,
        meddling,
        guarding,
        outliving,
        trusting,
        wiring,
        gating,
        minding_pi,
        unasked,
        withdrawing,
        driving,
    )
    for name, defect in module.DEFECTS.items()
}
