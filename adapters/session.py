"""A session: one conversation with one harness, kept across processes by its id.

Follow one prompt: `Session.start` makes a `Turn`, the connection sends it, the link's reader decodes what comes
back and hands each event to `_event`, which gives it to the turn that runs. The turn decides its outcome.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

import anyio
from anyio.abc import TaskGroup

from checkrein.adapters.errors import (
    CheckreinError,
    HarnessDied,
    NoActiveTurn,
    SessionClosed,
    SessionNotFound,
    SteerReason,
    SteerRejected,
    TurnActive,
)
from checkrein.adapters.interface import HarnessAdapter, HarnessIdentity, Opened, Origin, SessionSpec
from checkrein.adapters.link import Link, LinkSink
from checkrein.adapters.native import (
    NativeEvent,
    Notice,
    NoticeKind,
    SteerMoved,
    TurnClosed,
    TurnOpened,
    UsageReported,
)
from checkrein.adapters.outcome import Outcome, OutcomeStatus
from checkrein.adapters.record import TurnRecord, record_of
from checkrein.adapters.steering import Steer, SteerState
from checkrein.adapters.transport import Tap
from checkrein.adapters.turn import Turn, TurnSettings, TurnState
from checkrein.adapters.usage import UsageMeter

#: How long the harness may take from the acknowledged prompt to running the turn, in seconds.
TURN_OPENING_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTurn:
    """A turn that the harness opened by itself. It was interrupted.

    Args:
        cause: why, in the harness's words.
    """

    native_id: str
    cause: str


class Session:
    """One conversation. Made by `open_session`.

    Attributes:
        foreign_turns: turns that the harness opened by itself, all interrupted.
        turns: every turn of this session object, the first one first.
    """

    def __init__(
        self,
        *,
        adapter: HarnessAdapter,
        spec: SessionSpec,
        settings: TurnSettings,
        tasks: TaskGroup,
        tap: Tap | None,
    ) -> None:
        self.foreign_turns: tuple[ForeignTurn, ...] = ()
        self.turns: tuple[Turn, ...] = ()
        self._adapter = adapter
        self._spec = spec
        self._settings = settings
        self._tasks = tasks
        self._tap = tap
        self._meter = UsageMeter()
        self._link: Link | None = None
        self._opened: Opened | None = None
        self._active: Turn | None = None
        self._running: Turn | ForeignTurn | None = None
        self._foreign_over = anyio.Event()
        self._children: frozenset[int] = frozenset()
        self._had_turn = False
        self._begun_anew = False
        self._closing = False
        self._lock = anyio.Lock()

    # What a person or program does with it

    @property
    def id(self) -> str:
        """The harness's id of the conversation: to resume or fork it later."""
        return self._open_state.session_id

    @property
    def harness(self) -> HarnessIdentity:
        """Which harness this is."""
        return HarnessIdentity(
            name=self._adapter.manifest.name,
            version=self._open_state.version,
            sha256=self._spec.binary.sha256,
        )

    @property
    def opened(self) -> Opened:
        """What the newest process said at opening: version, policy asked and effective, model."""
        return self._open_state

    @property
    def turn(self) -> Turn | None:
        """The turn that is active now."""
        return self._active if self._active and self._active.state is not TurnState.ENDED else None

    @property
    def link(self) -> Link | None:
        """The running process and its connection, for calls that only this harness has. No contract covers it."""
        return self._link

    async def start(self, prompt: str) -> Turn:
        """Start a turn; returns when the harness runs it.

        Args:
            prompt: what the agent is to do.

        Raises:
            TurnActive: another turn runs.
            SessionClosed: the session is closed.
            CheckreinError: the harness could not be started again, or refused the prompt.
        """
        async with self._lock:
            self._refuse_start()
            await self._late_steers_settled()
            await self._foreign_ended()
            self._refuse_start()
            link = await self._fresh_link()
            self._children = frozenset(child.pid for child in await link.process.children())
            turn = self._new_turn(link, str(uuid.uuid4()), prompt, opened_by="prompt")
            if self._begun_anew:
                self._begun_anew = False
                text = f"the harness had kept nothing of the conversation; it begins anew as {self.id}"
                turn.apply(Notice(kind=NoticeKind.WARNING, text=text))
            try:
                await link.connection.start_turn(turn.id, prompt)
                with anyio.fail_after(TURN_OPENING_SECONDS):
                    await turn.opened.wait()
            except TimeoutError:
                error = HarnessDied(
                    f"the harness did not run the turn within {TURN_OPENING_SECONDS:g} s of taking the prompt",
                    status="still running",
                    stderr=link.process.stderr_tail(),
                )
                await self._give_up(link, turn, error)
                raise error from None
            except CheckreinError as error:
                turn.fail(error)
                raise
            except BaseException:
                # Cancelled while the harness may have the prompt: the turn must not run on unseen.
                with anyio.CancelScope(shield=True):
                    if turn.state is not TurnState.ENDED:
                        await turn.interrupt()
                raise
            return turn

    async def steer(self, text: str) -> Steer:
        """Add a message to the active turn.

        Raises:
            SteerRejected: no turn is active, or the turn cannot take it; the model never sees it.
        """
        if self._closing:
            raise SteerRejected(SteerReason.CLOSING)
        turn = self.turn
        if turn is None:
            raise SteerRejected(SteerReason.NO_ACTIVE_TURN)
        return await turn.steer(text)

    async def interrupt(self, message: str | None = None) -> Outcome:
        """Stop the active turn.

        Raises:
            NoActiveTurn: there is none; nothing was sent.
        """
        turn = self.turn
        if turn is None:
            raise NoActiveTurn("no turn is active", advice="start one first")
        return await turn.interrupt(message)

    async def close(self) -> None:
        """Interrupt what runs, end the process and everything it started. Returns when nothing is left."""
        self._closing = True
        turn = self.turn
        if turn is not None:
            await turn.interrupt()
        if self._link is not None:
            await self._link.aclose()

    # Processes

    async def open(self) -> None:
        """Start the first process. `open_session` does this."""
        self._link = await self._start_link(self._spec)

    @property
    def _open_state(self) -> Opened:
        if self._opened is None:
            raise SessionClosed(
                "the session is not open", advice="use it inside `async with open_session(...)`"
            )
        return self._opened

    async def _start_link(self, spec: SessionSpec) -> Link:
        self._meter.process_started(continued=spec.origin is not Origin.NEW)
        sink = LinkSink(event=self._event, room=self._room, gone=self._process_gone)
        link, self._opened = await Link.start(
            self._adapter, spec, sink=sink, tasks=self._tasks, tap=self._tap
        )
        return link

    async def _fresh_link(self) -> Link:
        """The link for the next turn: a new process when the old one is gone, or holds a grant of the last turn."""
        link = self._link
        if link is not None and link.lost is None and not link.connection.holds_grants:
            return link
        if link is not None:
            await link.aclose()
            self._link = None
        self._link = await self._renewed_link()
        return self._link

    async def _renewed_link(self) -> Link:
        again = (
            replace(self._spec, session_id=str(uuid.uuid4()))
            if self._spec.origin is Origin.NEW
            else self._spec
        )
        if not self._had_turn:
            # A conversation without a turn is not on disk and cannot be resumed (Claude Code 2.1.332).
            return await self._start_link(again)
        try:
            return await self._start_link(replace(self._spec, origin=Origin.RESUME, session_id=self.id))
        except SessionNotFound:
            # Nor is one whose first turn was cut off before its answer began (Claude Code 2.1.332): there is
            # nothing to continue. Anything else that is gone is an error.
            if any(turn.ended and turn.ended.status is OutcomeStatus.COMPLETED for turn in self.turns):
                raise
            self._begun_anew = True
            return await self._start_link(again)

    async def _give_up(self, link: Link, turn: Turn, error: CheckreinError) -> None:
        turn.fail(error)
        await link.process.kill_ladder(error.what)

    def _process_gone(self, error: HarnessDied) -> None:
        if isinstance(self._running, ForeignTurn):
            self._foreign_over.set()
        self._running = None
        if self._active is not None:
            self._active.process_gone(error)

    # Turns

    def _refuse_start(self) -> None:
        if self._closing:
            raise SessionClosed("the session is closed", advice="open it again with resume")
        turn = self.turn
        if turn is not None:
            raise TurnActive(
                f"a turn is active already (opened by a {turn.opened_by})",
                where=f"turn {turn.id}",
                advice="steer it, interrupt it, or wait for its outcome",
            )

    async def _late_steers_settled(self) -> None:
        """A steer that the last turn did not take may be about to start a turn: wait until the harness has said so."""
        if self._active is None or self._link is None or self._link.lost is not None:
            return
        for steer in self._active.steers:
            if steer.state in (SteerState.SENDING, SteerState.ACCEPTED):
                with anyio.move_on_after(self._spec.call_seconds):
                    await steer.settled()

    async def _foreign_ended(self) -> None:
        if isinstance(self._running, ForeignTurn) and self._link is not None:
            with anyio.move_on_after(self._settings.ladder.harness):
                await self._foreign_over.wait()
                return
            await self._link.process.kill_ladder("the harness did not end a turn that it opened by itself")

    def _new_turn(self, link: Link, turn_id: str, prompt: str, *, opened_by: str) -> Turn:
        turn = Turn(
            turn_id=turn_id,
            prompt=prompt,
            opened_by=opened_by,
            link=link,
            tasks=self._tasks,
            settings=self._settings,
            meter=self._meter,
            children=self._children,
            carry_on=self.start,
            recorder=self._record,
        )
        self._active = turn
        self.turns += (turn,)
        return turn

    def _record(self, turn: Turn) -> TurnRecord:
        return record_of(
            turn,
            harness=self.harness,
            session_id=self.id,
            workspace=self._spec.cwd,
            policy=self._spec.policy.value,
        )

    # Events of the link

    def _room(self) -> anyio.Event | None:
        return self._active.room() if self._active is not None else None

    def _event(self, event: NativeEvent) -> None:
        match event:
            case UsageReported():
                self._meter.report(event)
            case TurnOpened():
                self._turn_opened(event)
            case TurnClosed():
                self._turn_closed(event)
            case SteerMoved():
                # Of whichever turn it was sent to, which need not be the one that runs.
                for turn in self.turns:
                    turn.apply(event)
            case _ if isinstance(self._running, ForeignTurn):
                pass
            case _ if self._active is not None and self._active.state is not TurnState.ENDED:
                self._active.apply(event)
            case _:
                pass

    def _turn_opened(self, event: TurnOpened) -> None:
        turn = self._active
        if turn is not None and event.prompt_id == turn.id:
            pass
        elif event.prompt_id is not None and (late := self._steer(event.prompt_id)) is not None:
            assert self._link is not None
            late.move(SteerState.QUEUED, "it came too late for its turn and started the next one")
            turn = self._new_turn(self._link, event.prompt_id, late.text, opened_by="steer")
        else:
            self._open_foreign(event)
            return
        self._had_turn = True
        self._running = turn
        self._meter.turn_started()
        turn.apply(event)

    def _steer(self, steer_id: str) -> Steer | None:
        found = (turn.steer_of(steer_id) for turn in self.turns)
        return next((steer for steer in found if steer is not None), None)

    def _open_foreign(self, event: TurnOpened) -> None:
        foreign = ForeignTurn(native_id=event.native_id, cause=event.cause or "no cause given")
        self.foreign_turns += (foreign,)
        self._running = foreign
        self._foreign_over = anyio.Event()
        self._tasks.start_soon(self._stop_foreign)

    async def _stop_foreign(self) -> None:
        try:
            if self._link is not None:
                await self._link.connection.interrupt()
        except CheckreinError:
            return  # `start` ends the process if the foreign turn does not end

    def _turn_closed(self, event: TurnClosed) -> None:
        running, self._running = self._running, None
        match running:
            case ForeignTurn():
                self._foreign_over.set()
            case Turn():
                running.apply(event)
            case None if self._active is not None:
                self._active.apply(event)
            case None:
                pass
