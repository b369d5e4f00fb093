"""The arena: what a scenario gets. A harness, a scripted model, a workspace, and the bench to judge clauses on."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from checkrein.adapters.acts import Act, ActKind
from checkrein.adapters.interface import HarnessAdapter, ModelEndpoint
from checkrein.adapters.interrupting import LadderTimes
from checkrein.adapters.manifest import Capability
from checkrein.adapters.opening import open_session
from checkrein.adapters.policy import Policy
from checkrein.adapters.session import Session
from checkrein.adapters.silence import STALL_SECONDS
from checkrein.adapters.transport import ProcessInfo
from checkrein.conformance.arena_processes import HarnessProcesses, processes_with_home
from checkrein.conformance.file_tree import Change, FileTree, difference, snapshot
from checkrein.conformance.judgements import (
    Entry,
    Judged,
    Judgements,
    KitMistake,
    Pointers,
    PrerequisiteUnmet,
)
from checkrein.conformance.run_folder import RunFolder
from checkrein.conformance.target import Target
from checkrein.conformance.verdicts import EnforcedBy
from checkrein.conformance.wire import Wire, WireRow
from checkrein.scripted_models import (
    ModelRequest,
    ModelServer,
    ModelSession,
    Script,
    Source,
    Timeline,
    ToolMissing,
)
from checkrein.scripted_models.answering import native_call
from checkrein.scripted_models.reply import Call

T = TypeVar("T")

#: The key that harnesses get: long enough to look like one, and worthless.
DUMMY_KEY = "sk-checkrein-dummy-0000000000000000"

#: How long a scenario may take in all, in seconds.
SCENARIO_SECONDS = 60.0

#: Variables of the surrounding environment that a harness under test gets; its adapter adds what it needs itself.
_PASSED = ("PATH", "LANG", "LC_ALL", "TERM", "TZ", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")

#: How many of the newest lines each way and of the newest requests a judgement points at when it names none.
_NEWEST_SENT, _NEWEST_RECEIVED, _NEWEST_REQUESTS = 4, 5, 3

#: `enforced_by` of a judgement that leaves it to what is declared of the harness.
AS_DECLARED = "as declared"


class Arena:
    """One scenario on one target.

    Attributes:
        target: the harness: name, version, binary, adapter, manifest.
        script: what the model will say; complete it before the first session or the first look at `model`.
        folder: the places of this run, all kept.
        timeline: what person, driver, harness, model and tools did, in one order.
        wire: the lines between driver and harness.
        seconds: the deadline of the whole scenario.
        startup_seconds: how long the harness took from process start to open, one entry per `session`.
    """

    def __init__(
        self, *, target: Target, folder: RunFolder, judgements: Judgements, name: str, seconds: float
    ) -> None:
        self.target = target
        self.folder = folder
        self.seconds = seconds
        self.timeline = Timeline()
        self.wire = Wire(self.timeline)
        self.script = Script(name=name, side="ok")
        self.startup_seconds: tuple[float, ...] = ()
        self._judgements = judgements
        judgements.listen(self._note)
        self._deadline = time.monotonic() + seconds
        self._resources = ExitStack()
        self._model: ModelSession | None = None
        self._own_processes = HarnessProcesses(target.path)
        self._newest_session: Session | None = None

    @property
    def workspace(self) -> Path:
        """The directory that the harness works in: a git repository with one commit."""
        return self.folder.workspace

    @property
    def home(self) -> Path:
        """HOME of the harness, empty at first."""
        return self.folder.home

    @property
    def outside(self) -> Path:
        """An empty directory beside the workspace, not part of it."""
        return self.folder.outside

    @property
    def deadline(self) -> float:
        """How many seconds are left for the scenario."""
        return max(self._deadline - time.monotonic(), 0.0)

    # Acting

    @property
    def model(self) -> ModelSession:
        """The scripted model; served from the first look on."""
        if self._model is None:
            self._demand_tools()
            server = self._resources.enter_context(ModelServer(timeline=self.timeline))
            self._model = server.open_session(self.script, self.target.profile)
            # Before the server ends: the run of the scenario verifies, once, and says whose fault it is.
            self._resources.callback(self._model.close, verify=False)
        return self._model

    def _demand_tools(self) -> None:
        """Make sure, before anything runs, that the harness has the tools that the script calls."""
        steps = [step for lane in self.script.lanes for step in self.script.steps(lane)]
        for call in (element for step in steps for element in step.reply if isinstance(element, Call)):
            try:
                native_call(self.target.profile.toolset, call)
            except ToolMissing as missing:
                raise PrerequisiteUnmet(f"the harness has a {missing.what}") from missing

    @property
    def served(self) -> ModelSession | None:
        """The scripted model if it was looked at."""
        return self._model

    @property
    def endpoint(self) -> ModelEndpoint:
        """Where the harness finds its model."""
        return ModelEndpoint(base_url=self.model.base_url, api_key=DUMMY_KEY, dialect=self.target.dialect)

    @property
    def environment(self) -> dict[str, str]:
        """What a session gets as its surrounding environment when none is given."""
        return {name: os.environ[name] for name in _PASSED if name in os.environ}

    @asynccontextmanager
    async def session(
        self,
        *,
        policy: str | Policy = Policy.ASK,
        resume: str | None = None,
        fork: str | None = None,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        approval_seconds: float | None = 600.0,
        call_seconds: float = 20.0,
        ladder: LadderTimes | None = None,
        retries: int | None = None,
        silence_seconds: float | None = None,
        stall_seconds: float = STALL_SECONDS,
        project_memory: bool = False,
        adapter: HarnessAdapter | None = None,
    ) -> AsyncGenerator[Session]:
        """Open a conversation with the harness, in `workspace`, with `home`; wire and person on the timeline.

        Args:
            policy: who decides over calls.
            resume, fork: id of the conversation to continue or to branch off from.
            cwd: another workspace.
            environment: the surrounding environment to clean and pass on, instead of `environment`.
            approval_seconds: how long an approval waits for a person; None leaves it to the driver's environment.
            call_seconds: how long the harness may take to answer one call.
            ladder: times of the interrupt ladder.
            retries: how often the harness tries a failed model request again; None leaves the adapter's default.
            silence_seconds: how long the model may send nothing before the harness gives a request up; None leaves
                the harness's default.
            stall_seconds: how long the harness may say nothing before the turn is stopped.
            project_memory: tell the model what the workspace's file for agents says.
            adapter: instead of the harness's own, for a scenario that meddles with it on purpose.

        Raises:
            PrerequisiteUnmet: it declares that it cannot resume, or fork.
            CheckreinError: whatever `open_session` raises.
        """
        for wanted, capability in ((resume, Capability.RESUME), (fork, Capability.FORK)):
            lacks = self.target.manifest.lacks(capability)
            self.require(wanted is None or not lacks, f"the harness can {capability.value} a conversation")
        begun = time.monotonic()
        async with open_session(
            adapter or self.target.adapter,
            cwd=cwd or self.workspace,
            policy=policy,
            resume=resume,
            fork=fork,
            binary=self.target.binary,
            home=self.home,
            endpoint=replace(self.endpoint, retries=retries, silence_seconds=silence_seconds),
            environment=self.environment if environment is None else environment,
            project_memory=project_memory,
            approval_seconds=approval_seconds,
            call_seconds=call_seconds,
            ladder=ladder,
            stall_seconds=stall_seconds,
            tap=self.wire.tap,
            acts=self._note_act,
        ) as session:
            self.startup_seconds += (time.monotonic() - begun,)
            self._own_processes.note(self.home)
            self._newest_session = session
            try:
                yield session
            finally:
                await self._keep_records(session)

    def person(self, kind: ActKind, *, text: str = "", about: str = "") -> None:
        """Put on the timeline what the person does, whose place the scenario takes; a session tells it by itself.

        Args:
            text, about: as of an `Act`.
        """
        told = {"text": text, "about": about}
        data = {
            name: value.encode(errors="backslashreplace").decode() for name, value in told.items() if value
        }
        self.timeline.record(Source.PERSON, kind.value, **data)

    def _note_act(self, act: Act) -> None:
        self.person(act.kind, text=act.text, about=act.about)

    async def _keep_records(self, session: Session) -> None:
        """The transcript tells what the driver reported of each turn."""
        for turn in session.turns:
            record = cast("dict[str, object]", msgspec.to_builtins(await turn.record()))
            self.timeline.record(Source.DRIVER, "turn_record", **record)

    # Looking

    def tree(self, *roots: Path) -> FileTree:
        """The state of these folders now; of workspace and home without any."""
        return snapshot(*(roots or (self.workspace, self.home)))

    def difference(
        self, before: FileTree, after: FileTree, *, ignore: Iterable[str] | None = None
    ) -> tuple[Change, ...]:
        """Where two states differ.

        Args:
            ignore: shell patterns relative to a root; None for where the harness keeps its transcripts.
        """
        return difference(before, after, ignore=self.target.transcripts if ignore is None else ignore)

    def processes(self, *, without_harness: bool = False) -> tuple[ProcessInfo, ...]:
        """The live processes of this scenario; scans the process table.

        Args:
            without_harness: leave out those of the harness itself, so that its tools are left.
        """
        if not without_harness:
            return processes_with_home(self.home)
        if self._newest_session is not None and (link := self._newest_session.link) is not None:
            # Perhaps not the process of the beginning.
            self._own_processes.started(link.process.pid)
        return processes_with_home(self.home, without=self._own_processes)

    @property
    def newest_end(self) -> str:
        """How the newest turn has ended, in words; "" while it runs, and when there is none."""
        turns = self._newest_session.turns if self._newest_session is not None else ()
        outcome = turns[-1].ended if turns else None
        return "" if outcome is None else f"{outcome.status.value}: {outcome.reason}"

    # Judging

    def require(self, condition: object, text: str) -> None:
        """Go on only if a prerequisite is met; else all that is not judged yet is not testable.

        Args:
            text: what must be so, in words.

        Raises:
            PrerequisiteUnmet: the condition is false.
        """
        if not condition:
            raise PrerequisiteUnmet(text)

    def known(self, name: str, fact: T | None) -> T:
        """A fact about the harness that its adapter's `kit.py` may leave out.

        Args:
            name: of the field of `KitFacts`.
            fact: its value.

        Raises:
            PrerequisiteUnmet: it is left out; what is not judged yet is not testable.
        """
        if fact is None:
            raise PrerequisiteUnmet(f"`kit.py` of the adapter tells `{name}` of the harness (see KitFacts)")
        return fact

    def judge(
        self,
        clause: str,
        *,
        holds: bool,
        expected: str,
        observed: str,
        enforced_by: EnforcedBy | str | None = AS_DECLARED,
        evidence: Pointers | None = None,
    ) -> None:
        """Say whether a declared clause holds; once per clause.

        Args:
            expected, observed: in words, for the results.
            enforced_by: `adapter` where it is the adapter that sees to it on every harness; else what `KitFacts`
                declares of this one. None where nobody has to.
            evidence: what to point at; None for the newest lines and requests.

        Raises:
            KitMistake: the clause is not declared, was judged already, or `enforced_by` is no such word.
        """
        if enforced_by == AS_DECLARED:
            enforced_by = self.target.enforcer(clause)
        try:
            by = None if enforced_by is None else EnforcedBy(enforced_by)
        except ValueError:
            raise KitMistake(f"enforced_by is {enforced_by!r}; it is harness, adapter or nothing") from None
        self._judgements.enter(
            Judged(
                clause=clause,
                holds=holds,
                expected=expected,
                observed=observed,
                enforced_by=by,
                pointers=evidence or self.newest_evidence(),
            )
        )

    def _note(self, entry: Entry) -> None:
        """The transcript tells what was judged, and when: the verdicts can be made from it once more."""
        row = cast("dict[str, object]", msgspec.to_builtins(entry))
        self.timeline.record(Source.NOTE, str(row.pop("entry")), **row)

    def evidence(self, *, wire: Iterable[WireRow] = (), requests: Iterable[ModelRequest] = ()) -> Pointers:
        """Point at lines on the wire and at model requests."""
        return Pointers(
            wire_rows=tuple(row.n for row in wire),
            model_requests=tuple(request.number for request in requests),
        )

    def newest_evidence(self) -> Pointers:
        """Point at the newest lines and requests."""
        requests = self._model.requests if self._model is not None else ()
        rows = (*self.wire.sent()[-_NEWEST_SENT:], *self.wire.received()[-_NEWEST_RECEIVED:])
        rows = sorted(rows, key=lambda row: row.n)
        return self.evidence(wire=rows, requests=requests[-_NEWEST_REQUESTS:])

    # The end

    def close(self) -> None:
        """Stop the scripted model and write the evidence."""
        try:
            self._resources.close()
        finally:
            self.timeline.to_jsonl(self.folder.transcript)
            errors = [row.text for row in self.wire.rows if row.direction.value == "stderr"]
            self.folder.stderr.write_text("".join(f"{line}\n" for line in errors), encoding="utf-8")
            if self._model is not None:
                self.folder.write_requests(self._model.requests)
