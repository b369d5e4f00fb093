"""Forgiving messages: each joins the running turn, and starts the next one if that turn ends first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup

from checkrein.adapters.errors import CheckreinError, SteerReason, SteerRejected, TurnActive
from checkrein.adapters.outcome import OutcomeStatus
from checkrein.adapters.steering import Steer, SteerState
from checkrein.adapters.turn import Turn

#: Why a turn did not take a message that the next one can take.
FOR_THE_NEXT_TURN = frozenset(
    {
        SteerReason.NO_ACTIVE_TURN,
        SteerReason.TURN_ENDED,
        SteerReason.INTERRUPTING,
        SteerReason.NOT_STEERABLE,
        SteerReason.UNSUPPORTED,
    }
)


class Message:
    """A message that was sent to a session.

    Attributes:
        text: as given.
        steer: the steer as which it was added to a running turn; None while it starts a turn of its own.
        turn: the turn that has it, once that is known.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.steer: Steer | None = None
        self.turn: Turn | None = None
        self._error: CheckreinError | None = None
        self._over = anyio.Event()

    async def settled(self) -> Turn | None:
        """Wait until it is known which turn has the message, and return that turn.

        None when no turn gets it any more: it was withdrawn, dropped by an interrupt, or the harness died with it
        (`steer.state` says which).

        Raises:
            CheckreinError: the turn that it was to start could not be started.
        """
        await self._over.wait()
        if self._error is not None:
            raise self._error
        return self.turn

    def in_turn(self, turn: Turn | None) -> None:
        """That turn has it, or none ever will."""
        self.turn = turn
        self._over.set()

    def not_started(self, error: CheckreinError) -> None:
        """Its turn could not be started."""
        self._error = error
        self._over.set()


class Sender:
    """Sends the messages of one session, in order.

    Args:
        active: the turn that is active now.
        opened_by: the turn that the steer of that id started, if it did.
        start: starts a turn.
        tasks: where messages are followed until they are settled.
    """

    def __init__(
        self,
        *,
        active: Callable[[], Turn | None],
        opened_by: Callable[[str], Turn | None],
        start: Callable[[str], Awaitable[Turn]],
        tasks: TaskGroup,
    ) -> None:
        self._active = active
        self._opened_by = opened_by
        self._start = start
        self._tasks = tasks
        self._in_order = anyio.Lock()
        #: Steers that are followed, in the order in which they were sent; each with its event: it is handed on.
        self._followed: list[tuple[Steer, anyio.Event]] = []

    async def send(self, text: str) -> Message:
        """Send a message; returns when the harness took it, or when its acknowledgement was lost.

        Raises:
            SteerRejected: neither this turn nor the next one can take it.
            CheckreinError: the turn that it was to start could not be started.
        """
        message = Message(text)
        # What the turn before has dropped comes first.
        await _all_set([handed_on for steer, handed_on in self._followed if steer.state.settled])
        await self._place(message)
        return message

    async def _place(self, message: Message) -> None:
        async with self._in_order:
            while not (await self._steered(message) or await self._started(message)):
                pass

    async def _steered(self, message: Message) -> bool:
        turn = self._active()
        if turn is None:
            return False
        try:
            steer = await turn.take(message.text)
        except SteerRejected as rejected:
            if rejected.reason not in FOR_THE_NEXT_TURN:
                raise
            await turn.outcome()
            return False
        message.steer = steer
        handed_on = anyio.Event()
        earlier = [before for _, before in self._followed]
        self._followed.append((steer, handed_on))
        self._tasks.start_soon(self._follow, message, turn, earlier, handed_on)
        return True

    async def _started(self, message: Message) -> bool:
        if self._active() is not None:
            return False
        message.steer = None
        try:
            message.in_turn(await self._start(message.text))
        except TurnActive:
            # Somebody else started one meanwhile: join that.
            if self._active() is None:
                raise
            return False
        return True

    async def _follow(
        self, message: Message, turn: Turn, earlier: list[anyio.Event], handed_on: anyio.Event
    ) -> None:
        steer = message.steer
        assert steer is not None
        try:
            match await steer.settled():
                case SteerState.DELIVERED:
                    message.in_turn(turn)
                case SteerState.QUEUED:
                    await self._queued(message, turn, steer)
                case SteerState.CANCELLED if not steer.withdrawn and not await _interrupted(turn):
                    # The turn ended without it (Codex forgets an accepted steer then).
                    await _all_set(earlier)
                    await self._place(message)
                case _:
                    message.in_turn(None)
        except CheckreinError as error:
            message.not_started(error)
        finally:
            handed_on.set()
            self._followed.remove((steer, handed_on))

    async def _queued(self, message: Message, turn: Turn, steer: Steer) -> None:
        opened = self._opened_by(steer.id)
        if opened is None and not await _interrupted(turn):
            # It is part of the conversation, but no turn has begun with it (Codex 0.162.1, 3 of 123 at the end of
            # a turn): one without a prompt of its own shows it to the model, once.
            async with self._in_order:
                opened = self._active() or await self._start("")
        message.in_turn(opened)


async def _interrupted(turn: Turn) -> bool:
    return (await turn.outcome()).status is OutcomeStatus.INTERRUPTED


async def _all_set(events: list[anyio.Event]) -> None:
    for event in events:
        await event.wait()
