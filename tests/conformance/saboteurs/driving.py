"""Defects of the driver: the adapter's side of an honest agent, which the kit must not take at its word."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from dataclasses import replace
from typing import Any

from checkrein.adapters import record
from checkrein.adapters.acp.connection import AcpConnection
from checkrein.adapters.approvals import Approval, ApprovalDesk, ResolvedBy
from checkrein.adapters.errors import ApprovalStale, NoActiveTurn, SteerReason, SteerRejected
from checkrein.adapters.interface import DecisionKind, HarnessIdentity, Origin
from checkrein.adapters.session import Session
from checkrein.adapters.steering import SteerLedger, SteerState
from checkrein.adapters.turn import Turn
from tests.conformance.saboteurs.defect import Defect, change_property, instead

#: A line that asks for nothing.
NOTHING = b'{"jsonrpc":"2.0","method":"checkrein/nothing"}'


def interrupt_twice() -> None:
    """Each interrupt is sent to the agent twice."""

    def make(interrupt: Any) -> Any:
        async def twice(self: Any) -> None:
            await interrupt(self)
            await interrupt(self)

        return twice

    instead(AcpConnection, "interrupt", make)


def interrupt_nothing() -> None:
    """An interrupt goes to the agent although no turn runs, and is refused then."""

    def make(interrupt: Any) -> Any:
        async def all_the_same(self: Any, message: Any = None) -> Any:
            if self.turn is None:
                await self.link.process.send(NOTHING)
            return await interrupt(self, message)

        return all_the_same

    instead(Session, "interrupt", make)


def interrupt_without_a_word() -> None:
    """An interrupt without a turn looks as if it had worked."""

    def make(interrupt: Any) -> Any:
        async def quiet(self: Any, message: Any = None) -> Any:
            try:
                return await interrupt(self, message)
            except NoActiveTurn:
                return None

        return quiet

    for owner in (Session, Turn):
        instead(owner, "interrupt", make)


def keep_dropped_steers() -> None:
    """A steer that is dropped with its turn is told as accepted."""

    def make(move: Any) -> Any:
        def kept(self: Any, steer: Any, state: SteerState, evidence: str) -> None:
            move(self, steer, SteerState.ACCEPTED if state is SteerState.CANCELLED else state, evidence)

        return kept

    instead(SteerLedger, "_move", make)


def take_a_second_answer() -> None:
    """A second answer to a question is taken without a word, and goes nowhere."""

    def make(answer: Any) -> Any:
        async def taken(self: Any, *words: Any) -> None:
            try:
                await answer(self, *words)
            except ApprovalStale:
                return

        return taken

    instead(ApprovalDesk, "_answer", make)


def send_a_second_answer() -> None:
    """A second answer to a question is refused, and sent all the same."""

    def make_asked(asked: Any) -> Any:
        def noted(self: Any, question: Any) -> None:
            asked(self, question)
            # `send` of the desk is a method of its turn.
            self.approvals[-1].link = self._send.__self__._link

        return noted

    def make(answer: Any) -> Any:
        async def sent(self: Any, approval: Any, *words: Any) -> None:
            try:
                await answer(self, approval, *words)
            except ApprovalStale:
                await approval.link.process.send(NOTHING)
                raise

        return sent

    instead(ApprovalDesk, "asked", make_asked)
    instead(ApprovalDesk, "_answer", make)


def ask_too_briefly() -> None:
    """A question counts as denied before its time is over."""
    instead(ApprovalDesk, "__init__", _with_seconds(lambda seconds: seconds / 2))


def ask_too_long() -> None:
    """A question counts as denied long after its time is over."""
    instead(ApprovalDesk, "__init__", _with_seconds(lambda seconds: seconds + 11))


def _with_seconds(other: Any) -> Any:
    return lambda init: lambda self, **words: init(self, **{**words, "seconds": other(words["seconds"])})


def _recorded(**wrong: Any) -> None:
    """Let the records of approvals say something else."""

    def make(recorded: Any) -> Any:
        return lambda approval: record.msgspec.structs.replace(recorded(approval), **wrong)

    instead(record, "approval_record", make)


def record_another_decision() -> None:
    """The record has every question allowed."""
    _recorded(decision=DecisionKind.ALLOW.value)


def record_another_person() -> None:
    """The record has every question answered by a person."""
    _recorded(resolved_by=ResolvedBy.PERSON.value)


def answer_in_a_person_s_name() -> None:
    """What the policy answers is told as a person's answer."""

    def make(resolve: Any) -> Any:
        def told(self: Any, approval: Any, decision: Any, by: ResolvedBy) -> bool:
            return resolve(self, approval, decision, ResolvedBy.PERSON if by is ResolvedBy.POLICY else by)

        return told

    instead(ApprovalDesk, "_resolve", make)


