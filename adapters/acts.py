"""What the caller of the interface does, for whoever keeps a transcript: told when it is asked for.

The lines on the wire do not show it: one message may take several of them, or none when it is refused at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class ActKind(StrEnum):
    """What a person, or a program in a person's place, can do."""

    OPEN = "open"
    START = "start"
    STEER = "steer"
    WITHDRAW = "withdraw"
    SEND = "send"
    INTERRUPT = "interrupt"
    ALLOW = "allow"
    DENY = "deny"
    ALLOW_ALWAYS = "allow_always"
    CLOSE = "close"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One call of the interface; it may still be refused.

    Args:
        text: what was written with it: prompt, message, what to carry on with, why a call is denied. As given: that of
            an interrupt may be no Unicode text.
        about: what it is about: the call as it was shown, the steer that is taken back, how a session is opened.
    """

    kind: ActKind
    text: str = ""
    about: str = ""


#: Called with every act, once, by the task that asks for it and before anything is sent. It must not block or raise.
ActTap = Callable[[Act], None]


def unseen(_: Act) -> None:
    """Nobody looks."""
