"""One turn: from a prompt to an outcome. Holds the state; everything else reports to it or asks it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import anyio
from anyio.abc import TaskGroup

from checkrein.adapters.acts import Act, ActKind, ActTap
from checkrein.adapters.approvals import Approval, ApprovalDesk, ResolvedBy
from checkrein.adapters.errors import (
    CheckreinError,
    HarnessDied,
    NoActiveTurn,
    SteerReason,
    SteerRejected,
)
from checkrein.adapters.events import ApprovalChanged, Event, SteerChanged, TurnEnded, TurnStarted
from checkrein.adapters.interface import Decision
from checkrein.adapters.interrupting import InterruptLadder, LadderTimes, Stopped
from checkrein.adapters.link import Link
from checkrein.adapters.manifest import Capability, Manifest
from checkrein.adapters.native import (
    Asked,
    BackgroundJob,
    Notice,
    NoticeKind,
    Question,
    QuestionVoided,
    SteerMoved,
    TextDelta,
    TextDone,
    ToolFinished,
    ToolStarted,
    TurnClosed,
    TurnEvent,
    TurnOpened,
    TurnStatus,
)
from checkrein.adapters.outcome import Outcome, OutcomeStatus, StoppedBy
from checkrein.adapters.policy import Policy
from checkrein.adapters.record import TurnRecord
from checkrein.adapters.silence import fell_silent
from checkrein.adapters.steering import Steer, SteerLedger
from checkrein.adapters.stream import EventReader, EventStream
from checkrein.adapters.texts import check_text
from checkrein.adapters.transport import ProcessInfo
from checkrein.adapters.usage import UsageMeter


class TurnState(StrEnum):
    """Where a turn is."""

    STARTING = "starting"
    RUNNING = "running"
    INTERRUPTING = "interrupting"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettings:
    """What a turn takes from its session.

    Args:
        policy: who decides over calls.
        approval_seconds: how long an approval waits for a person.
        ladder: the times of the interrupt ladder.
        stall_seconds: how long the harness may say nothing while no tool runs and no question stands.
        manifest: what the harness can do.
        acts: sees what the caller asks for.
    """

    policy: Policy
    approval_seconds: float
    ladder: LadderTimes
    stall_seconds: float
    manifest: Manifest
    acts: ActTap


class Turn:
    """A running or ended turn. Made by `Session.start`.

    Attributes:
        id: reserved before anything was sent.
        prompt: what opened it.
        opened_by: `prompt`, or `steer` when a steer came too late for the turn before and started this one.
        native_id: the harness's id of the turn; "" before it runs, or when it has none.
        continued_by: the turn that carries on after `interrupt(message)`.
    """

    def __init__(
        self,
        *,
        turn_id: str,
        prompt: str,
        opened_by: str,
        link: Link,
        tasks: TaskGroup,
        settings: TurnSettings,
        meter: UsageMeter,
        children: frozenset[int],
        carry_on: Callable[[str], Awaitable[Turn]],
        recorder: Callable[[Turn], TurnRecord],
        changed: Callable[[Turn, Event], None],
    ) -> None:
        self.id = turn_id
        self.prompt = prompt
        self.opened_by = opened_by
        self.native_id = ""
        self.continued_by: Turn | None = None
        self.started_at = datetime.now(UTC)
        self.ended_at: datetime | None = None
        self.tools: dict[str, ToolStarted] = {}
        self.results: dict[str, ToolFinished] = {}
        self._link = link
        self._tasks = tasks
        self._settings = settings
        self._meter = meter
        self._carry_on = carry_on
        self._recorder = recorder
        self._changed = changed
        self._stalled = ""
        self._state = TurnState.STARTING
        self._outcome: Outcome | None = None
        self._closed: TurnClosed | None = None
        self._text = ""
        self._jobs: set[str] = set()
        self._opened = anyio.Event()
        self._over = anyio.Event()
        self._ended = anyio.Event()
        self._interrupt_asked = False
        self._events: EventStream[Event] = EventStream()
        self._ledger = SteerLedger(
            waiting=self._events.unbounded,
            changed=lambda steer: self._tell(SteerChanged(steer=steer, state=steer.state)),
            withdraw=self._withdraw,
        )
        self._ladder = InterruptLadder(
            link,
            opened=self._opened,
            over=self._over,
            children_before=children,
            times=settings.ladder,
            trouble=self._trouble,
        )
        self._desk = ApprovalDesk(
            policy=settings.policy,
            workspace=link.connection.spec.cwd,
            send=self._answer,
            tasks=tasks,
            seconds=settings.approval_seconds,
            changed=lambda approval: self._tell(ApprovalChanged(approval=approval)),
            unanswered=self._unanswered,
            acts=settings.acts,
        )

    # What a person or program does with it

    @property
    def state(self) -> TurnState:
        """Where the turn is."""
        return self._state

    @property
    def steers(self) -> tuple[Steer, ...]:
        """The steers of this turn, in the order in which they were sent."""
        return self._ledger.steers

    @property
    def asked(self) -> tuple[Approval, ...]:
        """Every approval of this turn so far, open or resolved."""
        return self._desk.approvals

    async def steer(self, text: str) -> Steer:
        """Add a message to this turn. Returns when the harness took it; `Steer.settled` tells the rest.

        Args:
            text: reaches the model byte for byte.

        Raises:
            SteerRejected: the turn has ended, is being interrupted, or the harness refused or cannot be steered; the
                model never sees it.
            BadRequest: the text is no Unicode text.
        """
        check_text(text, "steer")
        self._settings.acts(Act(kind=ActKind.STEER, text=text))
        return await self.take(text)

    async def interrupt(self, message: str | None = None) -> Outcome:
        """Stop the turn; returns when it has ended and is quiet. A second call gives the same outcome.

        Args:
            message: carry on with this in the same conversation; the new turn is `continued_by`.

        Raises:
            NoActiveTurn: the turn had ended before anybody asked to stop it.
        """
        self._settings.acts(Act(kind=ActKind.INTERRUPT, text=message or ""))
        outcome = await self.stop()
        if message is not None and self.continued_by is None:
            self.continued_by = await self._carry_on(message)
        return outcome

    def approvals(self) -> EventReader[Approval]:
        """The approvals that need a person, as they come, until the turn ends."""
        return self._desk.read()

    def events(self) -> EventReader[Event]:
        """What happens in the turn, from its start to `TurnEnded`. One reader at a time.

        Raises:
            EventsTaken: somebody reads them already.
        """
        return self._events.read()

    @property
    def text(self) -> str:
        """The newest finished text of the model."""
        return self._text

    @property
    def ended(self) -> Outcome | None:
        """The outcome, once the turn has ended."""
        return self._outcome

    async def record(self) -> TurnRecord:
        """What survives of the turn, as it stands now."""
        return self._recorder(self)

    async def outcome(self) -> Outcome:
        """Wait for the end of the turn."""
        with self._events.unbounded():
            await self._ended.wait()
        assert self._outcome is not None
        return self._outcome

    # What the session asks of it, and reports to it

    async def take(self, text: str) -> Steer:
        """Add a message to this turn that the caller has given by another name than `steer`; raises as that."""
        self._refuse_steer()
        if self._state is TurnState.STARTING:
            await self._opened.wait()
            self._refuse_steer()
        return await self._ledger.send(text, take=self._link.connection.steer)

    async def stop(self) -> Outcome:
        """Stop the turn for another reason than a call of `interrupt`; raises as that."""
        if not self._interrupt_asked:
            if self._state is TurnState.ENDED:
                raise NoActiveTurn(
                    "the turn has ended already", where=f"turn {self.id}", advice="start a new one"
                )
            self._begin_to_stop()
        return await self.outcome()

    @property
    def opened(self) -> anyio.Event:
        """Set when the harness runs the turn, or when it never will."""
        return self._opened

    def room(self) -> anyio.Event | None:
        """None while reading from the harness may go on; else what it waits for (the reader of the events lags)."""
        return self._events.room()

    def steer_of(self, steer_id: str) -> Steer | None:
        """The steer of that id, if it belongs to this turn."""
        return self._ledger.get(steer_id)

    def apply(self, event: TurnEvent) -> None:
        """Take in what the harness reported of this turn."""
        match event:
            case TextDelta() | Notice():
                self._events.put(event)
            case TurnOpened():
                self._run(event)
            case TurnClosed():
                self._close(event)
            case Asked():
                self._ask(event)
            case QuestionVoided():
                self._desk.voided(event.question_id)
            case SteerMoved():
                self._ledger.moved(event.steer_id, event.progress, event.evidence)
            case BackgroundJob():
                (self._jobs.add if event.alive else self._jobs.discard)(event.job_id)
                self._events.put(event)
            case ToolStarted():
                self.tools[event.call.call_id] = event
                self._tell(event)
            case ToolFinished():
                self.results[event.call_id] = event
                self._tell(event)
            case TextDone():
                self._text = event.text
                self._tell(event)

    def process_gone(self, error: HarnessDied) -> None:
        """The harness's process ended while the turn was there."""
        self._ledger.lost_with_process()
        self._over.set()
        self._opened.set()
        if self._state not in (TurnState.INTERRUPTING, TurnState.ENDED):
            self._finish(OutcomeStatus.FAILED, reason=str(error))

    def fail(self, error: CheckreinError) -> None:
        """The turn could not be started."""
        self._over.set()
        self._opened.set()
        if self._state not in (TurnState.INTERRUPTING, TurnState.ENDED):
            self._finish(OutcomeStatus.FAILED, reason=str(error))

    # How it moves

    def _run(self, event: TurnOpened) -> None:
        self.native_id = event.native_id
        if self._state is TurnState.STARTING:
            self._state = TurnState.RUNNING
        self._tell(TurnStarted(turn_id=self.id, native_id=event.native_id))
        self._opened.set()
        if self._link.connection.tells_progress:
            self._tasks.start_soon(self._watch_silence)

    def _close(self, event: TurnClosed) -> None:
        self._closed = event
        self._opened.set()
        self._over.set()
        match self._state:
            case TurnState.INTERRUPTING if event.status is TurnStatus.INTERRUPTED:
                # Now, not at the end of the ladder: a steer that the harness starts a turn with meanwhile is dropped.
                self._ledger.dropped_by_interrupt()
            case TurnState.INTERRUPTING | TurnState.ENDED:
                return  # the ladder draws the conclusion
            case _:
                self._finish(
                    OutcomeStatus(event.status.value),
                    reason=event.reason,
                    native_status=event.native_status,
                    stopped_by=StoppedBy.HARNESS if event.status is TurnStatus.INTERRUPTED else None,
                )

    def _ask(self, event: Asked) -> None:
        if self._state in (TurnState.INTERRUPTING, TurnState.ENDED):
            text = f"a question came after the interrupt and is not answered: {event.question.call.name}"
            self._events.put(Notice(kind=NoticeKind.REFUSED_QUESTION, text=text))
            return
        self._desk.asked(event.question)

    async def _watch_silence(self) -> None:
        seconds = self._settings.stall_seconds
        silent = await fell_silent(
            heard_at=lambda: self._link.heard_at, busy=self._is_busy, over=self._over, seconds=seconds
        )
        if silent and not self._interrupt_asked:
            self._stalled = f"the harness said nothing for {seconds:g} s while it had no tool to wait for"
            self._begin_to_stop()

    def _is_busy(self) -> bool:
        """Whether the harness waits for something else than its model."""
        return bool(self._jobs or self._desk.open or self.tools.keys() - self.results.keys())

    def _begin_to_stop(self) -> None:
        self._interrupt_asked = True
        self._state = TurnState.INTERRUPTING
        self._events.lift()
        self._desk.void_all(ResolvedBy.INTERRUPT)
        # In a task of its own: the ladder must reach its end even if the caller stops waiting.
        self._tasks.start_soon(self._interrupt)

    async def _interrupt(self) -> None:
        # Shielded: once begun, the ladder goes to its end, whoever stops waiting.
        with anyio.CancelScope(shield=True):
            self._conclude(await self._ladder.climb_down(keeps_jobs=lambda: bool(self._jobs)))

    def _conclude(self, stopped: Stopped) -> None:
        closed = self._closed
        native_status = closed.native_status if closed else ""
        by_itself = stopped.by in (StoppedBy.HARNESS, StoppedBy.EXIT)
        if by_itself and closed is not None and closed.status is not TurnStatus.INTERRUPTED:
            # It had ended by itself before the interrupt took effect: what really happened is the outcome.
            self._finish(
                OutcomeStatus(closed.status.value),
                reason=f"{closed.reason} (before the interrupt took effect)",
                native_status=native_status,
                survivors=stopped.survivors,
            )
            return
        if stopped.by is StoppedBy.HARNESS:
            self._ledger.dropped_by_interrupt()
        else:
            self._ledger.lost_with_process()
        self._finish(
            OutcomeStatus.FAILED if self._stalled else OutcomeStatus.INTERRUPTED,
            reason=f"{self._stalled}; {stopped.reason}" if self._stalled else stopped.reason,
            native_status=native_status,
            stopped_by=stopped.by,
            survivors=stopped.survivors,
        )

    def _finish(
        self,
        status: OutcomeStatus,
        *,
        reason: str,
        native_status: str = "",
        stopped_by: StoppedBy | None = None,
        survivors: tuple[ProcessInfo, ...] = (),
    ) -> None:
        self._state = TurnState.ENDED
        self._opened.set()
        self.ended_at = datetime.now(UTC)
        self._desk.close(deny=self._closed is not None)
        self._outcome = Outcome(
            status=status,
            reason=reason,
            stopped_by=stopped_by,
            native_status=native_status,
            text=self._text,
            usage=self._meter.of_turn(),
            survivors=survivors,
        )
        self._tell(TurnEnded(outcome=self._outcome))
        self._events.close()
        self._ended.set()

    def _tell(self, event: Event) -> None:
        """Put on record what has changed, then let it be seen."""
        self._changed(self, event)
        self._events.put(event)

    def _refuse_steer(self) -> None:
        if self._settings.manifest.lacks(Capability.STEER):
            raise SteerRejected(SteerReason.UNSUPPORTED)
        match self._state:
            case TurnState.ENDED:
                raise SteerRejected(SteerReason.TURN_ENDED)
            case TurnState.INTERRUPTING:
                raise SteerRejected(SteerReason.INTERRUPTING)
            case TurnState.STARTING | TurnState.RUNNING:
                return

    async def _withdraw(self, steer: Steer) -> None:
        self._settings.acts(Act(kind=ActKind.WITHDRAW, about=steer.text))
        self._settings.manifest.demand(Capability.WITHDRAW)
        await self._ledger.withdraw(steer, ask=self._link.connection.withdraw)

    async def _answer(self, question: Question, decision: Decision) -> None:
        with self._events.unbounded():
            await self._link.connection.answer(question, decision)

    def _unanswered(self, error: Exception) -> None:
        # The harness would wait for this answer for ever.
        self._link.condemn(f"a question could not be answered: {error}")

    def _trouble(self, error: CheckreinError) -> None:
        self._events.put(Notice(kind=NoticeKind.WARNING, text=str(error)))
