"""One run of a one-shot harness, which is one turn: it takes a prompt, and then nothing more."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from checkrein.adapters.errors import CallRefused, SteerReason, SteerRejected, Unsupported
from checkrein.adapters.interface import Connection, Decision, Opened, SessionSpec
from checkrein.adapters.native import (
    ConversationNamed,
    NativeEvent,
    Question,
    TurnClosed,
    TurnOpened,
    TurnStatus,
    Usage,
    UsageReported,
    UsageScope,
)
from checkrein.adapters.oneshot.description import Description, OutputFormat, UsageCount
from checkrein.adapters.oneshot.reading import OutputReader
from checkrein.adapters.oneshot.starter import STARTED
from checkrein.adapters.transport import ExitStatus, HarnessProcess

#: The longest word that Linux takes on a command line, in bytes, its end included.
LONGEST_WORD_BYTES = 128 * 1024

#: How much of the standard error goes into a reason, in characters.
LAST_WORDS = 400


class UsageSoFar:
    """What each conversation had used when its last run ended, for harnesses that count over the runs."""

    def __init__(self) -> None:
        self._totals: dict[str, Usage] = {}

    def begins(self, session_id: str) -> Usage | None:
        """What the conversation has used; None when that is not known. Forgotten until `ended` tells it anew."""
        return self._totals.pop(session_id, None)

    def ended(self, session_id: str, total: Usage) -> None:
        """A run has told what the conversation has used by now."""
        self._totals[session_id] = total


class OneShotConnection(Connection):
    """The process of one run: first the starter, then the harness's program in its place.

    Args:
        spec: what was launched.
        process: the starter.
        description: of the harness.
        command_line: the words that run a prompt.
        continued: the run takes up a conversation that exists.
        so_far: kept over the runs.
    """

    def __init__(
        self,
        spec: SessionSpec,
        process: HarnessProcess,
        *,
        description: Description,
        command_line: Callable[[str], tuple[str, ...]],
        continued: bool,
        so_far: UsageSoFar,
    ) -> None:
        super().__init__(spec, process)
        self._description = description
        self._command_line = command_line
        self._so_far = so_far
        self._session_id = spec.session_id
        self._used_before = so_far.begins(spec.session_id) if continued else Usage()
        self._reader = OutputReader(description.output)
        self._turn_id: str | None = None
        self._runs = False

    def decode(self, lines: list[bytes]) -> Iterator[NativeEvent]:
        """See `Connection.decode`."""
        for line in lines:
            if self._runs:
                for event in self._reader.read(line):
                    if isinstance(event, ConversationNamed):
                        self._session_id = event.session_id
                    yield event
            elif line == STARTED.rstrip():
                self._runs = True
                yield TurnOpened(native_id="", prompt_id=self._turn_id)

    def ended(self, status: ExitStatus | None, stderr: str) -> Iterator[NativeEvent]:
        """See `Connection.ended`: it closes the turn, which has failed unless all says that it has not."""
        if not self._runs:
            return
        yield from self._reader.end()
        if (used := self._used()) is not None:
            yield UsageReported(usage=used, scope=UsageScope.TURN)
        words = "still running" if status is None else str(status)
        failure = self._reader.failure
        if not failure and not self._reader.said_all and (status is None or status.code != 0):
            failure = (
                f"its last words were: {stderr[-LAST_WORDS:].strip()}" if stderr.strip() else "no reason"
            )
        yield TurnClosed(
            native_id="",
            status=TurnStatus.FAILED if failure else TurnStatus.COMPLETED,
            reason=f"{words}: {failure}" if failure else f"the harness ended with {words}",
            native_status=f"{self._reader.status}, {words}" if self._reader.status else words,
        )

    def _used(self) -> Usage | None:
        """What this run has used; None when nothing was told, or it cannot be told apart from the runs before."""
        total = self._reader.told.get(UsageCount.CONVERSATION)
        if total is None:
            return self._reader.told.get(UsageCount.TURN)
        self._so_far.ended(self._session_id, total)
        before = self._used_before
        if before is None:
            return None
        return Usage(
            input_tokens=_minus(total.input_tokens, before.input_tokens),
            cached_tokens=_minus(total.cached_tokens, before.cached_tokens),
            output_tokens=_minus(total.output_tokens, before.output_tokens),
            cost_usd=None if total.cost_usd is None else total.cost_usd - (before.cost_usd or 0.0),
        )

    def take_replies(self) -> list[bytes]:
        """See `Connection.take_replies`: nothing can be said to a run."""
        return []

    def fail_calls(self, error: Exception) -> None:
        """See `Connection.fail_calls`: no call waits."""

    async def open(self) -> Opened:
        """See `Connection.open`: nothing of the harness runs yet, so the version is that of its package."""
        return Opened(
            session_id=self.spec.session_id,
            version=self.spec.binary.version or "unknown",
            policy_asked={},
            policy_effective={},
        )

    async def start_turn(self, turn_id: str, prompt: str) -> None:
        """See `Connection.start_turn`.

        Raises:
            CallRefused: the program would not take the prompt as text, or it is too long for a command line.
        """
        if any(re.fullmatch(text, prompt, re.DOTALL) for text in self._description.not_text):
            raise CallRefused(
                "the harness would take the prompt for something else than text", where=prompt[:80]
            )
        if (size := len(prompt.encode())) >= LONGEST_WORD_BYTES:
            raise CallRefused(
                f"the prompt is too long for a command line: {size} bytes, less than {LONGEST_WORD_BYTES} can be"
            )
        self._turn_id = turn_id
        line = json.dumps({"argv": self._command_line(prompt)})
        await self.send(line.encode(), "the command line")
        await self.process.close_stdin()

    async def steer(self, steer_id: str, text: str) -> None:
        """See `Connection.steer`.

        Raises:
            SteerRejected: always.
        """
        raise SteerRejected(SteerReason.UNSUPPORTED)

    async def interrupt(self) -> None:
        """See `Connection.interrupt`.

        Raises:
            Unsupported: always.
        """
        raise Unsupported(
            "a one-shot harness takes no commands while it runs", where=str(self.spec.binary.path)
        )

    async def settle(self) -> None:
        """See `Connection.settle`: nothing of the run is left."""

    async def answer(self, question: Question, decision: Decision) -> None:
        """See `Connection.answer`.

        Raises:
            Unsupported: always; a one-shot harness asks nothing.
        """
        raise Unsupported("a one-shot harness asks nobody")

    @property
    def holds_grants(self) -> bool:
        """See `Connection.holds_grants`."""
        return False

    @property
    def said_all(self) -> bool:
        """See `Connection.said_all`."""
        return self._reader.said_all

    @property
    def tells_progress(self) -> bool:
        """See `Connection.tells_progress`: where the answer is all that is written, it comes at the end."""
        return self._description.output.format is not OutputFormat.TEXT


def _minus(total: int | None, before: int | None) -> int | None:
    return None if total is None else total - (before or 0)
