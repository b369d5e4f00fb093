"""Is an adapter ready to be judged? Step by step, from its entry point to a turn that is interrupted.

A step is a function that tries one thing and returns what it saw, in words; it raises `StepFailed`, or whatever else
stops it. The first step that fails ends the smoke: it is the next thing to write.
"""

from checkrein.conformance.smoke.declared import DECLARED_STEPS
from checkrein.conformance.smoke.live import LIVE_STEPS
from checkrein.conformance.smoke.running import Failed, Passed, run_live, smoke
from checkrein.conformance.smoke.steps import Trial

__all__ = ["DECLARED_STEPS", "LIVE_STEPS", "Failed", "Passed", "Trial", "run_live", "smoke"]
