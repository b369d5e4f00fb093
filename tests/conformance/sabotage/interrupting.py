"""Defects of interrupts."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from checkrein.adapters import interrupting as interrupt_ladder
from checkrein.adapters import outcome, session
from checkrein.adapters.codex.connection import CodexConnection
from checkrein.adapters.errors import NoActiveTurn
from checkrein.adapters.native import TurnClosed, TurnStatus
from checkrein.adapters.outcome import OutcomeStatus
from checkrein.adapters.session import Session
from checkrein.adapters.turn import Turn, TurnState
from checkrein.scripted_models import HistoryItem, ItemKind
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute, rewrite_history


async def _nothing(*_: object, **__: object) -> None:
    return None


def drop_the_interrupt() -> None:
    """The adapter never sends the interrupt."""
    replace_attribute(CodexConnection, "interrupt", lambda _: _nothing)


def acknowledge_and_go_on() -> None:
    """The adapter reports an interrupted turn, and the harness is never told."""

    async def interrupt(self: Any) -> None:
        assert self.session_of_test is not None
        closed = TurnClosed(
            native_id="", status=TurnStatus.INTERRUPTED, reason="stopped", native_status="interrupted"
        )
        self.session_of_test._turn_closed(closed)

    def make_turn(new_turn: Any) -> Any:
        def made(self: Any, link: Any, *words: Any, **options: Any) -> Any:
            link.connection.session_of_test = self
            return new_turn(self, link, *words, **options)

        return made

    replace_attribute(Session, "_new_turn", make_turn)
    replace_attribute(CodexConnection, "interrupt", lambda _: interrupt)


def skip_clean() -> None:
    """The adapter does not clean the background terminals; the ladder still ends what it finds."""
    replace_attribute(CodexConnection, "settle", lambda _: _nothing)


def leave_the_command_alive() -> None:
    """Neither the adapter nor the ladder ends the interrupted command."""

    async def end_nothing(*_: object, **__: object) -> tuple[()]:
        return ()

    skip_clean()
    replace_attribute(interrupt_ladder, "end_tools", lambda _: end_nothing)


def write_after_the_end() -> None:
    """A file of the workspace changes a second after the interrupted turn has ended."""

    def make(settle: Any) -> Any:
        async def settled(self: Any) -> None:
            await settle(self)
            written = Path(self.spec.cwd, "late.txt")
            threading.Timer(1.0, written.write_text, ["late"]).start()

        return settled

    replace_attribute(CodexConnection, "settle", make)


def accept_an_idle_interrupt() -> None:
    """An interrupt without an active turn is taken without a word."""

    async def interrupt(self: Session, message: str | None = None) -> Any:
        active = self.turn
        return None if active is None else await active.interrupt(message)

    replace_attribute(Session, "interrupt", lambda _: interrupt)


def refuse_the_second() -> None:
    """A second interrupt of the same turn is an error."""

    def make(interrupt: Any) -> Any:
        async def once(self: Turn, message: str | None = None) -> Any:
            if self.state is TurnState.ENDED:
                raise NoActiveTurn("the turn has ended")
            return await interrupt(self, message)

        return once

    replace_attribute(Turn, "interrupt", make)


def exit_with_1() -> None:
    """An interrupted turn gives the exit status of a failure."""
    outcome.EXIT_STATUS[OutcomeStatus.INTERRUPTED] = 1


def _result(item: HistoryItem, call_id: str) -> bool:
    return item.kind is ItemKind.RESULT and item.id == call_id


def rewrite_finished_results() -> None:
    """The harness forgets what a finished call gave."""
    rewrite_history(
        lambda item: replace(item, text="aborted by user") if _result(item, "call_done") else item
    )


def lose_the_receipt() -> None:
    """The harness gives the model no receipt for the call that was stopped."""
    rewrite_history(lambda item: None if _result(item, "call_open") else item)


def read_as_refusal() -> None:
    """The receipt of a stopped call reads as a person's refusal."""
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    rewrite_history(lambda item: replace(item, text=refusal) if _result(item, "call_open") else item)


def leave_no_mark() -> None:
    """The harness does not tell the model of the interruption."""
    rewrite_history(lambda item: None if "<turn_aborted>" in item.text else item)


