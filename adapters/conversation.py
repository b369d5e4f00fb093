"""One conversation, kept across processes: which process serves it now, and how the next one takes it up."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace

from anyio.abc import TaskGroup

from checkrein.adapters.errors import SessionClosed, SessionNotFound, Unsupported
from checkrein.adapters.interface import HarnessAdapter, Opened, Origin, SessionSpec
from checkrein.adapters.link import Link, LinkSink
from checkrein.adapters.manifest import Capability
from checkrein.adapters.transport import Tap
from checkrein.adapters.usage import UsageMeter


class Conversation:
    """The process of a session, renewed when that is needed.

    Args:
        adapter: of the harness.
        spec: for the first process.
        sink: where every process delivers.
        tasks: where the reading of each process runs.
        tap: sees every line.
        meter: told when a new process begins to count.
        has_answer: whether a turn was completed, so that the conversation must be on disk.

    Attributes:
        link: the process that serves it; None before the first one and while it is renewed.
        had_turn: a turn ran.
    """

    def __init__(
        self,
        *,
        adapter: HarnessAdapter,
        spec: SessionSpec,
        sink: LinkSink,
        tasks: TaskGroup,
        tap: Tap | None,
        meter: UsageMeter,
        has_answer: Callable[[], bool],
    ) -> None:
        self.link: Link | None = None
        self.had_turn = False
        self._adapter = adapter
        self._spec = spec
        self._sink = sink
        self._tasks = tasks
        self._tap = tap
        self._meter = meter
        self._has_answer = has_answer
        self._opened: Opened | None = None
        self._begun_anew = False

    @property
    def opened(self) -> Opened:
        """What the newest process said at opening.

        Raises:
            SessionClosed: there is none yet.
        """
        if self._opened is None:
            raise SessionClosed(
                "the session is not open", advice="use it inside `async with open_session(...)`"
            )
        return self._opened

    async def open(self) -> None:
        """Start the first process."""
        self.link = await self._start(self._spec)

    async def fresh_link(self) -> Link:
        """The link for the next turn: a new process when the old one is gone, or holds a grant of the last turn."""
        link = self.link
        if link is not None and link.usable and not link.connection.holds_grants:
            return link
        if link is not None:
            await link.aclose()
            self.link = None
        self.link = await self._renewed()
        return self.link

    def named(self, session_id: str) -> None:
        """The harness told the id that the conversation goes by."""
        self._opened = replace(self.opened, session_id=session_id)

    def take_begun_anew(self) -> bool:
        """Whether the harness had kept nothing, so that the conversation began anew; told once."""
        anew, self._begun_anew = self._begun_anew, False
        return anew

    async def _start(self, spec: SessionSpec) -> Link:
        self._meter.process_started(continued=spec.origin is not Origin.NEW)
        link, self._opened = await Link.start(
            self._adapter, spec, sink=self._sink, tasks=self._tasks, tap=self._tap
        )
        return link

    async def _renewed(self) -> Link:
        again = (
            replace(self._spec, session_id=str(uuid.uuid4()))
            if self._spec.origin is Origin.NEW
            else self._spec
        )
        if not self.had_turn:
            # A conversation without a turn is not on disk and cannot be resumed (Claude Code 2.1.332).
            return await self._start(again)
        manifest = self._adapter.manifest
        if manifest.lacks(Capability.RESUME):
            raise Unsupported(
                f"the process of the conversation is gone, and {manifest.title} cannot take one up again",
                where=manifest.name,
                advice="open a new session",
            )
        try:
            resumed = replace(self._spec, origin=Origin.RESUME, session_id=self.opened.session_id)
            return await self._start(resumed)
        except SessionNotFound:
            # Nor is one whose first turn was cut off before its answer began (Claude Code 2.1.332): there is
            # nothing to continue. Anything else that is gone is an error.
            if self._has_answer():
                raise
            self._begun_anew = True
            return await self._start(again)
