"""Defects of sessions, of the model's faults, of tools, and of what is told of them."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

import contextlib
from typing import Any

from checkrein.conformance.reference import agent, model, tools, turn
from checkrein.conformance.reference.agent import Agent
from checkrein.conformance.reference.sessions import NoSuchSession, Session
from checkrein.conformance.reference.turn import Turn
from tests.conformance.saboteurs.defect import Defect, instead


def begin_anew() -> None:
    """A conversation that is loaded is an empty one."""

    def make(load: Any) -> Any:
        def emptied(session_id: str, home: Any) -> Any:
            session = load(session_id, home)
            session.messages.clear()
            return session

        return emptied

    instead(Session, "load", make)


def make_up_sessions() -> None:
    """An id that does not exist is a new conversation."""

    def make(load: Any) -> Any:
        def made_up(session_id: str, home: Any) -> Any:
            try:
                return load(session_id, home)
            except NoSuchSession:
                return Session.new(home)

        return made_up

    instead(Session, "load", make)
    instead(Session, "fork", make)


def repeat_the_past() -> None:
    """A conversation that is loaded begins with what was said in it twice."""

    def make(load: Any) -> Any:
        def twice(session_id: str, home: Any) -> Any:
            session = load(session_id, home)
            session.messages = session.messages[:1] + session.messages
            return session

        return twice

    instead(Session, "load", make)


def write_into_the_original() -> None:
    """A fork writes into the original's file."""

    def make(fork: Any) -> Any:
        def shared(session_id: str, home: Any) -> Any:
            branch = fork(session_id, home)
            branch._path = branch._path.with_name(f"{session_id}.jsonl")
            return branch

        return shared

    instead(Session, "fork", make)


def note_the_fork() -> None:
    """A fork adds an empty line to the original's file."""

    def make(fork: Any) -> Any:
        def noted(session_id: str, home: Any) -> Any:
            branch = fork(session_id, home)
            with branch._path.with_name(f"{session_id}.jsonl").open("ab") as original:
                original.write(b"\n")
            return branch

        return noted

    instead(Session, "fork", make)


def share_what_forks_say() -> None:
    """What is said in a fork is remembered by every conversation that is loaded later."""

    def make_fork(fork: Any) -> Any:
        def shared(session_id: str, home: Any) -> Any:
            branch = fork(session_id, home)
            append = branch.append

            def noting(*messages: Any) -> None:
                append(*messages)
                with (home / "forks.jsonl").open("ab") as notes:
                    notes.write(b"".join(turn.msgspec.json.encode(message) + b"\n" for message in messages))

            branch.append = noting
            return branch

        return shared

    def make_load(load: Any) -> Any:
        def reminded(session_id: str, home: Any) -> Any:
            session = load(session_id, home)
            notes = home / "forks.jsonl"
            if notes.exists():
                session.messages += [
                    turn.msgspec.json.decode(line) for line in notes.read_bytes().splitlines()
                ]
            return session

        return reminded

    instead(Session, "fork", make_fork)
    instead(Session, "load", make_load)


def fork_nothing() -> None:
    """A fork begins without what was said."""

    def make(fork: Any) -> Any:
        def emptied(session_id: str, home: Any) -> Any:
            branch = fork(session_id, home)
            branch.messages.clear()
            return branch

        return emptied

    instead(Session, "fork", make)


def say_another_version() -> None:
    """The agent says that it is of another version."""
    agent.VERSION = "9.9.9"


def say_another_mode() -> None:
    """The agent runs in another mode than it was started with, and says so."""
    instead(
        Agent,
        "_opened",
        lambda opened: (
            lambda self, session, params: {
                **opened(self, session, params),
                "modes": {"currentModeId": "auto", "availableModes": []},
            }
        ),
    )


def count_from_the_beginning() -> None:
    """Usage is the process's total."""
    total = model.Tokens()

    def make(usage: Any) -> Any:
        def cumulative(self: Any) -> Any:
            total.input += self._tokens.input
            total.cached += self._tokens.cached
            total.output += self._tokens.output
            self._tokens = total
            return usage(self)

        return cumulative

    instead(Turn, "_usage", make)


def count_what_is_cached_twice() -> None:
    """Tokens from a cache are counted as input as well."""
    instead(
        Turn,
        "_usage",
        lambda usage: lambda self: {**usage(self), "inputTokens": self._tokens.input},
    )


def never_try_again() -> None:
    """A request is never tried again, and that it was is never told."""
    instead(model.Model, "__init__", lambda init: lambda self, **words: init(self, **{**words, "retries": 0}))


def leave_out_what_the_model_says() -> None:
    """A refusal is told without the model's own words."""

    def make(refusal: Any) -> Any:
        def curt(response: Any) -> Any:
            fault = refusal(response)
            if not isinstance(fault, model.ModelFailed):
                return fault
            return model.ModelFailed(f"the model answered {response.status}")

        return curt

    instead(model, "_refusal", make)


def complete_what_failed() -> None:
    """A model without an answer counts as one that has nothing to say."""

    def make(run: Any) -> Any:
        def well(self: Any) -> Any:
            try:
                return run(self)
            except model.ModelFailed:
                return {"stopReason": "end_turn", "usage": self._usage()}

        return well

    instead(Turn, "run", make)


