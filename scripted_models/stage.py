"""The stage of one script: the lock and bell its parts share, and the timeline they are recorded on."""

from collections.abc import Callable
from typing import TypeVar

from checkrein.scripted_models.errors import DeadlineExceeded
from checkrein.scripted_models.timeline import Source, Timeline
from checkrein.scripted_models.waiting import Watch

T = TypeVar("T")


class Stage:
    """Shared by a script, its gates, its held tools and the session that plays it.

    Lock order: the stage's lock may be held while the timeline's is taken, never the other way round.
    """

    def __init__(self) -> None:
        self.watch = Watch()
        self.timeline = Timeline()
        self.token = ""

    def join(self, timeline: Timeline, token: str) -> None:
        """Record on `timeline` from now on, under the session's `token`."""
        self.timeline = timeline
        self.token = token

    def record(self, kind: str, *, source: Source = Source.MODEL, **data: object) -> None:
        """Put a row on the timeline."""
        self.timeline.record(source, kind, session=self.token, **data)

    async def wait(self, ready: Callable[[], T | None], what: str, timeout: float) -> T:
        """Wait until `ready` returns a value; raises DeadlineExceeded, with the timeline, after `timeout` seconds."""
        found = await self.watch.until(ready, timeout)
        if found is None:
            raise DeadlineExceeded(waited_for=what, seconds=timeout, timeline=self.timeline.render(last=80))
        return found
