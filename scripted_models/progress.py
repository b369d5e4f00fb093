"""How far a step has come: asked for, answered, or broken off by the client."""

from dataclasses import dataclass

from checkrein.scripted_models.script import Step
from checkrein.scripted_models.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class HangUp:
    """The client closed the connection while it was being answered.

    `after_events`: how many events had been handed to the connection (0: not even headers, or a plain answer).
    """

    after_events: int
    at_ms: float
    request: int


class StepProgress:
    """One step of the script in this session. The waits raise DeadlineExceeded after `timeout` seconds."""

    def __init__(self, definition: Step, stage: Stage) -> None:
        self.definition = definition
        self._stage = stage
        self.requests: list[int] = []
        self.answered = 0
        self.hang_ups: list[HangUp] = []

    def __str__(self) -> str:
        return str(self.definition)

    @property
    def is_used_up(self) -> bool:
        """Whether all requests that this step answers have come."""
        if self.definition.until is not None:
            return self.definition.until.is_open
        return len(self.requests) >= self.definition.times

    @property
    def in_flight(self) -> int:
        """How many of its requests are neither answered nor hung up."""
        return len(self.requests) - self.answered - len(self.hang_ups)

    async def requested(self, *, timeout: float) -> int:
        """Wait until the step's first request has come, and return that request's number."""
        return await self._stage.wait(
            lambda: self.requests[0] if self.requests else None, f"a request for {self}", timeout
        )

    async def finished(self, *, timeout: float) -> None:
        """Wait until the step has been sent as often as it is to be (a cut counts as sent)."""
        await self._stage.wait(
            lambda: self.answered >= self.definition.times or None, f"{self} to be sent whole", timeout
        )

    async def hung_up(self, *, timeout: float) -> HangUp:
        """Wait until the client has hung up on the step, and return the first such event."""
        return await self._stage.wait(
            lambda: self.hang_ups[0] if self.hang_ups else None, f"a hang-up on {self}", timeout
        )
