"""A session: one conversation with one harness, kept across processes by its id.

Follow one prompt: `Session.start` makes a `Turn`, the connection sends it, the link's reader decodes what comes
back and hands each event to `_event`, which gives it to the turn that runs. The turn decides its outcome.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from checkrein.adapters.acts import Act, ActKind
from checkrein.adapters.conversation import Conversation
from checkrein.adapters.errors import (
    BadRequest,
    CallRefused,
    CheckreinError,
    HarnessDied,
    NoActiveTurn,
    SessionClosed,
    SteerReason,
    SteerRejected,
    TurnActive,
)
from checkrein.adapters.events import Event
from checkrein.adapters.foreign_turns import ForeignTurn, ForeignTurns
from checkrein.adapters.interface import (
    Decision,
    DecisionKind,
    HarnessAdapter,
    HarnessIdentity,
    Opened,
    SessionSpec,
)
from checkrein.adapters.link import Link, LinkSink
from checkrein.adapters.manifest import Capability
from checkrein.adapters.native import (
    Asked,
    ConversationNamed,
    NativeEvent,
    Notice,
    NoticeKind,
    Question,
    SteerMoved,
    TextDelta,
    TextDone,
    ToolFinished,
    ToolStarted,
    TurnClosed,
    TurnOpened,
    UsageReported,
)
from checkrein.adapters.outcome import Outcome, OutcomeStatus
from checkrein.adapters.record import TurnRecord, record_of
from checkrein.adapters.record_keeping import RecordKeeper
from checkrein.adapters.sending import Message, Sender
from checkrein.adapters.steering import Steer, SteerState
from checkrein.adapters.texts import check_text
from checkrein.adapters.transport import Tap
from checkrein.adapters.turn import Turn, TurnSettings, TurnState
from checkrein.adapters.usage import UsageMeter

#: How long the harness may take from the acknowledged prompt to running the turn, in seconds.
TURN_OPENING_SECONDS = 60.0

#: What a turn brings forth. Before the harness has opened the turn, it is left over from the one before.
OF_THE_TURN = (TextDelta, TextDone, ToolStarted, ToolFinished)

#: States of a steer that the harness may still start a turn with.
OPEN_STEERS = frozenset({SteerState.SENDING, SteerState.ACCEPTED, SteerState.UNKNOWN})


class Session:
    """One conversation. Made by `open_session`.

    Attributes:
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
        record_dir: Path | None,
    ) -> None:
        self.turns: tuple[Turn, ...] = ()
        self._adapter = adapter
        self._spec = spec
        self._settings = settings
        self._tasks = tasks
        self._meter = UsageMeter()
        self._keeper = None if record_dir is None else RecordKeeper(record_dir, self._record)
        self._conversation = Conversation(
            adapter=adapter,
            spec=spec,
            sink=LinkSink(event=self._event, room=self._room, gone=self._process_gone),
            tasks=tasks,
            tap=tap,
            meter=self._meter,
            has_answer=self._has_answer,
        )
        self._active: Turn | None = None
        self._running: Turn | None = None
        self._foreign = ForeignTurns(tasks=tasks, seconds=settings.ladder.harness)
        self._sender = Sender(
            active=lambda: self.turn, opened_by=self._turn_called, start=self._begin, tasks=tasks
        )
        self._children: frozenset[int] = frozenset()
        self._closing = False
        self._lock = anyio.Lock()
        self._starting: anyio.CancelScope | None = None

    # What a person or program does with it

    @property
    def id(self) -> str:
        """The harness's id of the conversation: to resume or fork it later."""
        return self._conversation.opened.session_id

    @property
    def harness(self) -> HarnessIdentity:
        """Which harness this is."""
        return HarnessIdentity(
            name=self._adapter.manifest.name,
            version=self._conversation.opened.version,
            sha256=self._spec.binary.sha256,
        )

    @property
    def opened(self) -> Opened:
        """What the newest process said at opening: version, policy asked and effective, model."""
        return self._conversation.opened

    @property
    def turn(self) -> Turn | None:
        """The turn that is active now."""
        running = self._running
        if running is not None and running.state is not TurnState.ENDED:
            return running
        return next((turn for turn in reversed(self.turns) if turn.state is not TurnState.ENDED), None)

    @property
    def foreign_turns(self) -> tuple[ForeignTurn, ...]:
        """Turns that the harness opened by itself, all interrupted."""
        return self._foreign.seen

    @property
    def link(self) -> Link | None:
        """The running process and its connection, for calls that only this harness has. No contract covers it."""
        return self._conversation.link

    def record_file(self, turn: Turn) -> Path:
        """Where the record of a turn is kept, in a session that was opened with `record_dir`.

        Raises:
            BadRequest: the session keeps no records.
            CheckreinError: it could not be written.
        """
        if self._keeper is None:
            raise BadRequest("the session keeps no records", advice="open it with record_dir")
        if self._keeper.fault is not None:
            raise self._keeper.fault
        return self._keeper.path(turn)

    async def start(self, prompt: str) -> Turn:
        """Start a turn; returns when the harness runs it.

        Args:
            prompt: what the agent is to do.

        Raises:
            TurnActive: another turn runs.
            SessionClosed: the session is closed.
            BadRequest: the prompt is no Unicode text.
            CheckreinError: the harness could not be started again, or refused the prompt.
        """
        check_text(prompt, "prompt")
        self._settings.acts(Act(kind=ActKind.START, text=prompt))
        return await self._begin(prompt)

    async def steer(self, text: str) -> Steer:
        """Add a message to the active turn.

        Raises:
            SteerRejected: no turn is active, or the turn cannot take it; the model never sees it.
            BadRequest: the text is no Unicode text.
        """
        turn = self.turn
        if turn is not None and not self._closing:
            return await turn.steer(text)
        check_text(text, "steer")
        self._settings.acts(Act(kind=ActKind.STEER, text=text))
        if self._closing:
            raise SteerRejected(SteerReason.CLOSING)
        if self._settings.manifest.lacks(Capability.STEER):
            raise SteerRejected(SteerReason.UNSUPPORTED)
        raise SteerRejected(SteerReason.NO_ACTIVE_TURN)

    async def send(self, text: str) -> Message:
        """Give the agent a message, whatever it does: it joins the active turn, and if there is none, or if that
        turn ends first, it starts the next one. It is never lost and never delivered twice.

        Returns when the harness took it; `Message.settled` tells which turn has it. A message that waits in a turn
        is dropped with that turn when somebody interrupts it.

        Raises:
            SteerRejected: neither this turn nor the next one can take it.
            SessionClosed: the session is closed.
            BadRequest: the text is no Unicode text.
            CheckreinError: the turn that it was to start could not be started.
        """
        check_text(text, "message")
        self._settings.acts(Act(kind=ActKind.SEND, text=text))
        if self._closing:
            raise SessionClosed("the session is closed", advice="open it again with resume")
        return await self._sender.send(text)

    async def interrupt(self, message: str | None = None) -> Outcome:
        """Stop the active turn.

        Raises:
            NoActiveTurn: there is none; nothing was sent.
        """
        turn = self.turn
        if turn is None:
            self._settings.acts(Act(kind=ActKind.INTERRUPT, text=message or ""))
            raise NoActiveTurn("no turn is active", advice="start one first")
        return await turn.interrupt(message)

    async def close(self) -> None:
        """Interrupt what runs, end the process and everything it started. Returns when nothing is left."""
        if not self._closing:
            self._settings.acts(Act(kind=ActKind.CLOSE))
        self._closing = True
        if self._starting is not None:
            self._starting.cancel()
        async with self._lock:
            turn = self.turn
            if turn is not None:
                await turn.stop()
            if self.link is not None:
                await self.link.aclose()

    async def open(self) -> None:
        """Start the first process. `open_session` does this."""
        await self._conversation.open()

    # Starting a turn

    async def _begin(self, prompt: str) -> Turn:
        """As `start`, for what the caller has asked for by another name: a message, or to carry on with one."""
        check_text(prompt, "prompt")
        async with self._lock:
            self._refuse_start()
            with anyio.CancelScope() as self._starting:
                try:
                    return await self._start(prompt)
                finally:
                    self._starting = None
        raise SessionClosed("the session was closed while the turn was being started")

    async def _start(self, prompt: str) -> Turn:
        await self._late_steers_settled()
        await self._foreign.ended()
        self._refuse_start()
        link = await self._conversation.fresh_link()
        self._children = frozenset(child.pid for child in await link.process.children())
        turn = self._new_turn(link, str(uuid.uuid4()), prompt, opened_by="prompt")
        if self._conversation.take_begun_anew():
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
        except (CallRefused, TurnActive) as error:
            turn.fail(error)
            raise
        except CheckreinError as error:
            # The harness may have the prompt: it must not run on unseen.
            await self._give_up(link, turn, error)
            raise
        except BaseException:
            with anyio.CancelScope(shield=True):
                if turn.state is not TurnState.ENDED:
                    await turn.stop()
            raise
        return turn

    async def _give_up(self, link: Link, turn: Turn, error: CheckreinError) -> None:
        turn.fail(error)
        link.condemn(error.what)
        await link.wait_lost()

    def _has_answer(self) -> bool:
        return any(turn.ended and turn.ended.status is OutcomeStatus.COMPLETED for turn in self.turns)

    def _process_gone(self, error: HarnessDied) -> None:
        self._foreign.closed()
        self._running = None
        for turn in self.turns:
            turn.process_gone(error)

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
        if self._active is None or self.link is None or self.link.lost is not None:
            return
        with anyio.move_on_after(self._spec.call_seconds):
            for steer in self._active.steers:
                if steer.state in OPEN_STEERS:
                    await steer.settled()

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
            carry_on=self._begin,
            recorder=self._record,
            changed=self._note,
        )
        self._active = turn
        self.turns += (turn,)
        if self._keeper is not None:
            self._keeper.begin(turn)
        return turn

    def _note(self, turn: Turn, event: Event) -> None:
        if self._keeper is not None:
            self._keeper.note(turn, event)

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
        # Most of what a harness says is text and tool calls of the turn that runs: they take the short way.
        if isinstance(event, UsageReported | TurnOpened | TurnClosed | SteerMoved | ConversationNamed):
            self._conversation_event(event)
        elif self._foreign.running:
            return
        elif self._active is not None and (state := self._active.state) is not TurnState.ENDED:
            if state is not TurnState.STARTING or not isinstance(event, OF_THE_TURN):
                self._active.apply(event)
        elif isinstance(event, Asked) and self.turn is None and self.link is not None:
            self._tasks.start_soon(self._deny, self.link, event.question)

    def _conversation_event(
        self, event: UsageReported | TurnOpened | TurnClosed | SteerMoved | ConversationNamed
    ) -> None:
        match event:
            case UsageReported():
                self._meter.report(event)
            case TurnOpened():
                self._turn_opened(event)
            case TurnClosed():
                self._turn_closed(event)
            case ConversationNamed(session_id=session_id):
                self._conversation.named(session_id)
            case SteerMoved():
                # Of whichever turn it was sent to, which need not be the one that runs.
                for turn in self.turns:
                    turn.apply(event)

    def _turn_opened(self, event: TurnOpened) -> None:
        turn = self._turn_of(event.prompt_id)
        if turn is None:
            self._running = None
            self._foreign.opened(event, self.link)
            return
        self._foreign.closed()
        before = self._running
        if before is not None and before is not turn:
            before.fail(
                CheckreinError("the harness went on with another prompt before it had ended this turn")
            )
        self._conversation.had_turn = True
        self._running = self._active = turn
        self._meter.turn_started()
        turn.apply(event)

    def _turn_called(self, turn_id: str) -> Turn | None:
        return next((turn for turn in self.turns if turn.id == turn_id), None)

    def _turn_of(self, prompt_id: str | None) -> Turn | None:
        """The turn that a prompt of ours or a late steer opens; None when nothing of ours may run by that id."""
        if prompt_id is None:
            return None
        if (turn := self._turn_called(prompt_id)) is not None:
            return turn if turn.state is not TurnState.ENDED else None
        found = (turn.steer_of(prompt_id) for turn in self.turns)
        late = next((steer for steer in found if steer is not None), None)
        if late is None or self.link is None:
            return None
        late.move(SteerState.QUEUED, "it came too late for its turn and started the next one")
        if late.state is not SteerState.QUEUED:
            return None  # rejected, withdrawn or delivered before: it must not run
        return self._new_turn(self.link, prompt_id, late.text, opened_by="steer")

    async def _deny(self, link: Link, question: Question) -> None:
        try:
            await link.connection.answer(question, Decision(kind=DecisionKind.DENY))
        except Exception as error:
            link.condemn(f"a question that no turn asked could not be answered: {error}")

    def _turn_closed(self, event: TurnClosed) -> None:
        if self._foreign.running:
            self._foreign.closed()
        elif (turn := self._running or self.turn) is not None:
            turn.apply(event)
        self._running = None
