"""Defects of how questions are answered: which one, when, in which shape, and of what they show."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from typing import Any

import msgspec

from checkrein.adapters import approvals
from checkrein.adapters.approvals import ApprovalDesk, ResolvedBy
from checkrein.adapters.codex import connection, questions
from checkrein.adapters.codex.connection import CodexConnection
from checkrein.adapters.interface import Decision, DecisionKind
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute


def answer_the_oldest() -> None:
    """An answer goes to the question that has waited longest, whichever it was given to."""

    def make(answer: Any) -> Any:
        async def answered(self: Any, question: Any, decision: Decision) -> None:
            oldest = next(iter(self._questions.values()), None)
            await answer(self, question if oldest is None else oldest.question, decision)

        return answered

    replace_attribute(CodexConnection, "answer", make)


def allow_at_the_deadline() -> None:
    """What nobody answers in time is allowed."""

    def make(answer: Any) -> Any:
        async def answered(self: Any, approval: Any, decision: Decision, by: ResolvedBy) -> None:
            if by is ResolvedBy.TIMEOUT:
                decision = Decision(kind=DecisionKind.ALLOW)
            await answer(self, approval, decision, by)

        return answered

    replace_attribute(ApprovalDesk, "_answer", make)


def leave_it_waiting() -> None:
    """A question that nobody can decide is shown, and gets no answer."""
    replace_attribute(CodexConnection, "take_replies", lambda _: lambda self: [])


def forget_at_the_end() -> None:
    """What is open when the turn ends is forgotten, though the harness waits on."""

    def make(close: Any) -> Any:
        def closed(self: Any, *, deny: bool) -> None:
            close(self, deny=False)

        return closed

    replace_attribute(ApprovalDesk, "close", make)


def answer_all_alike() -> None:
    """Every kind of question is answered as a command is."""

    def make(_: Any) -> Any:
        def line(opened: Any, decision: Decision) -> bytes:
            word = "decline" if decision.kind is DecisionKind.DENY else "accept"
            return msgspec.json.encode({"id": opened.request_id, "result": {"decision": word}})

        return line

    replace_attribute(connection, "answer_line", make)


def follow_no_link() -> None:
    """An approval shows the paths as they are given."""
    replace_attribute(questions, "leading_elsewhere", lambda _: lambda *_: ())


def grant_a_path_wherever_it_leads() -> None:
    """What is allowed always of a patch is granted by Codex itself, which goes by the path in the tree."""
    for module in (questions, connection):
        replace_attribute(
            module,
            "grants_for_the_process",
            lambda _: lambda opened, decision: decision.kind is DecisionKind.ALLOW_ALWAYS,
        )


def mark_nothing_outside() -> None:
    """An approval does not say that a call leaves the workspace."""
    replace_attribute(approvals, "is_outside", lambda _: lambda *_: False)


def grant_once_only() -> None:
    """allow_always is passed to Codex as a plain accept; the desk alone remembers it."""

    def make(answer: Any) -> Any:
        async def answered(self: Any, question: Any, decision: Decision) -> None:
            always = decision.kind is DecisionKind.ALLOW_ALWAYS
            await answer(self, question, Decision(kind=DecisionKind.ALLOW) if always else decision)

        return answered

    replace_attribute(CodexConnection, "answer", make)


DEFECTS: dict[str, Defect] = {
    "answers the oldest question": Defect(
        harness="codex",
        red=("approve.parallel.matched", "approve.twice.refused"),
        among=("approve.parallel.*", "approve.twice.*"),
        install=answer_the_oldest,
    ),
    "allows what nobody answers": Defect(
        harness="codex",
        red=("approve.timeout.denied",),
        among=("approve.timeout.*",),
        install=allow_at_the_deadline,
    ),
    "leaves a question waiting": Defect(
        harness="codex",
        red=("approve.server-requests.all-answered",),
        among=("approve.server-requests.*",),
        install=leave_it_waiting,
    ),
    "forgets what is open when the turn ends": Defect(
        harness="claude-code",
        red=("approve.server-requests.all-answered",),
        among=("approve.server-requests.*",),
        install=forget_at_the_end,
    ),
    "answers all questions alike": Defect(
        harness="codex",
        red=("approve.server-requests.all-answered",),
        among=("approve.server-requests.*",),
        install=answer_all_alike,
    ),
    "follows no link": Defect(
        harness="codex",
        red=("approve.shown.real-target",),
        among=("approve.shown.real-target",),
        install=follow_no_link,
    ),
    "grants a path wherever it leads": Defect(
        harness="codex",
        red=("approve.link-moved.asks-again",),
        among=("approve.link-moved.asks-again",),
        install=grant_a_path_wherever_it_leads,
    ),
    "does not mark what lies outside": Defect(
        harness="claude-code",
        red=("approve.shown.real-target",),
        among=("approve.shown.real-target",),
        install=mark_nothing_outside,
    ),
    "grants once only": Defect(
        harness="codex",
        red=("native.codex.session-grant-ends-with-process",),
        among=("native.codex.session-grant-ends-with-process", "native.codex.accept-decline"),
        install=grant_once_only,
    ),
}
