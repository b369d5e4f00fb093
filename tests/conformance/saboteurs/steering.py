"""Defects of steers."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from typing import Any

import msgspec

from checkrein.conformance.reference.agent import Agent
from checkrein.conformance.reference.turn import Steer, Turn, user_message
from tests.conformance.saboteurs.defect import Defect, instead


def _changed(change: Any) -> None:
    """Let `change` say which steers a request gets, of those that wait."""

    def make(ask: Any) -> Any:
        def changed(self: Any) -> Any:
            with self._lock:
                self._steers = list(change(self, self._steers))
            return ask(self)

        return changed

    instead(Turn, "_ask_model", make)


def drop() -> None:
    """A steer is taken, and never seen again."""
    _changed(lambda self, steers: [])


def deliver_twice() -> None:
    """A steer is delivered twice."""
    _changed(
        lambda self, steers: [
            each for steer in steers for each in (steer, Steer(id="again", text=steer.text))
        ]
    )


def reorder() -> None:
    """Several steers come in another order."""
    _changed(lambda self, steers: reversed(steers))


def merge() -> None:
    """Several steers come as one, and what they have in common once."""

    def one(self: Any, steers: Any) -> Any:
        if len(steers) < 2:
            return steers
        return [Steer(id=steers[-1].id, text=steers[-1].text)]

    _changed(one)


def tidy_up() -> None:
    """The text of a steer is tidied up: line ends, and blanks at its ends."""
    _changed(lambda self, steers: [Steer(id=s.id, text="\n".join(s.text.splitlines())) for s in steers])


def read_commands() -> None:
    """A steer that begins with a slash is taken for a command."""
    _changed(lambda self, steers: [steer for steer in steers if not steer.text.startswith("/")])


def keep_for_the_next_turn() -> None:
    """A steer is kept for the next turn, and shown in this one."""
    kept: list[Any] = []

    def make(ask: Any) -> Any:
        def late(self: Any) -> Any:
            with self._lock:
                steers, self._steers = self._steers, []
            for steer in steers:
                self._show_user(steer.id, steer.text)
            kept.extend(steers)
            return ask(self)

        return late

    def make_run(run: Any) -> Any:
        def with_kept(self: Any) -> Any:
            while kept:
                self._prompt += f"\n{kept.pop(0).text}"
            return run(self)

        return with_kept

    instead(Turn, "_ask_model", make)
    instead(Turn, "run", make_run)


def forget_the_past() -> None:
    """With a steer, the model is shown nothing of what it did before."""

    def make(ask: Any) -> Any:
        def forgetful(self: Any) -> Any:
            if self._steers:
                messages = self._setting.session.messages
                for message in messages:
                    if message.get("role") == "tool":
                        message["content"] = "(left out)"
            return ask(self)

        return forgetful

    instead(Turn, "_ask_model", make)


def show_none() -> None:
    """A steer joins the conversation unseen, although the agent declares that it shows them."""

    def make(show: Any) -> Any:
        def unseen(self: Any, message_id: str, text: str) -> None:
            if text == self._prompt:
                show(self, message_id, text)

        return unseen

    instead(Turn, "_show_user", make)


def take_when_it_is_over() -> None:
    """A steer that comes too late is taken, and forgotten."""
    instead(
        Agent,
        "_steer",
        lambda steer: lambda self, params: {**steer(self, params), "outcome": "injected"},
    )


#: What a client answers that allows a call.
CONSENT = msgspec.Raw(b'{"outcome":{"outcome":"selected","optionId":"yes"}}')


def answer_the_question() -> None:
    """A steer while a question is open answers it."""

    def make(steer: Any) -> Any:
        def answering(self: Any, given: Any) -> Any:
            # Whatever the client has been asked: the turn itself may not have noted the question yet.
            for asked in list(self._setting.client._asked.values()):
                asked.settle(CONSENT)
            return steer(self, given)

        return answering

    instead(Turn, "steer", make)


def lose_the_deny_message() -> None:
    """What a person says with a deny is lost."""
    _changed(lambda self, steers: [steer for steer in steers if not steer.id.startswith("deny-")])


def run_the_open_call() -> None:
    """A steer lets the call run that is asked about; once allowed it does not run again."""
    results: dict[str, Any] = {}

    def make_steer(steer: Any) -> Any:
        def running(self: Any, given: Any) -> Any:
            for planned in self._planned:
                results[planned.call.id] = planned.tool.run(self._setting.cwd, self._cancellation)
            return steer(self, given)

        return running

    def make_result(result: Any) -> Any:
        def kept(self: Any, planned: Any) -> Any:
            planned.asked.wait(self._cancellation)
            return results.pop(planned.call.id)

        return kept

    instead(Turn, "steer", make_steer)
    instead(Turn, "_result", make_result)


def put_before_the_answer() -> None:
    """A steer is put before what the model did last."""

    def make(ask: Any) -> Any:
        def earlier(self: Any) -> Any:
            with self._lock:
                steers, self._steers = self._steers, []
            messages = self._setting.session.messages
            for steer in steers:
                last = max(place for place, each in enumerate(messages) if each["role"] == "assistant")
                messages.insert(last, user_message(steer.text))
                self._show_user(steer.id, steer.text)
            return ask(self)

        return earlier

    instead(Turn, "_ask_model", make)


DEFECTS = {
    "a steer is dropped": Defect(install=drop, red=("steer.mid-tool.delivered",)),
    "a steer is delivered twice": Defect(
        install=deliver_twice,
        red=(
            "steer.mid-tool.delivered",
            "steer.mid-stream.delivered",
            "steer.order.kept",
            "steer.approval-open.delivered",
            "steer.history.kept",
            "steer.slow-tool.latency",
            "steer.ack-lost.unknown",
            "send.running.steers",
        ),
    ),
    "a steer lets the open call run": Defect(
        install=run_the_open_call, red=("steer.approval-open.delivered",)
    ),
    "a steer is put before what the model did": Defect(
        install=put_before_the_answer, red=("steer.mid-tool.delivered", "steer.order.kept")
    ),
    "steers come in another order": Defect(
        install=reorder, red=("steer.order.kept",), among=("steer.mid-tool.delivered",)
    ),
    "only the last of several steers comes": Defect(
        install=merge, red=("steer.order.kept",), among=("steer.mid-tool.delivered",)
    ),
    "the text of a steer is tidied up": Defect(
        install=tidy_up, red=("steer.payload.verbatim",), among=("steer.order.kept",)
    ),
    "a steer that begins with a slash is a command": Defect(
        install=read_commands, red=("steer.payload.verbatim",)
    ),
    "a steer is kept for the next turn and reported in this one": Defect(
        install=keep_for_the_next_turn, red=("steer.mid-tool.delivered",)
    ),
    "a steer pushes finished results out": Defect(
        install=forget_the_past, red=("steer.history.kept", "steer.slow-tool.latency")
    ),
    "a steer is delivered and never shown": Defect(
        install=show_none, red=("steer.mid-tool.delivered", "steer.approval-open.delivered")
    ),
    "a steer that comes too late is taken": Defect(
        install=take_when_it_is_over, red=("steer.turn-end-race.exactly-once",)
    ),
    "a steer answers the open question": Defect(
        install=answer_the_question, red=("steer.approval-open.delivered",)
    ),
    "the message of a deny is lost": Defect(
        install=lose_the_deny_message, red=("approve.deny.message-reaches-model",)
    ),
}