def take_half_for_whole() -> None:
    """A stream that ends too early counts as a whole answer."""

    def make(events: Any) -> Any:
        def ended(response: Any) -> Any:
            yield b'{"choices":[{"delta":{},"finish_reason":null}]}'
            with contextlib.suppress(OSError):
                yield from events(response)
            yield b'{"choices":[{"delta":{},"finish_reason":"stop"}]}'
            yield b"[DONE]"

        return ended

    instead(model, "_events", make)


def run_calls_at_once() -> None:
    """A call is run as soon as its arguments are whole, and again when the answer breaks off."""

    def run_all() -> None:
        for line in _CALLS:
            tools.subprocess.run(line, shell=True, check=False)

    def make(read: Any) -> Any:
        def eager(response: Any, told: Any) -> Any:
            try:
                return read(response, told)
            except (model._Passing, OSError):
                run_all()
                raise

        return eager

    def make_decode(read: Any) -> Any:
        def noting(response: Any) -> Any:
            arguments = ""
            _CALLS.clear()
            for event in read(response):
                if b'"tool_calls"' in event:
                    chunk = turn.msgspec.json.decode(event)
                    arguments += chunk["choices"][0]["delta"]["tool_calls"][0]["function"].get(
                        "arguments", ""
                    )
                    with contextlib.suppress(turn.msgspec.DecodeError):
                        _CALLS[:] = [turn.msgspec.json.decode(arguments)["command"]]
                        run_all()
                yield event

        return noting

    instead(model, "_events", make_decode)
    instead(model, "_read", make)


#: Commands of calls that the model has made whole, in an answer that may not be.
_CALLS: list[str] = []


def hide_failure() -> None:
    """A command that failed has a receipt like one that did not."""

    def make(run: Any) -> Any:
        def smooth(self: Any, cwd: Any, cancellation: Any) -> Any:
            result = run(self, cwd, cancellation)
            if result.exit_status:
                return tools.Result(text=result.shown or "", shown=result.shown, exit_status=0)
            return result

        return smooth

    instead(tools.Shell, "run", make)


def hide_the_time() -> None:
    """A command that was killed when its time was over has a receipt that does not say so."""

    def make(run: Any) -> Any:
        def silent(self: Any, cwd: Any, cancellation: Any) -> Any:
            result = run(self, cwd, cancellation)
            return result if result.exit_status is not None else tools.Result(text="no output", failed=True)

        return silent

    instead(tools.Shell, "run", make)


def say_less() -> None:
    """The last piece of each answer is swallowed."""

    def make(show: Any) -> Any:
        def swallowed(self: Any, update: Any) -> None:
            content = update.get("content")
            text = content.get("text", "") if isinstance(content, dict) else ""
            if update["sessionUpdate"] != "agent_message_chunk" or not text.rstrip().endswith("."):
                show(self, update)

        return swallowed

    instead(Turn, "_show", make)


DEFECTS = {
    "a resumed conversation is empty": Defect(install=begin_anew, red=("session.resume.continues",)),
    "an unknown id is a new conversation": Defect(
        install=make_up_sessions, red=("session.resume.unknown-id",), among=("session.resume.continues",)
    ),
    "a resumed conversation repeats its beginning": Defect(
        install=repeat_the_past, red=("session.resume.continues",)
    ),
    "a fork writes into the original": Defect(
        install=write_into_the_original, red=("session.fork.original-untouched",)
    ),
    "a fork leaves a trace in the original": Defect(
        install=note_the_fork, red=("session.fork.original-untouched",)
    ),
    "what a fork says is known everywhere": Defect(
        install=share_what_forks_say, red=("session.fork.original-untouched",)
    ),
    "a fork begins empty": Defect(install=fork_nothing, red=("session.fork.original-untouched",)),
    "the agent says another version": Defect(
        install=say_another_version, red=("session.start.version-recorded",)
    ),
    "the agent runs in another mode": Defect(
        install=say_another_mode, red=("session.start.policy-effective",)
    ),
    "usage is cumulative": Defect(install=count_from_the_beginning, red=("record.usage.per-turn",)),
    "cached tokens are counted twice": Defect(
        install=count_what_is_cached_twice, red=("record.usage.per-turn",)
    ),
    "nothing is tried again": Defect(
        install=never_try_again, red=("fault.model-429", "fault.model-500", "fault.model-529")
    ),
    "a refusal loses its words": Defect(
        install=leave_out_what_the_model_says, red=("fault.model-400", "fault.model-401", "fault.model-403")
    ),
    "a turn without an answer is completed": Defect(
        install=complete_what_failed, red=("fault.model-400", "fault.model-401", "fault.model-403")
    ),
    "half an answer counts as a whole one": Defect(
        install=take_half_for_whole, red=("fault.model-cut-mid-text",)
    ),
    "a call of a broken answer is run": Defect(
        install=run_calls_at_once, red=("fault.model-cut-after-tool-call", "fault.model-silent")
    ),
    "a failed command looks well": Defect(install=hide_failure, red=("fault.tool-nonzero.receipt",)),
    "a command that timed out looks ended": Defect(
        install=hide_the_time, red=("fault.tool-timeout.receipt",)
    ),
    "the end of an answer is not shown": Defect(install=say_less, red=("interrupt.twice.idempotent",)),
}
