"""Defects of steers."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

import unicodedata
import uuid
from contextlib import suppress
from dataclasses import replace
from typing import Any

from checkrein.adapters.claude_code.connection import ClaudeCodeConnection
from checkrein.adapters.codex.connection import CodexConnection
from checkrein.adapters.errors import CallExpired, WithdrawRefused
from checkrein.adapters.native import SteerMoved, SteerProgress
from checkrein.adapters.sending import Sender
from checkrein.adapters.session import Session
from checkrein.adapters.steering import Steer, SteerState
from checkrein.adapters.turn import Turn
from checkrein.scripted_models import HistoryItem
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute, rewrite_history


def forward_when_idle() -> None:
    """A steer without an active turn goes to the harness all the same."""

    def make(steer: Any) -> Any:
        async def forwarded(self: Any, text: str) -> Any:
            if self.turn is None and self.turns:
                await self.link.connection.steer(str(uuid.uuid4()), text)
            return await steer(self, text)

        return forwarded

    replace_attribute(Session, "steer", make)


def take_for_an_ended_turn() -> None:
    """A steer to a turn that has ended goes to the harness, whatever runs there."""
    replace_attribute(Turn, "_refuse_steer", lambda _: lambda self: None)


def drop() -> None:
    """The adapter reports a steer as delivered, and never sends it."""

    async def steer(self: Any, steer_id: str, text: str) -> None:
        moved = SteerMoved(steer_id=steer_id, progress=SteerProgress.DELIVERED, evidence="a lie")
        self._late.append(moved)

    replace_attribute(CodexConnection, "steer", lambda _: steer)


def deliver_twice() -> None:
    """The adapter sends each steer twice."""

    def make(steer: Any) -> Any:
        async def twice(self: Any, steer_id: str, text: str) -> None:
            await steer(self, str(uuid.uuid4()), text)
            await steer(self, steer_id, text)

        return twice

    replace_attribute(CodexConnection, "steer", make)


def reorder() -> None:
    """The adapter keeps back the first steer that speaks of a number until the next one has been sent."""
    kept: list[tuple[str, str]] = []

    def make(steer: Any) -> Any:
        async def reordered(self: Any, steer_id: str, text: str) -> None:
            if text == "steer number one":
                kept.append((steer_id, text))
                return
            await steer(self, steer_id, text)
            while kept:
                await steer(self, *kept.pop())

        return reordered

    replace_attribute(CodexConnection, "steer", make)


def answer_the_open_question() -> None:
    """A steer counts as consent to what is asked."""

    def make(steer: Any) -> Any:
        async def consenting(self: Any, text: str) -> Any:
            for approval in self.asked:
                if approval.resolved_by is None:
                    await approval.allow()
            return await steer(self, text)

        return consenting

    replace_attribute(Turn, "steer", make)


def normalise() -> None:
    """The adapter brings texts into what it takes for good order."""

    def make(steer: Any) -> Any:
        async def normalised(self: Any, text: str) -> Any:
            return await steer(self, unicodedata.normalize("NFC", "\n".join(text.splitlines())))

        return normalised

    replace_attribute(Turn, "steer", make)


def trim_results() -> None:
    """The harness forgets the results of finished calls."""

    def trimmed(item: HistoryItem) -> HistoryItem:
        return replace(item, text="[trimmed]") if "found-" in item.text else item

    rewrite_history(trimmed)


def withdraw_without_a_word() -> None:
    """The adapter says that a steer is taken back, and does not tell the harness."""

    async def withdraw(self: Any, steer_id: str) -> bool:
        return True

    replace_attribute(ClaudeCodeConnection, "withdraw", lambda _: withdraw)


def withdraw_what_was_delivered() -> None:
    """Withdrawing a delivered steer looks as if it had worked."""

    def make(withdraw: Any) -> Any:
        async def never_refused(self: Any) -> None:
            with suppress(WithdrawRefused):
                await withdraw(self)

        return never_refused

    replace_attribute(Steer, "withdraw", make)


def send_again_without_an_answer() -> None:
    """The adapter sends a steer again whose acknowledgement does not come."""

    def make(steer: Any) -> Any:
        async def again(self: Any, steer_id: str, text: str) -> None:
            try:
                await steer(self, steer_id, text)
            except CallExpired:
                await steer(self, str(uuid.uuid4()), text)

        return again

    replace_attribute(CodexConnection, "steer", make)


def start_what_was_delivered() -> None:
    """A message that has joined a turn starts the next one as well."""

    def make(follow: Any) -> Any:
        async def twice(self: Any, message: Any, turn: Any, steer: Any) -> None:
            await follow(self, message, turn, steer)
            if steer.state is SteerState.DELIVERED:
                await turn.outcome()
                await self._start(message.text)

        return twice

    replace_attribute(Sender, "_follow", make)


def forget_what_no_turn_took() -> None:
    """A message that no running turn takes is dropped."""

    async def dropped(self: Any, message: Any) -> bool:
        message.in_turn(None)
        return True

    replace_attribute(Sender, "_started", lambda _: dropped)


#: The plain cases, which each defect of the way down must leave alone or turn red.
PLAIN = ("steer.mid-tool.*", "steer.mid-stream.*", "steer.idle.*", "steer.ended-turn.*", "steer.order.*")

DEFECTS: dict[str, Defect] = {
    "forwards a steer when idle": Defect(
        harness="claude-code",
        red=("steer.idle.rejected",),
        among=PLAIN,
        install=forward_when_idle,
    ),
    "takes a steer for a turn that has ended": Defect(
        harness="claude-code",
        red=("steer.ended-turn.rejected", "steer.interrupting.rejected"),
        among=("steer.idle.*", "steer.ended-turn.*", "steer.interrupting.*"),
        install=take_for_an_ended_turn,
    ),
    "drops a steer": Defect(
        harness="codex",
        red=(
            "steer.mid-tool.delivered",
            "steer.mid-stream.delivered",
            "steer.order.kept",
            "session.resume.continues",
        ),
        among=(*PLAIN, "session.resume.*", "session.fork.*"),
        install=drop,
    ),
    "delivers a steer twice": Defect(
        harness="codex",
        red=(
            "steer.mid-tool.delivered",
            "steer.mid-stream.delivered",
            "steer.order.kept",
            "steer.turn-end-race.exactly-once",
            "session.resume.continues",
        ),
        among=(*PLAIN, "steer.turn-end-race.*", "session.resume.*", "session.fork.*"),
        install=deliver_twice,
    ),
    "reorders steers": Defect(
        harness="codex",
        red=("steer.order.kept",),
        among=PLAIN,
        install=reorder,
    ),
    "takes a steer for consent": Defect(
        harness="codex",
        red=("steer.approval-open.delivered",),
        among=("steer.approval-open.*", "steer.mid-tool.*"),
        install=answer_the_open_question,
    ),
    "normalises a steer": Defect(
        harness="codex",
        red=("steer.payload.verbatim",),
        among=("steer.payload.*", "steer.mid-tool.*"),
        install=normalise,
    ),
    "forgets finished results": Defect(
        harness="codex",
        red=("steer.history.kept",),
        among=("steer.history.*",),
        install=trim_results,
    ),
    "withdraws without a word": Defect(
        harness="claude-code",
        red=("steer.withdraw.never-seen",),
        among=("steer.withdraw.*",),
        install=withdraw_without_a_word,
    ),
    "withdraws what was delivered": Defect(
        harness="claude-code",
        red=("steer.withdraw.late-refused",),
        among=("steer.withdraw.*",),
        install=withdraw_what_was_delivered,
    ),
    "sends a steer again without an answer": Defect(
        harness="codex",
        red=("steer.ack-lost.unknown",),
        among=("steer.ack-lost.*", "steer.mid-tool.*"),
        install=send_again_without_an_answer,
    ),
    "starts a turn with what was delivered": Defect(
        harness="codex",
        red=("send.running.steers",),
        among=("send.*",),
        install=start_what_was_delivered,
    ),
    "forgets what no turn took": Defect(
        harness="codex",
        red=("send.ended.starts-next-turn",),
        among=("send.*",),
        install=forget_what_no_turn_took,
    ),
}