def close_the_question_for_a_steer() -> None:
    """While a steer waits, an open question is shown as resolved."""

    def make_steer(steer: Any) -> Any:
        async def closing(self: Any, text: str) -> Any:
            for approval in self.asked:
                approval.resolved_by = approval.resolved_by or ResolvedBy.POLICY
            return await steer(self, text)

        return closing

    def make_allow(allow: Any) -> Any:
        async def opened_again(self: Any) -> None:
            if self.resolved_by is ResolvedBy.POLICY:
                self.resolved_by = None
            await allow(self)

        return opened_again

    instead(Turn, "steer", make_steer)
    instead(Approval, "allow", make_allow)


def count_turns_twice() -> None:
    """Each turn is listed twice."""

    def make(new_turn: Any) -> Any:
        def listed(self: Any, *words: Any, **more: Any) -> Any:
            turn = new_turn(self, *words, **more)
            self.turns += (turn,)
            return turn

        return listed

    instead(Session, "_new_turn", make)


def refuse_for_another_reason() -> None:
    """Every refused steer is refused because the session is being closed."""
    instead(
        SteerRejected,
        "__init__",
        lambda init: lambda self, reason, **words: init(self, SteerReason.CLOSING, **words),
    )


def keep_refused_steers() -> None:
    """A refused steer joins the next prompt."""
    kept: list[str] = []

    def make(steer: Any) -> Any:
        async def keeping(self: Any, text: str) -> Any:
            try:
                return await steer(self, text)
            except SteerRejected:
                kept.append(text)
                raise

        return keeping

    def make_start(start: Any) -> Any:
        async def joined(self: Any, turn_id: str, prompt: str) -> None:
            text = "\n".join([prompt, *kept])
            kept.clear()
            await start(self, turn_id, text)

        return joined

    for owner in (Session, Turn):
        instead(owner, "steer", make)
    instead(AcpConnection, "start_turn", make_start)


def name_another_harness() -> None:
    """The session says that it is another harness's."""
    instead(HarnessIdentity, "__init__", _identity(name="another"))


def name_another_digest() -> None:
    """The session states the digest of another file."""
    instead(HarnessIdentity, "__init__", _identity(sha256="0" * 64))


def _identity(**wrong: str) -> Any:
    return lambda init: lambda self, **words: init(self, **{**words, **wrong})


def _policies(say: Any) -> None:
    """Let the connection say something else of the policy that was asked for, and of the one in force."""

    def make(open_conversation: Any) -> Any:
        async def told(self: Any) -> Any:
            opened = await open_conversation(self)
            asked, effective = say(opened.policy_asked, opened.policy_effective)
            return replace(opened, policy_asked=asked, policy_effective=effective)

        return told

    instead(AcpConnection, "open", make)


def echo_the_policy() -> None:
    """The policy in force is told to be the one that was asked for, whatever the agent says."""
    _policies(lambda asked, effective: (asked, asked))


def say_nothing_of_the_policy() -> None:
    """Where the policy in force is the one that was asked for, neither is told."""
    _policies(lambda asked, effective: ({}, {}) if asked == effective else (asked, effective))


