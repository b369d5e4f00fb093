"""One interface to steer, interrupt, approve and inspect coding-agent harnesses.

Start with `open_session`; `interface` says what an adapter for a new harness implements.
"""

from checkrein.adapters.approvals import Approval, ResolvedBy
from checkrein.adapters.interface import HarnessAdapter, HarnessBinary, ModelEndpoint
from checkrein.adapters.native import Usage
from checkrein.adapters.opening import installed_binary, open_session
from checkrein.adapters.outcome import Outcome, OutcomeStatus, StoppedBy
from checkrein.adapters.policy import Policy
from checkrein.adapters.registry import find_harness, harness_names
from checkrein.adapters.sending import Message
from checkrein.adapters.session import Session
from checkrein.adapters.steering import Steer, SteerState
from checkrein.adapters.turn import Turn, TurnState

__all__ = [
    "Approval",
    "HarnessAdapter",
    "HarnessBinary",
    "Message",
    "ModelEndpoint",
    "Outcome",
    "OutcomeStatus",
    "Policy",
    "ResolvedBy",
    "Session",
    "Steer",
    "SteerState",
    "StoppedBy",
    "Turn",
    "TurnState",
    "Usage",
    "find_harness",
    "harness_names",
    "installed_binary",
    "open_session",
]
