"""Saboteurs: each puts exactly one named defect into what stands between the person and the real CLI.

A defect replaces one function of an adapter or of the shared machinery, or rewrites what the harness told the model.
The table says which checks must turn red on which harness; `test_sabotage` asserts that exactly these do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.conformance.sabotage import approving, interrupting, meddling, recording, sessions, steering

#: Patterns for `checkrein run --only`: what is run under a defect, red or not.
STEER, INTERRUPT, APPROVE, SESSION = ("steer.*",), ("interrupt.*",), ("approve.*",), ("session.*",)

#: Approvals that are answered once: all but `always` and the stale ones.
ONE_ANSWER = (
    "approve.ask.*",
    "approve.allow.*",
    "approve.deny.*",
    "approve.edit.*",
    "approve.read*",
    "approve.shown*",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One defect.

    Args:
        harness: the real CLI that it is shown on.
        red: the clauses that must fail, or warn where the level is SHOULD.
        among: the clauses that are run; all others of them must stay green.
        install: puts the defect in, in this process.
    """

    harness: str
    red: tuple[str, ...]
    among: tuple[str, ...]
    install: Callable[[], None]


DEFECTS: dict[str, Defect] = {
    # Interrupts
    "drops the interrupt": Defect(
        harness="codex",
        red=(
            "interrupt.mid-text.outcome",
            "interrupt.tool-running.outcome",
            "interrupt.approval-open.outcome",
        ),
        among=("interrupt.*.outcome", "interrupt.*.quiet", "interrupt.idle.rejected", "steer.*"),
        install=interrupting.drop_the_interrupt,
    ),
    "acknowledges the interrupt and goes on": Defect(
        harness="codex",
        red=("interrupt.mid-text.hang-up",),
        among=("interrupt.mid-text.*", "interrupt.idle.rejected", "steer.idle.rejected"),
        install=interrupting.acknowledge_and_go_on,
    ),
    "skips backgroundTerminals/clean": Defect(
        harness="codex",
        red=("native.codex.clean-ends-the-command",),
        among=("interrupt.*", "native.codex.*"),
        install=interrupting.skip_clean,
    ),
    "leaves the interrupted command alive": Defect(
        harness="codex",
        red=("interrupt.tool-running.quiet", "native.codex.clean-ends-the-command"),
        among=("interrupt.*", "native.codex.*"),
        install=interrupting.leave_the_command_alive,
    ),
    "changes a file after the end": Defect(
        harness="codex",
        red=("interrupt.mid-text.quiet", "interrupt.tool-running.quiet", "interrupt.approval-open.quiet"),
        among=INTERRUPT,
        install=interrupting.write_after_the_end,
    ),
    "interrupts nothing without a word": Defect(
        harness="codex",
        red=("interrupt.idle.rejected",),
        among=INTERRUPT,
        install=interrupting.accept_an_idle_interrupt,
    ),
    "refuses the second interrupt": Defect(
        harness="codex",
        red=("interrupt.twice.idempotent",),
        among=INTERRUPT,
        install=interrupting.refuse_the_second,
    ),
    "exits with 1 after an interrupt": Defect(
        harness="codex",
        red=(
            "interrupt.mid-text.outcome",
            "interrupt.tool-running.outcome",
            "interrupt.approval-open.outcome",
            "interrupt.twice.idempotent",
            "drive.ctrl-c.exit-130",
        ),
        among=(*INTERRUPT, "drive.*"),
        install=interrupting.exit_with_1,
    ),
    "rewrites finished results as aborted": Defect(
        harness="codex",
        red=("interrupt.finished-results.kept",),
        among=("interrupt.*", "steer.idle.rejected"),
        install=interrupting.rewrite_finished_results,
    ),
    "loses the receipt of the open call": Defect(
        harness="codex",
        red=("interrupt.open-calls.receipt", "interrupt.receipt.honest"),
        among=("interrupt.*", "steer.idle.rejected"),
        install=interrupting.lose_the_receipt,
    ),
    "reads an interruption as a refusal": Defect(
        harness="codex",
        red=("interrupt.receipt.honest",),
        among=("interrupt.*", "steer.idle.rejected"),
        install=interrupting.read_as_refusal,
    ),
    "leaves no mark of the interruption": Defect(
        harness="codex",
        red=("interrupt.mark.visible",),
        among=("interrupt.*", "steer.idle.rejected"),
        install=interrupting.leave_no_mark,
    ),
    "answers with the interrupted turn's text": Defect(
        harness="codex",
        red=("interrupt.next-turn.right-answer", "interrupt.idle.rejected", "interrupt.twice.idempotent"),
        among=("interrupt.*", "steer.*"),
        install=interrupting.answer_with_the_old_text,
    ),
    # Steers
    "forwards a steer when idle": Defect(
        harness="claude-code",
        red=("steer.idle.rejected",),
        among=STEER,
        install=steering.forward_when_idle,
    ),
    "takes a steer for a turn that has ended": Defect(
        harness="claude-code",
        red=("steer.ended-turn.rejected",),
        among=STEER,
        install=steering.take_for_an_ended_turn,
    ),
    "drops a steer": Defect(
        harness="codex",
        red=(
            "steer.mid-tool.delivered",
            "steer.mid-stream.delivered",
            "steer.order.kept",
            "session.resume.continues",
        ),
        among=(*STEER, "session.resume.*", "session.fork.*"),
        install=steering.drop,
    ),
    "delivers a steer twice": Defect(
        harness="codex",
        red=(
            "steer.mid-tool.delivered",
            "steer.mid-stream.delivered",
            "steer.order.kept",
            "session.resume.continues",
        ),
        among=(*STEER, "session.resume.*", "session.fork.*"),
        install=steering.deliver_twice,
    ),
    "reorders steers": Defect(
        harness="codex",
        red=("steer.order.kept",),
        among=STEER,
        install=steering.reorder,
    ),
    # Approvals
    "runs before the answer": Defect(
        harness="codex",
        red=(
            "approve.ask.waits",
            "approve.deny.not-run",
            "approve.deny.message-reaches-model",
            "approve.edit.asks",
            "approve.read-outside.asks",
            "approve.shown.whole",
        ),
        among=ONE_ANSWER,
        install=approving.run_before_the_answer,
    ),
    "never runs what was allowed": Defect(
        harness="codex",
        red=("approve.allow.runs-once",),
        among=ONE_ANSWER,
        install=approving.never_run,
    ),
    "runs what was denied": Defect(
        harness="codex",
        red=("approve.deny.not-run", "approve.edit.asks", "approve.read-outside.asks", "approve.shown.whole"),
        among=ONE_ANSWER,
        install=approving.run_what_was_denied,
    ),
    "ends the turn on a deny": Defect(
        harness="codex",
        red=("approve.deny.turn-goes-on", "approve.deny.message-reaches-model"),
        among=("approve.ask.*", "approve.allow.*", "approve.deny.*"),
        install=approving.end_the_turn_on_deny,
    ),
    "loses the message of a deny": Defect(
        harness="codex",
        red=("approve.deny.message-reaches-model",),
        among=("approve.ask.*", "approve.allow.*", "approve.deny.*"),
        install=approving.lose_the_message,
    ),
    "forgets allow_always at once": Defect(
        harness="codex",
        red=("approve.always.same-call-not-asked",),
        among=("approve.always.*",),
        install=approving.forget_always,
    ),
    "covers reads with the grant of a command": Defect(
        harness="claude-code",
        red=("approve.always.not-wider",),
        among=("approve.always.*",),
        install=approving.cover_reads_too,
    ),
    "echoes the suggestions of an approval": Defect(
        harness="claude-code",
        red=(
            "approve.always.not-wider",
            "approve.always.writes-nothing",
            "native.claude-code.updated-permissions",
        ),
        among=(*APPROVE, "native.claude-code.*"),
        install=approving.echo_the_suggestions,
    ),
    "writes allow_always to a file": Defect(
        harness="codex",
        red=("approve.always.writes-nothing",),
        among=("approve.always.*",),
        install=approving.write_always_to_a_file,
    ),
    "keeps the process with its grant": Defect(
        harness="codex",
        red=("approve.always.next-turn-asks",),
        among=("approve.always.*",),
        install=approving.keep_the_process,
    ),
    "remembers allow_always over a resume": Defect(
        harness="codex",
        red=("approve.always.next-turn-asks", "approve.always.resume-asks"),
        among=("approve.always.*",),
        install=approving.remember_over_resume,
    ),
    "compares file trees with closed eyes": Defect(
        harness="codex",
        red=("approve.always.control",),
        among=("approve.always.*",),
        install=approving.close_the_eyes,
    ),
    "answers an approval twice": Defect(
        harness="codex",
        red=("approve.stale.refused",),
        among=("approve.stale.*", "approve.ask.*", "approve.deny.*", "interrupt.approval-open.*"),
        install=approving.answer_twice,
    ),
    "shows an approval raw and cut": Defect(
        harness="codex",
        red=("approve.shown.whole",),
        among=("approve.shown.*", "approve.ask.*", "approve.deny.*"),
        install=approving.show_raw_and_cut,
    ),
    "shows no change of an edit": Defect(
        harness="codex",
        red=("approve.edit.asks",),
        among=("approve.shown.*", "approve.edit.*", "approve.deny.*"),
        install=approving.show_no_change,
    ),
    "reads outside without asking": Defect(
        harness="claude-code",
        red=("approve.read-outside.asks",),
        among=("approve.read-outside.*", "approve.edit.*", "approve.deny.*"),
        install=approving.read_without_asking,
    ),
    # Sessions
    "states a version of its own": Defect(
        harness="codex",
        red=("session.start.version-recorded",),
        among=SESSION,
        install=sessions.state_another_version,
    ),
    "does not look at the effective policy": Defect(
        harness="codex",
        red=("session.start.policy-effective",),
        among=SESSION,
        install=sessions.ignore_the_effective_policy,
    ),
    "leaves the tools alive at close": Defect(
        harness="codex",
        red=("session.close.nothing-left",),
        among=SESSION,
        install=sessions.leave_the_tools_alive,
    ),
    "resumes into a new session": Defect(
        harness="codex",
        red=("session.resume.continues", "session.fork.original-untouched"),
        among=SESSION,
        install=sessions.resume_into_a_new_session,
    ),
    "forks into the original": Defect(
        harness="codex",
        red=("session.fork.original-untouched",),
        among=SESSION,
        install=sessions.fork_into_the_original,
    ),
    "passes the surroundings on": Defect(
        harness="codex",
        red=("session.env.clean",),
        among=SESSION,
        install=sessions.pass_the_surroundings_on,
    ),
    # Records and faults
    "counts usage cumulatively": Defect(
        harness="codex",
        red=("record.usage.per-turn",),
        among=("record.*", "fault.*"),
        install=recording.count_cumulatively,
    ),
    "hides the output of a failed tool": Defect(
        harness="codex",
        red=("fault.tool-nonzero.receipt",),
        among=("record.*", "fault.*"),
        install=recording.hide_the_output,
    ),
    "gives no reason for a failure": Defect(
        harness="codex",
        red=("fault.model-401",),
        among=("record.*", "fault.*"),
        install=recording.give_no_reason,
    ),
    "calls a failure completed": Defect(
        harness="codex",
        red=("fault.model-401", "fault.model-500"),
        among=("record.*", "fault.*"),
        install=recording.call_it_completed,
    ),
    "exits with 0 after ctrl-c": Defect(
        harness="claude-code",
        red=("drive.ctrl-c.exit-130",),
        among=("drive.*",),
        install=recording.exit_with_0,
    ),
    # What only the wire shows
    "takes a steer in without a word": Defect(
        harness="claude-code",
        red=("native.claude-code.steer-lifecycle",),
        among=("native.claude-code.*",),
        install=meddling.drop_started,
    ),
    "calls a denial fine": Defect(
        harness="claude-code",
        red=("native.claude-code.can-use-tool",),
        among=("native.claude-code.*",),
        install=meddling.call_a_denial_fine,
    ),
    "withdraws no question": Defect(
        harness="claude-code",
        red=("native.claude-code.interrupt-process-lives",),
        among=("native.claude-code.*",),
        install=meddling.withdraw_nothing,
    ),
    "counts no cost": Defect(
        harness="claude-code",
        red=("native.claude-code.usage-split",),
        among=("native.claude-code.*",),
        install=meddling.count_no_cost,
    ),
    "cancels instead of declining": Defect(
        harness="codex",
        red=("native.codex.accept-decline",),
        among=("native.codex.*",),
        install=meddling.cancel_instead_of_decline,
    ),
    "calls an interrupt completed": Defect(
        harness="codex",
        red=("native.codex.interrupt-status",),
        among=("native.codex.*",),
        install=meddling.call_an_interrupt_completed,
    ),
    "refuses with another code": Defect(
        harness="codex",
        red=("native.codex.steer-idle-refused",),
        among=("native.codex.*",),
        install=meddling.refuse_with_another_code,
    ),
    "counts tokens under another name": Defect(
        harness="codex",
        red=("native.codex.token-totals",),
        among=("native.codex.*",),
        install=meddling.count_from_zero,
    ),
    "starts a turn without a word": Defect(
        harness="codex",
        red=("native.codex.turn-start",),
        among=("native.codex.*",),
        install=meddling.start_without_a_word,
    ),
    "grants once only": Defect(
        harness="codex",
        red=("native.codex.session-grant-ends-with-process",),
        among=("native.codex.*",),
        install=meddling.grant_once_only,
    ),
}