def answer_with_the_old_text() -> None:
    """The text of an interrupted turn is given as the answer of the next one."""
    texts: list[str] = []

    def make(new_turn: Any) -> Any:
        def made(self: Any, *arguments: Any, **named: Any) -> Turn:
            turn = new_turn(self, *arguments, **named)
            texts.append(turn.prompt)
            return turn

        return made

    def make_finish(finish: Any) -> Any:
        def finished(self: Any, *arguments: Any, **named: Any) -> None:
            if len(texts) > 1 and texts[-1] == self.prompt:
                self._text = texts[-2]
            finish(self, *arguments, **named)

        return finished

    replace_attribute(session.Session, "_new_turn", make)
    replace_attribute(Turn, "_finish", make_finish)


WINDOWS = (
    "before-request",
    "before-byte",
    "mid-text",
    "mid-tool-call",
    "tool-running",
    "after-tool-result",
    "approval-open",
    "retry-backoff",
    "steer-queued",
)

RECEIPTS = (
    "interrupt.finished-results",
    "interrupt.open-calls",
    "interrupt.receipt",
    "interrupt.tool-running",
)

DEFECTS: dict[str, Defect] = {
    "drops the interrupt": Defect(
        harness="codex",
        red=("interrupt.mid-text.outcome",),
        among=("interrupt.mid-text", "interrupt.idle", "steer.idle"),
        install=drop_the_interrupt,
    ),
    "acknowledges the interrupt and goes on": Defect(
        harness="codex",
        red=(
            "interrupt.mid-text.hang-up",
            "interrupt.mid-tool-call.quiet",
            "interrupt.late-tool-call.not-run",
        ),
        among=(
            "interrupt.mid-text",
            "interrupt.mid-tool-call.quiet",
            "interrupt.late-tool-call",
            "interrupt.idle",
        ),
        install=acknowledge_and_go_on,
    ),
    "skips backgroundTerminals/clean": Defect(
        harness="codex",
        red=("native.codex.clean-ends-the-command",),
        among=("interrupt.tool-running", "interrupt.survivors", "native.codex.*"),
        install=skip_clean,
    ),
    "leaves the interrupted command alive": Defect(
        harness="codex",
        red=(
            "interrupt.tool-running.quiet",
            "interrupt.survivors.listed",
            "native.codex.clean-ends-the-command",
        ),
        among=("interrupt.tool-running", "interrupt.survivors", "native.codex.*"),
        install=leave_the_command_alive,
    ),
    "changes a file after the end": Defect(
        harness="codex",
        red=tuple(f"interrupt.{window}.quiet" for window in WINDOWS),
        among=("interrupt.*.quiet",),
        install=write_after_the_end,
    ),
    "interrupts nothing without a word": Defect(
        harness="codex",
        red=("interrupt.idle.rejected",),
        among=("interrupt.idle", "interrupt.twice"),
        install=accept_an_idle_interrupt,
    ),
    "refuses the second interrupt": Defect(
        harness="codex",
        red=("interrupt.twice.idempotent",),
        among=("interrupt.idle", "interrupt.twice"),
        install=refuse_the_second,
    ),
    "exits with 1 after an interrupt": Defect(
        harness="codex",
        red=(
            *(f"interrupt.{window}.outcome" for window in WINDOWS),
            "interrupt.twice.idempotent",
            "drive.ctrl-c.exit-130",
        ),
        among=("interrupt.*.outcome", "interrupt.twice", "drive.ctrl-c"),
        install=exit_with_1,
    ),
    "rewrites finished results as aborted": Defect(
        harness="codex",
        red=("interrupt.finished-results.kept",),
        among=RECEIPTS,
        install=rewrite_finished_results,
    ),
    "loses the receipt of the open call": Defect(
        harness="codex",
        red=("interrupt.open-calls.receipt", "interrupt.receipt.honest"),
        among=RECEIPTS,
        install=lose_the_receipt,
    ),
    "reads an interruption as a refusal": Defect(
        harness="codex",
        red=("interrupt.receipt.honest",),
        among=RECEIPTS,
        install=read_as_refusal,
    ),
    "leaves no mark of the interruption": Defect(
        harness="codex",
        red=("interrupt.mark.visible",),
        among=("interrupt.mark", "interrupt.mid-text", "interrupt.next-turn"),
        install=leave_no_mark,
    ),
    "answers with the interrupted turn's text": Defect(
        harness="codex",
        red=(
            "interrupt.next-turn.right-answer",
            "interrupt.idle.rejected",
            "interrupt.twice.idempotent",
            "interrupt.with-message.carries-on",
        ),
        among=("interrupt.next-turn", "interrupt.idle", "interrupt.twice", "interrupt.with-message"),
        install=answer_with_the_old_text,
    ),
}
