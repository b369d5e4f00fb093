"""Every kind of question that the harness can ask is answered; asked in its place, on a live session."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import anyio
from anyio import to_thread

from checkrein.adapters import Approval, Session, Turn
from checkrein.adapters.events import Notice
from checkrein.adapters.kit_facts import AskedKind
from checkrein.adapters.native import NoticeKind
from checkrein.adapters.transport import Direction
from checkrein.conformance.peers.between import PeerBetween
from checkrein.conformance.peers.dictation import DICTATION
from checkrein.conformance.peers.order import Order
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import PATIENCE, finish, within
from checkrein.conformance.wire import WireRow
from checkrein.scripted_models import DeadlineExceeded, hold, say

#: How the ids of the inserted questions begin.
MARK = "inserted-"

#: How long the answer to one question may take, in seconds; it takes some milliseconds.
UNTIL_ANSWERED = 5.0

#: After so many faults no more is asked: a question without an answer takes its time.
ENOUGH_FAULTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Inserted:
    """A question that was put in the harness's mouth; `after` is the newest line on the wire before it."""

    kind: AskedKind
    id: str
    after: int

    def __str__(self) -> str:
        return f"{self.kind.name}, {self.id.removeprefix(MARK)}"


@dataclass(slots=True)
class Desk:
    """The person: allows or denies by the question's id, and sees what is refused."""

    asked: set[str] = field(default_factory=set[str])
    refused: int = 0
    news: anyio.Event = field(default_factory=anyio.Event)

    async def answer(self, turn: Turn) -> None:
        async for approval in turn.approvals():
            self.asked.add(approval.id)
            self._tell()
            await _decide(approval)

    async def watch(self, turn: Turn) -> None:
        async for event in turn.events():
            if isinstance(event, Notice) and event.kind is NoticeKind.REFUSED_QUESTION:
                self.refused += 1
                self._tell()

    def _tell(self) -> None:
        news, self.news = self.news, anyio.Event()
        news.set()

    @property
    def shown(self) -> int:
        """How many questions were shown, one way or the other."""
        return len(self.asked) + self.refused

    async def until_shown(self, count: int) -> None:
        while self.shown < count:
            await self.news.wait()


async def _decide(approval: Approval) -> None:
    if "allow" in approval.id:
        await approval.allow()
    elif "deny" in approval.id:
        await approval.deny()


@scenario("approve.server-requests.all-answered", seconds=90.0)
async def test_every_kind_of_question_is_answered(arena: Arena) -> None:
    middle = arena.script.gate("middle")
    arena.script.main([say("Working "), hold(middle), say("done.")])
    asked_kinds = arena.known("asked_kinds", arena.target.kit.asked_kinds)
    kinds = await to_thread.run_sync(asked_kinds, arena.target.path)
    arena.require(kinds, "the kit knows which questions the harness can ask")
    adapter = PeerBetween(arena.target.adapter, Order(kind="dictation", own_answers=(MARK,)))
    desk, faults, inserted = Desk(), list[str](), 0
    async with arena.session(policy="ask", adapter=adapter) as session, anyio.create_task_group() as tasks:
        turn = await session.start("work")
        await middle.reached(timeout=PATIENCE)
        tasks.start_soon(desk.answer, turn)
        tasks.start_soon(desk.watch, turn)
        for kind, word in product(kinds, ("allow", "deny")):
            inserted += 1
            faults += await _ask(arena, session, kind, f"{MARK}{word}-{inserted}", desk)
            if len(faults) >= ENOUGH_FAULTS:
                break
        # Nobody answers this one before the turn ends.
        inserted += 1
        left_open = Inserted(kind=kinds[0], id=f"{MARK}open-{inserted}", after=arena.wire.rows[-1].n)
        shown = desk.shown
        await _insert(session, left_open)
        await within(arena, "the last question to be shown", desk.until_shown(shown + 1))
        middle.open()
        outcome = await finish(arena, turn)
        faults += await _fault(arena, left_open)
        if (outcome.status.value, outcome.text) != ("completed", "Working done."):
            faults.append(f"the turn ended {outcome.status.value}, {outcome.text!r}")
        # No turn runs: there is nobody to ask, and the harness waits all the same.
        for kind in () if faults else (kinds[0], kinds[-1]):
            inserted += 1
            faults += await _ask(arena, session, kind, f"{MARK}idle-{inserted}", None)
    arena.judge(
        "approve.server-requests.all-answered",
        holds=not faults,
        expected=f"each of {inserted} questions of {len(kinds)} kinds and forms is answered within "
        f"{UNTIL_ANSWERED:g} s in the shape of its kind, and shown; the turn is untouched",
        observed="; ".join(faults)
        or f"all answered; {len(desk.asked)} asked of a person, {desk.refused} refused and shown",
        enforced_by="adapter",
    )


async def _ask(
    arena: Arena, session: Session, kind: AskedKind, question_id: str, desk: Desk | None
) -> list[str]:
    """Insert one question; what is wrong with its answer, and with what was shown.

    Args:
        desk: who must be shown it; None when no turn runs.
    """
    question = Inserted(kind=kind, id=question_id, after=arena.wire.rows[-1].n)
    shown = 0 if desk is None else desk.shown
    await _insert(session, question)
    if (faults := await _fault(arena, question)) or desk is None:
        return faults
    try:
        await within(arena, "the question to be shown", desk.until_shown(shown + 1), UNTIL_ANSWERED)
    except DeadlineExceeded:
        return [f"{question}: not shown"]
    asked = any(question_id in approval_id for approval_id in desk.asked)
    return (
        []
        if kind.decidable in (None, asked)
        else [f"{question}: a person was {'' if asked else 'not '}asked"]
    )


async def _insert(session: Session, question: Inserted) -> None:
    assert session.link is not None
    await session.link.process.send(DICTATION + question.kind.line(question.id))


async def _fault(arena: Arena, question: Inserted) -> list[str]:
    """Wait for the answer to an inserted question; what is wrong with it."""

    def answers(row: WireRow) -> bool:
        return row.direction is Direction.TO_HARNESS and question.id in str(row.message)

    try:
        row = await arena.wire.wait(
            answers, UNTIL_ANSWERED, what=f"the answer to {question}", after=question.after
        )
    except DeadlineExceeded:
        return [f"{question}: no answer"]
    fault = question.kind.fault(row.message)
    return [f"{question}: {fault}"] if fault else []