def say_another_policy_later() -> None:
    """A session that is open says that another policy is in force."""
    change_property(
        Session,
        "opened",
        lambda self, opened: replace(opened, policy_effective={**opened.policy_effective, "mode": "other"}),
    )


def name_resumed_sessions_anew() -> None:
    """A resumed session says that it has another id."""
    change_property(
        Session, "id", lambda self, name: f"{name}-resumed" if self._spec.origin is Origin.RESUME else name
    )


def name_forks_like_the_original() -> None:
    """A fork says that it has the original's id."""
    change_property(
        Session,
        "id",
        lambda self, name: self._spec.session_id if self._spec.origin is Origin.FORK else name,
    )


def name_all_sessions_alike() -> None:
    """Every new session says that it has the same id."""
    change_property(Session, "id", lambda self, name: "one" if self._spec.origin is Origin.NEW else name)


DEFECTS = {
    name: Defect(install=install, red=red, in_driver=True)
    for name, (install, red) in {
        "an interrupt is sent twice": (interrupt_twice, ("steer.interrupting.rejected",)),
        "an interrupt is sent although no turn runs": (interrupt_nothing, ("interrupt.idle.rejected",)),
        "an interrupt without a turn looks well": (interrupt_without_a_word, ("interrupt.idle.rejected",)),
        "a dropped steer is told as accepted": (
            keep_dropped_steers,
            ("interrupt.queued-steers.not-run",),
        ),
        "a second answer is taken without a word": (
            take_a_second_answer,
            ("approve.twice.refused", "approve.timeout.denied", "approve.stale.refused"),
        ),
        "a second answer is refused and sent": (
            send_a_second_answer,
            ("approve.twice.refused", "approve.timeout.denied", "approve.stale.refused"),
        ),
        "a question is denied before its time is over": (ask_too_briefly, ("approve.timeout.denied",)),
        "a question is denied long after its time is over": (ask_too_long, ("approve.timeout.denied",)),
        "a record has every question allowed": (record_another_decision, ("approve.timeout.denied",)),
        "a record has every question answered by a person": (
            record_another_person,
            ("approve.timeout.denied",),
        ),
        "the policy answers in a person's name": (
            answer_in_a_person_s_name,
            ("approve.always.same-call-not-asked",),
        ),
        "a steer closes the open question": (
            close_the_question_for_a_steer,
            ("steer.approval-open.delivered",),
        ),
        "each turn is listed twice": (
            count_turns_twice,
            (
                "steer.mid-tool.delivered",
                "steer.mid-stream.delivered",
                "steer.approval-open.delivered",
                "steer.idle.rejected",
                "send.running.steers",
                "fault.wire.late-message",
                "interrupt.queued-steers.not-run",
            ),
        ),
        "a refused steer names another reason": (
            refuse_for_another_reason,
            ("steer.idle.rejected", "steer.ended-turn.rejected", "steer.interrupting.rejected"),
        ),
        "a refused steer joins the next prompt": (
            keep_refused_steers,
            ("steer.idle.rejected", "steer.ended-turn.rejected", "steer.interrupting.rejected"),
        ),
        "the session names another harness": (name_another_harness, ("session.start.version-recorded",)),
        "the session names another digest": (name_another_digest, ("session.start.version-recorded",)),
        "the policy that was asked for is echoed": (echo_the_policy, ("session.start.policy-effective",)),
        "nothing is said of the policy": (say_nothing_of_the_policy, ("session.start.policy-effective",)),
        "an open session says another policy": (
            say_another_policy_later,
            ("session.start.policy-effective",),
        ),
        "a resumed session has another id": (name_resumed_sessions_anew, ("session.resume.continues",)),
        "a fork has the original's id": (name_forks_like_the_original, ("session.fork.original-untouched",)),
        "all new sessions have the same id": (name_all_sessions_alike, ("session.two.no-crosstalk",)),
    }.items()
}
