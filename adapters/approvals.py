"""The approval desk: questions that the harness waits on, and who answers them."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from checkrein.adapters.acts import Act, ActKind, ActTap
from checkrein.adapters.errors import ApprovalStale, BadRequest, SessionClosed
from checkrein.adapters.interface import Decision, DecisionKind
from checkrein.adapters.native import Question, ToolCall
from checkrein.adapters.policy import Policy
from checkrein.adapters.shown import one_line, shown
from checkrein.adapters.stream import EventReader, EventStream
from checkrein.adapters.targets import is_outside
from checkrein.adapters.texts import check_text

#: How long an approval waits for a person before it counts as denied, in seconds.
APPROVAL_SECONDS = 600.0

APPROVAL_SECONDS_VARIABLE = "CHECKREIN_APPROVAL_TIMEOUT_SECONDS"


def approval_seconds_from_environment() -> float:
    """The time an approval may wait, in seconds: the environment variable, or the default of 600.

    Raises:
        BadRequest: the variable does not hold a positive number.
    """
    text = os.environ.get(APPROVAL_SECONDS_VARIABLE)
    if text is None:
        return APPROVAL_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise BadRequest(
            f"{text!r} is no number of seconds above 0",
            where=APPROVAL_SECONDS_VARIABLE,
            advice=f"set it to a number of seconds, or unset it for {APPROVAL_SECONDS:g}",
        )
    return seconds


class ResolvedBy(StrEnum):
    """Who resolved an approval."""

    PERSON = "person"
    POLICY = "policy"
    TIMEOUT = "timeout"
    INTERRUPT = "interrupt"
    #: the harness withdrew the question, ended the turn, or its process is gone
    HARNESS = "harness"


class Approval:
    """A call that waits for a decision.

    Attributes:
        id: the harness's id of the question.
        call: the call, raw.
        reason: why the harness asks, in its own words.
        real_paths: where the call's paths really lead, when a link leads elsewhere.
        outside: where the call goes that is outside the workspace: its paths, its directory, where links lead.
        decision: what was decided; None while open, or when it was resolved without an answer.
        resolved_by: who resolved it; None while open.
    """

    def __init__(
        self,
        question: Question,
        answer: Callable[[Approval, Decision, ResolvedBy], Awaitable[None]],
        *,
        workspace: Path,
    ) -> None:
        self.id = question.question_id
        self.call: ToolCall = question.call
        self.reason = question.reason
        self.real_paths = question.real_paths
        places = [*self.call.paths, *([self.call.cwd] if self.call.cwd else []), *self.real_paths]
        self.outside = tuple(dict.fromkeys(place for place in places if is_outside(place, workspace)))
        self.question = question
        self.decision: Decision | None = None
        self.resolved_by: ResolvedBy | None = None
        self.resolved = anyio.Event()
        self._answer = answer

    @property
    def shown(self) -> str:
        """What a person must see: the whole command or the paths and the change, nothing invisible in it."""
        call = self.call
        if call.command is not None:
            lines = [shown(call.command)]
        elif call.paths:
            lines = [self._place(path) for path in call.paths]
            if call.change:
                lines.append(shown(call.change))
        else:
            lines = [f"{one_line(call.name)} {shown(call.input_json)}"]
        if call.cwd and call.cwd in self.outside:
            lines.append(f"runs in {self._place(call.cwd)}")
        lines += [f"leads to {self._place(path)}" for path in self.real_paths]
        return "\n".join(lines)

    def _place(self, path: str) -> str:
        return f"{shown(path)} (outside the workspace)" if path in self.outside else shown(path)

    async def allow(self) -> None:
        """Let this one call run.

        Raises:
            ApprovalStale: it is resolved already; nothing was sent.
        """
        await self._answer(self, Decision(kind=DecisionKind.ALLOW), ResolvedBy.PERSON)

    async def deny(self, message: str = "") -> None:
        """Refuse the call; the turn goes on and the model is told `message`.

        Raises:
            ApprovalStale: it is resolved already; nothing was sent.
            BadRequest: the message is no Unicode text; nothing was sent.
        """
        check_text(message, "message of a deny")
        await self._answer(self, Decision(kind=DecisionKind.DENY, message=message), ResolvedBy.PERSON)

    async def allow_always(self) -> None:
        """Let this call run, and calls like it for the rest of this turn. Writes no file.

        Raises:
            ApprovalStale: it is resolved already; nothing was sent.
        """
        await self._answer(self, Decision(kind=DecisionKind.ALLOW_ALWAYS), ResolvedBy.PERSON)


class ApprovalDesk:
    """The approvals of one turn.

    Args:
        policy: who decides.
        workspace: where the harness works, resolved.
        send: passes a decision to the harness.
        tasks: where the deadlines and the policy's own answers run.
        seconds: how long a question waits for a person.
        changed: called when an approval was asked or resolved.
        unanswered: called when an answer could not be sent: the harness waits on, and no second answer is taken.
        acts: sees what the person decides, before it counts.
    """

    def __init__(
        self,
        *,
        policy: Policy,
        workspace: Path,
        send: Callable[[Question, Decision], Awaitable[None]],
        tasks: TaskGroup,
        seconds: float,
        changed: Callable[[Approval], None],
        unanswered: Callable[[Exception], None],
        acts: ActTap,
    ) -> None:
        self._policy = policy
        self._workspace = workspace
        self._send = send
        self._tasks = tasks
        self._seconds = seconds
        self._changed = changed
        self._unanswered = unanswered
        self._acts = acts
        self._always: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()
        self._by_id: dict[str, Approval] = {}
        self._stream: EventStream[Approval] = EventStream()
        self.approvals: tuple[Approval, ...] = ()

    @property
    def open(self) -> tuple[Approval, ...]:
        """Those that wait for an answer."""
        return tuple(approval for approval in self.approvals if approval.resolved_by is None)

    def read(self) -> EventReader[Approval]:
        """The approvals that need a person, as they come, until the turn ends."""
        return self._stream.read()

    def asked(self, question: Question) -> None:
        """The harness asks."""
        approval = Approval(question, self._answer, workspace=self._workspace)
        self.approvals += (approval,)
        self._by_id[approval.id] = approval
        if self._policy is Policy.AUTO or _likeness(question) in self._always:
            self._tasks.start_soon(self._allow_by_policy, approval)
            return
        self._changed(approval)
        self._stream.put(approval)
        self._tasks.start_soon(self._deny_at_deadline, approval)

    def voided(self, question_id: str) -> None:
        """The harness withdrew the question, or says that it is resolved."""
        approval = self._by_id.get(question_id)
        if approval is not None:
            self._resolve(approval, None, ResolvedBy.HARNESS)

    def void_all(self, by: ResolvedBy) -> None:
        """Nothing that is open can be answered any more."""
        for approval in self.open:
            self._resolve(approval, None, by)

    def close(self, *, deny: bool) -> None:
        """The turn is over.

        Args:
            deny: the harness goes on, and waits for what is open: that is denied. A background agent of Claude Code
                2.1.332 asks on when the turn has ended.
        """
        for approval in self.open:
            if deny:
                decision = Decision(kind=DecisionKind.DENY)
                self._resolve(approval, decision, ResolvedBy.HARNESS)
                self._tasks.start_soon(self._deliver, approval.question, decision, _Delivery())
            else:
                self._resolve(approval, None, ResolvedBy.HARNESS)
        self._stream.close()

    def _resolve(self, approval: Approval, decision: Decision | None, by: ResolvedBy) -> bool:
        if approval.resolved_by is not None:
            return False
        approval.decision = decision
        approval.resolved_by = by
        approval.resolved.set()
        self._changed(approval)
        return True

    async def _answer(self, approval: Approval, decision: Decision, by: ResolvedBy) -> None:
        if by is ResolvedBy.PERSON:
            act = Act(kind=ActKind(decision.kind.value), text=decision.message, about=approval.shown)
            self._acts(act)
        # Resolved before it is sent: from here on no second answer can reach the wire.
        if not self._resolve(approval, decision, by):
            assert approval.resolved_by is not None
            raise ApprovalStale(
                f"the approval of {shown(approval.call.command or approval.call.name, limit=80)!r} is resolved already",
                resolved_by=approval.resolved_by.value,
            )
        # Sent in a task of its own: a caller who stops waiting must not leave the harness without the answer.
        delivery = _Delivery()
        self._tasks.start_soon(self._deliver, approval.question, decision, delivery)
        await delivery.over.wait()
        if delivery.error is not None:
            raise delivery.error

    async def _deliver(self, question: Question, decision: Decision, delivery: _Delivery) -> None:
        try:
            await self._send(question, decision)
            if decision.kind is DecisionKind.ALLOW_ALWAYS:
                self._always.add(_likeness(question))
            delivery.error = None
        except ApprovalStale as error:
            delivery.error = error
        except Exception as error:
            delivery.error = error
            self._unanswered(error)
        finally:
            delivery.over.set()

    async def _allow_by_policy(self, approval: Approval) -> None:
        await self._answer_unasked(approval, Decision(kind=DecisionKind.ALLOW), ResolvedBy.POLICY)

    async def _deny_at_deadline(self, approval: Approval) -> None:
        with anyio.move_on_after(self._seconds):
            await approval.resolved.wait()
            return
        message = f"nobody answered within {self._seconds:g} s"
        await self._answer_unasked(
            approval, Decision(kind=DecisionKind.DENY, message=message), ResolvedBy.TIMEOUT
        )

    async def _answer_unasked(self, approval: Approval, decision: Decision, by: ResolvedBy) -> None:
        # Resolved in the same moment there is nothing left to answer; of any other fault `unanswered` has been told.
        with suppress(Exception):
            await self._answer(approval, decision, by)


class _Delivery:
    """An answer on its way."""

    __slots__ = ("error", "over")

    def __init__(self) -> None:
        self.over = anyio.Event()
        self.error: Exception | None = SessionClosed("the session was closed before the answer was sent")


def _likeness(question: Question) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What makes two questions alike for `allow_always`: the call, and where it really leads (a link can be moved)."""
    return question.call.likeness, question.real_paths
