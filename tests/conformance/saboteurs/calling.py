"""Defects of calls: where they run, when, and which result the model gets."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

import threading
from typing import Any

import msgspec

from checkrein.conformance.reference import turn
from checkrein.conformance.reference.cancellation import Cancellation
from checkrein.conformance.reference.tools import Result, Shell
from checkrein.conformance.reference.turn import Turn
from tests.conformance.saboteurs.asking import allowed_if
from tests.conformance.saboteurs.defect import Defect, instead

#: When a draft is left: after the scenario has looked at the workspace, and before it looks again (1 s later).
DRAFT_SECONDS = 0.6


def _when_asked(act: Any) -> None:
    """Let `act` do something with a call as soon as it was asked about."""

    def make(ask: Any) -> Any:
        def acting(self: Any, planned: Any) -> Any:
            asked = ask(self, planned)
            act(self, planned)
            return asked

        return acting

    instead(Turn, "_ask_permission", make)


def leave_a_draft() -> None:
    """A call that is asked about leaves a file of the agent's in the workspace, a little later."""

    def act(self: Any, planned: Any) -> None:
        draft = self._setting.cwd / "draft.txt"
        threading.Timer(DRAFT_SECONDS, lambda: draft.write_text("a draft")).start()

    _when_asked(act)


def try_it_out() -> None:
    """A command is tried out when it is asked about, its output thrown away."""

    def act(self: Any, planned: Any) -> None:
        tried = msgspec.structs.replace(planned.tool, command=planned.tool.command.partition(">>")[0])
        tried.run(self._setting.cwd, self._cancellation)

    _when_asked(act)


def go_on_without_the_answer() -> None:
    """The model is asked on while a person is still asked, with a result that says so."""
    waiting: list[Any] = []

    def make_result(result: Any) -> Any:
        def early(self: Any, planned: Any) -> Any:
            waiting.append(planned)
            return Result(text="A person is being asked.")

        return early

    def make_ask(ask: Any) -> Any:
        def answered(self: Any) -> Any:
            answer = ask(self)
            while waiting:
                planned = waiting.pop()
                if turn._allowed(planned.asked.wait(self._cancellation)):
                    planned.tool.run(self._setting.cwd, self._cancellation)
            return answer

        return answered

    instead(Turn, "_result", make_result)
    instead(Turn, "_ask_model", make_ask)


def run_elsewhere() -> None:
    """Commands run beside the workspace."""
    instead(
        Shell,
        "run",
        lambda run: lambda self, cwd, cancellation: run(self, cwd.parent, cancellation),
    )


def take_a_deny_for_an_allow() -> None:
    """A denied call runs like an allowed one."""
    allowed_if(lambda self, planned, allowed: True)


def allow_what_is_beside() -> None:
    """What is allowed for a call holds for those that were made after it in the same answer."""
    granted: list[bool] = []

    def decide(self: Any, planned: Any, allowed: bool) -> bool:
        granted.append(allowed)
        return any(granted)

    allowed_if(decide)


def mix_up_results() -> None:
    """Calls of one answer get each other's results."""

    def make(carry_out: Any) -> Any:
        def mixed(self: Any, calls: Any) -> None:
            carry_out(self, calls)
            results = self._setting.session.messages[-len(calls) :]
            texts = [result["content"] for result in results]
            for result, text in zip(results, [*texts[1:], texts[0]], strict=True):
                result["content"] = text

        return mixed

    instead(Turn, "_carry_out", make)


def _results(other: Any) -> None:
    """Let `other` say which result a call has, from the call and the one that it should have."""
    instead(
        Turn,
        "_result",
        lambda result: lambda self, planned: other(self, planned, result(self, planned)),
    )


def lose_allowed_results() -> None:
    """The model gets no output of what a person has allowed."""
    _results(lambda self, planned, result: Result(text="") if planned.asked else result)


def lose_short_results() -> None:
    """The model gets no output of an echo."""

    def other(self: Any, planned: Any, result: Any) -> Any:
        return Result(text="") if planned.tool.title.startswith("echo") else result

    _results(other)


def lose_steered_results() -> None:
    """The model gets no output of a command in which a steer came."""
    _results(lambda self, planned, result: Result(text="") if self._steers else result)


def run_what_is_cancelled() -> None:
    """The calls that nobody has allowed yet are run when their turn is cancelled."""

    def make(interrupted: Any) -> Any:
        def running(self: Any) -> None:
            for planned in self._planned:
                if planned.asked is not None and not planned.running:
                    planned.tool.run(self._setting.cwd, Cancellation())
            interrupted(self)

        return running

    instead(Turn, "_interrupted", make)


def hide_the_place() -> None:
    """A file is asked about under another path."""

    def make(described: Any) -> Any:
        def elsewhere(call: Any, tool: Any) -> Any:
            if tool is not None and tool.place:
                tool = msgspec.structs.replace(tool, path="/somewhere")
            return described(call, tool)

        return elsewhere

    instead(turn, "described", make)


def refuse_what_is_known() -> None:
    """A command that ran in an earlier turn is refused in a later one, and nobody is asked."""
    known: set[str] = set()
    old: set[str] = set()

    def decide(self: Any, planned: Any, allowed: bool) -> bool:
        if allowed:
            known.add(planned.tool.title)
        return allowed

    def make_run(run: Any) -> Any:
        def later(self: Any) -> Any:
            old.update(known)
            return run(self)

        return later

    def make_asks(asks_about: Any) -> Any:
        return lambda self, tool: tool.title not in old and asks_about(self, tool)

    def make_result(result: Any) -> Any:
        def refused(self: Any, planned: Any) -> Any:
            return (
                Result(text=turn.DENIED, failed=True) if planned.tool.title in old else result(self, planned)
            )

        return refused

    allowed_if(decide)
    instead(Turn, "run", make_run)
    instead(Turn, "_asks_about", make_asks)
    instead(Turn, "_result", make_result)


DEFECTS = {
    "a call leaves a draft before the answer": Defect(install=leave_a_draft, red=("approve.ask.waits",)),
    "a call is tried out before the answer": Defect(
        install=try_it_out, red=("approve.ask.waits", "approve.allow.runs-once")
    ),
    "the model goes on while a person is asked": Defect(
        install=go_on_without_the_answer, red=("approve.ask.waits",)
    ),
    "a command runs beside the workspace": Defect(install=run_elsewhere, red=("approve.allow.runs-once",)),
    "a deny is taken for an allow": Defect(
        install=take_a_deny_for_an_allow, red=("approve.deny.not-run", "approve.read-outside.asks")
    ),
    "an allowed call lets those beside it run": Defect(
        install=allow_what_is_beside, red=("approve.parallel.matched", "approve.twice.refused")
    ),
    "parallel calls get each other's results": Defect(
        install=mix_up_results, red=("approve.parallel.matched",)
    ),
    "the result of an allowed call is lost": Defect(
        install=lose_allowed_results, red=("steer.approval-open.delivered",)
    ),
    "the result of a short command is lost": Defect(install=lose_short_results, red=("steer.history.kept",)),
    "the result of a steered command is lost": Defect(
        install=lose_steered_results, red=("steer.history.kept",), among=("steer.mid-tool.delivered",)
    ),
    "an open call runs when its turn is cancelled": Defect(
        install=run_what_is_cancelled, red=("approve.stale.refused",)
    ),
    "a file is asked about under another path": Defect(
        install=hide_the_place, red=("approve.edit.asks", "approve.read-outside.asks")
    ),
    "a known command is refused unasked": Defect(
        install=refuse_what_is_known, red=("approve.always.next-turn-asks",)
    ),
}
