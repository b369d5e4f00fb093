"""Lanes: which kind of model request this is, and so which part of a script answers it."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


class LaneKind(StrEnum):
    """The closed set of kinds of model request."""

    MAIN = "main"
    SIDE = "side"
    COUNT_TOKENS = "count_tokens"
    COMPACT = "compact"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane. Written `main`, `side`, `count_tokens`, `compact`, or `agent:<n>` with n from 1.

    A classifier does not know n: it returns `Lane.agent("<what tells agents apart>")`, and the session
    numbers the agents in the order in which they first ask.
    """

    kind: LaneKind
    number: int | None = None
    #: What tells one agent from another in the requests; used only until the session has numbered it.
    key: str = ""

    MAIN: ClassVar["Lane"]
    SIDE: ClassVar["Lane"]
    COUNT_TOKENS: ClassVar["Lane"]
    COMPACT: ClassVar["Lane"]

    @classmethod
    def agent(cls, key: str) -> "Lane":
        """Return the lane of the agent that `key` identifies."""
        return cls(LaneKind.AGENT, None, key)

    @classmethod
    def parse(cls, text: "Lane | str") -> "Lane":
        """Return the lane that `text` names; raises ValueError with the allowed names."""
        if isinstance(text, Lane):
            return text
        if match := re.fullmatch(r"agent:([1-9][0-9]*)", text):
            return cls(LaneKind.AGENT, int(match[1]))
        if text in ("main", "side", "count_tokens", "compact"):
            return cls(LaneKind(text))
        raise ValueError(f"unknown lane {text!r}; allowed: main, side, count_tokens, compact, agent:<n>")

    def __str__(self) -> str:
        return self.kind if self.number is None else f"{self.kind}:{self.number}"


Lane.MAIN = Lane(LaneKind.MAIN)
Lane.SIDE = Lane(LaneKind.SIDE)
Lane.COUNT_TOKENS = Lane(LaneKind.COUNT_TOKENS)
Lane.COMPACT = Lane(LaneKind.COMPACT)
