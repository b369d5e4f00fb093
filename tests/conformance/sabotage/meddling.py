"""Defects that only a harness's own wire can show: what it said, dropped or rewritten before the kit reads it."""

from __future__ import annotations

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic
from typing import Any

from checkrein.adapters.codex.connection import CodexConnection
from checkrein.adapters.interface import Decision, DecisionKind
from checkrein.conformance.wire import Wire
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute


def _meddle(marks: tuple[bytes, ...], old: bytes, new: bytes | None) -> None:
    """In lines that hold all marks, put `new` in the place of `old`; drop the line for None."""

    def make(tap: Any) -> Any:
        def meddled(self: Any, direction: Any, line: bytes) -> None:
            if all(mark in line for mark in marks):
                if new is None:
                    return
                line = line.replace(old, new)
            tap(self, direction, line)

        return meddled

    replace_attribute(Wire, "tap", make)


def drop_started() -> None:
    """Claude Code does not say that it took a steer in."""
    _meddle((b'"type":"command_lifecycle"', b'"state":"started"'), b"", None)


def call_a_denial_fine() -> None:
    """Claude Code gives the model a denied call's result without its error mark."""
    _meddle((b'"type":"tool_result"',), b'"is_error":true', b'"is_error":false')


def withdraw_nothing() -> None:
    """Claude Code does not withdraw the open question at an interrupt."""
    _meddle((b"control_cancel_request",), b"", None)


def count_no_cost() -> None:
    """Claude Code calls the cost something else."""
    _meddle((b'"type":"result"',), b'"total_cost_usd"', b'"total_cost_eur"')


def cancel_instead_of_decline() -> None:
    """Codex is told to cancel where it was to decline."""
    _meddle((b'"decision":"decline"',), b'"decline"', b'"cancel"')


def call_an_interrupt_completed() -> None:
    """Codex calls an interrupted turn completed."""
    _meddle((b"turn/completed",), b'"status":"interrupted"', b'"status":"completed"')


def refuse_with_another_code() -> None:
    """Codex refuses a steer with another code."""
    _meddle((b"no active turn to steer",), b"-32600", b"-32601")


def count_from_zero() -> None:
    """Codex tells token totals under another name."""
    _meddle((b"thread/tokenUsage/updated",), b'"total"', b'"sum"')


def start_without_a_word() -> None:
    """Codex does not say that a turn has started."""
    _meddle((b'"turn/started"',), b"", None)


def say_no_word_of_an_interruption() -> None:
    """pi does not say that a turn was aborted."""
    _meddle((b'"type":"agent_settled"',), b'"aborted":true', b'"aborted":false')


def load_another_gate() -> None:
    """What pi says first is not the word of our gate."""
    _meddle((b'"method":"notify"',), b'\\"checkrein\\":\\"ready\\"', b'\\"checkrein\\":\\"hello\\"')


def grant_once_only() -> None:
    """allow_always is passed to Codex as a plain accept; the desk alone remembers it."""

    def make(answer: Any) -> Any:
        async def answered(self: Any, question: Any, decision: Decision) -> None:
            always = decision.kind is DecisionKind.ALLOW_ALWAYS
            await answer(self, question, Decision(kind=DecisionKind.ALLOW) if always else decision)

        return answered

    replace_attribute(CodexConnection, "answer", make)


DEFECTS: dict[str, Defect] = {
    "takes a steer in without a word": Defect(
        harness="claude-code",
        red=("native.claude-code.steer-lifecycle",),
        among=("native.claude-code.*",),
        install=drop_started,
    ),
    "calls a denial fine": Defect(
        harness="claude-code",
        red=("native.claude-code.can-use-tool",),
        among=("native.claude-code.*",),
        install=call_a_denial_fine,
    ),
    "withdraws no question": Defect(
        harness="claude-code",
        red=("native.claude-code.interrupt-process-lives",),
        among=("native.claude-code.*",),
        install=withdraw_nothing,
    ),
    "counts no cost": Defect(
        harness="claude-code",
        red=("native.claude-code.usage-split",),
        among=("native.claude-code.*",),
        install=count_no_cost,
    ),
    "cancels instead of declining": Defect(
        harness="codex",
        red=("native.codex.accept-decline",),
        among=("native.codex.*",),
        install=cancel_instead_of_decline,
    ),
    "calls an interrupt completed": Defect(
        harness="codex",
        red=("native.codex.interrupt-status",),
        among=("native.codex.*",),
        install=call_an_interrupt_completed,
    ),
    "refuses with another code": Defect(
        harness="codex",
        red=("native.codex.steer-idle-refused",),
        among=("native.codex.*",),
        install=refuse_with_another_code,
    ),
    "counts tokens under another name": Defect(
        harness="codex",
        red=("native.codex.token-totals",),
        among=("native.codex.*",),
        install=count_from_zero,
    ),
    "starts a turn without a word": Defect(
        harness="codex",
        red=("native.codex.turn-start",),
        among=("native.codex.*",),
        install=start_without_a_word,
    ),
    "grants once only": Defect(
        harness="codex",
        red=("native.codex.session-grant-ends-with-process",),
        among=("native.codex.*",),
        install=grant_once_only,
    ),
    "says no word of an interruption": Defect(
        harness="pi",
        red=("native.pi.agent-settled", "native.pi.abort-ends-dialog"),
        among=("native.pi.*",),
        install=say_no_word_of_an_interruption,
    ),
    "loads another gate": Defect(
        harness="pi",
        red=("native.pi.gate-first",),
        among=("native.pi.*",),
        install=load_another_gate,
    ),
}
