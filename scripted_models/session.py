"""One session of a scripted model: routes requests to steps, keeps the log, and holds the run to the script."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import TracebackType

from checkrein.scripted_models.dialect import Dialect
from checkrein.scripted_models.dialects import dialect_named
from checkrein.scripted_models.errors import ScriptError, ScriptViolation, Violation, ViolationKind
from checkrein.scripted_models.invariants import Histories, unpaired
from checkrein.scripted_models.json_reading import JsonObject
from checkrein.scripted_models.lanes import Lane, LaneKind
from checkrein.scripted_models.leftovers import leftovers
from checkrein.scripted_models.profile import HarnessProfile, ParsedRequest
from checkrein.scripted_models.progress import HangUp, StepProgress
from checkrein.scripted_models.reply import Say, Usage
from checkrein.scripted_models.requests import ModelRequest, redact
from checkrein.scripted_models.script import Script, Step
from checkrein.scripted_models.timeline import Timeline

#: Rows of the timeline that a ScriptViolation prints.
SHOWN_ROWS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A logged request and the step that answers it; None if nothing in the script does."""

    request: ModelRequest
    progress: StepProgress | None


class ModelSession:
    """What a driver holds: the address for the harness, the waits, the log and the verdict.

    As a context manager it closes at the end and raises ScriptViolation if the run departed from its script.
    """

    def __init__(
        self, script: Script, profile: HarnessProfile, *, token: str, server_url: str, timeline: Timeline
    ) -> None:
        self.script = script
        self.profile = profile
        self.token = token
        #: Give this to the harness as its API address (Codex wants `/v1` behind it).
        self.base_url = f"{server_url}/s/{token}"
        self.timeline = timeline
        self.dialect: Dialect = dialect_named(profile.dialect)
        self.stage = script.stage
        self.stage.join(timeline, token)
        self._steps = {
            lane: [StepProgress(step, self.stage) for step in script.steps(lane)] for lane in script.lanes
        }
        self._agents: dict[str, int] = {}
        self._requests: list[ModelRequest] = []
        self._violations: list[Violation] = []
        self._histories = Histories(profile.history_rules or self.dialect.settled)
        self._last_activity = time.monotonic()
        self._settle: Callable[[], None] = lambda: None
        self._on_close: Callable[[], None] = lambda: None
        self._closed = False

    def __enter__(self) -> "ModelSession":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(verify=error is None)

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """Every model request so far, all lanes: what the model saw."""
        with self.stage.watch:
            return tuple(self._requests)

    def requests_of(self, lane: Lane | str) -> tuple[ModelRequest, ...]:
        """The requests of one lane."""
        wanted = str(Lane.parse(lane))
        return tuple(request for request in self.requests if str(request.lane) == wanted)

    @property
    def main_requests(self) -> tuple[ModelRequest, ...]:
        """The requests of the main lane."""
        return self.requests_of(Lane.MAIN)

    @property
    def violations(self) -> tuple[Violation, ...]:
        """What has gone against the script so far; leftovers are only known to `verify`."""
        with self.stage.watch:
            return tuple(self._violations)

    def step(self, number: int, *, lane: Lane | str = Lane.MAIN) -> StepProgress:
        """Return the progress of one step of the script; raises ScriptError if there is no such step."""
        steps = self._steps.get(Lane.parse(lane), [])
        if not 0 <= number < len(steps):
            raise ScriptError(f"lane {lane} has {len(steps)} step(s), so no step {number}")
        return steps[number]

    @property
    def hang_ups(self) -> tuple[HangUp, ...]:
        """Every request so far on which the client hung up, of all lanes, in no order."""
        with self.stage.watch:
            return tuple(
                hang_up for steps in self._steps.values() for step in steps for hang_up in step.hang_ups
            )

    async def wait_requests(
        self, count: int, *, timeout: float, lane: Lane | str | None = Lane.MAIN
    ) -> ModelRequest:
        """Wait until `count` requests of the lane (None: of any) have come; return the last of these.

        Raises DeadlineExceeded after `timeout` seconds.
        """

        def come() -> ModelRequest | None:
            found = self.requests if lane is None else self.requests_of(lane)
            return found[count - 1] if len(found) >= count else None

        where = "any lane" if lane is None else f"lane {lane}"
        return await self.stage.wait(come, f"{count} request(s) in {where}", timeout)

    async def quiet_for(self, seconds: float, *, timeout: float) -> None:
        """Wait until no request of any kind has come for `seconds`, counted from this call at the earliest.

        Raises DeadlineExceeded if requests keep coming for `timeout` seconds.
        """
        began = time.monotonic()
        while True:
            quiet_since = max(began, self._last_activity)
            left = quiet_since + seconds - time.monotonic()
            if left <= 0:
                return
            budget = began + timeout - time.monotonic()
            if budget < left:
                await self.stage.wait(lambda: None, f"{seconds:g} s without any request", budget)
            await self.stage.watch.until(partial(self._active_since, quiet_since), left)

    def expect_rewind(self) -> None:
        """The driver has rewound a conversation on purpose: let each next request begin its history anew."""
        with self.stage.watch:
            self._histories.forget_all()

    def verify(self) -> None:
        """Raise ScriptViolation, with the merged timeline, if the run departed from the script in any way."""
        self._settle()
        with self.stage.watch:
            found = (*self._violations, *leftovers(self.script, self._steps, self.timeline.now_ms()))
        if found:
            raise ScriptViolation(violations=found, timeline=self.timeline.render(last=SHOWN_ROWS))

    def close(self, *, verify: bool = True) -> None:
        """End the session: verify, then drop its connections and release its held tools. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            if verify:
                self.verify()
        finally:
            self._on_close()

    def attach(self, *, settle: Callable[[], None], on_close: Callable[[], None]) -> None:
        """For the server: how to let pending network events be seen, and how to drop the connections."""
        self._settle, self._on_close = settle, on_close

    @property
    def is_closed(self) -> bool:
        """Whether `close` has been called."""
        return self._closed

    def note_activity(self) -> None:
        """For the server: something has been asked for, if only a path that no model has."""
        with self.stage.watch:
            self._last_activity = time.monotonic()
            self.stage.watch.changed()

    def violate(
        self, kind: ViolationKind, message: str, *, lane: Lane | None = None, request: int | None = None
    ) -> None:
        """For the server: put a violation on record."""
        with self.stage.watch:
            at_ms = self.timeline.now_ms()
            place = None if lane is None else str(lane)
            self._violations.append(
                Violation(kind=kind, message=message, at_ms=at_ms, lane=place, request=request)
            )
            self.stage.record("violation", violation=kind, message=message, request=request)
            self.stage.watch.changed()

    def admit(self, method: str, path: str, headers: Mapping[str, str], body: JsonObject) -> Admission:
        """For the server: log a request, check it, and find the step that answers it."""
        view = self.dialect.read(body)
        parsed = ParsedRequest(method=method, path=path, headers=headers, body=body, view=view)
        classify = self.profile.classify or self.dialect.classify
        conversation = (self.profile.conversation or self.dialect.conversation)(parsed)
        with self.stage.watch:
            lane = self._numbered(classify(parsed))
            progress = self._next_step(lane, body)
            shown, redacted = redact(headers)
            request = ModelRequest(
                number=len(self._requests) + 1,
                lane=lane,
                step=progress.definition.number if progress is not None else None,
                method=method,
                path=path,
                headers=shown,
                redacted=redacted,
                body=body,
                view=view,
                at_ms=self.timeline.now_ms(),
            )
            self._requests.append(request)
            if progress is not None:
                progress.requests.append(request.number)
            fresh = view.fresh_text
            self.stage.record(
                "request", number=request.number, lane=str(lane), step=request.step, path=path, fresh=fresh
            )
            self._check(request, conversation, progress)
            self.note_activity()
        return Admission(request=request, progress=progress)

    def _active_since(self, moment: float) -> bool | None:
        return self._last_activity > moment or None

    def _numbered(self, lane: Lane) -> Lane:
        if lane.kind is not LaneKind.AGENT or lane.number is not None:
            return lane
        return Lane(LaneKind.AGENT, self._agents.setdefault(lane.key, len(self._agents) + 1))

    def _next_step(self, lane: Lane, body: JsonObject) -> StepProgress | None:
        for progress in self._steps.get(lane, ()):
            if not progress.is_used_up:
                return progress
        if lane == Lane.SIDE and self.script.side is not None:
            text = self.dialect.side_text(self.script.side, body)
            step = Step(lane=lane, number=-1, reply=(Say(text=text),), sees=None, usage=Usage(), times=1)
            return StepProgress(step, self.stage)
        return None

    def _check(self, request: ModelRequest, conversation: str, progress: StepProgress | None) -> None:
        problems: list[tuple[ViolationKind, str]] = []
        if request.lane == Lane.MAIN:
            problems += unpaired(request.view)
            problems += self._histories.changed(conversation, request.view)
        elif request.lane == Lane.COMPACT:
            self._histories.compacted(conversation)
        if progress is None and request.lane != Lane.COUNT_TOKENS:
            sentence = (
                f"nothing in the script answers this; the request's news: {request.view.fresh_text[-300:]!r}"
            )
            problems.append((ViolationKind.UNSCRIPTED_REQUEST, sentence))
        if progress is not None and progress.definition.sees is not None:
            for sentence in progress.definition.sees.mismatches(request.view):
                problems.append((ViolationKind.SEES_MISMATCH, f"{progress}: {sentence}"))
        for kind, sentence in problems:
            self.violate(kind, sentence, lane=request.lane, request=request.number)
