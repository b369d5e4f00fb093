"""Defects of an agent that is told to stop."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from typing import Any

from checkrein.conformance.reference import model, tools, turn
from checkrein.conformance.reference.agent import Agent
from checkrein.conformance.reference.cancellation import Cancellation, Cancelled
from checkrein.conformance.reference.sessions import Session
from checkrein.conformance.reference.turn import Turn
from tests.conformance.saboteurs.defect import Defect, instead


def ignore() -> None:
    """A cancel does nothing."""
    instead(Turn, "cancel", lambda _: lambda self: None)


def acknowledge_and_go_on() -> None:
    """A cancel ends the turn for the client alone: the request and its calls go on."""

    def make(run: Any) -> Any:
        def go_on(self: Any, request_id: Any, conversation: Any, this: Any) -> None:
            answered = threading.Event()

            def cancelled() -> None:
                if not answered.is_set():
                    answered.set()
                    conversation.turn = None
                    self._client.answer(request_id, {"stopReason": "cancelled"})

            this.cancel = cancelled
            answer, refuse = self._client.answer, self._client.refuse

            class Once:
                def __getattr__(self, name: str) -> Any:
                    return getattr(client, name)

                def answer(self, *words: Any) -> None:
                    if not answered.is_set():
                        answered.set()
                        answer(*words)

                def refuse(self, *words: Any) -> None:
                    if not answered.is_set():
                        answered.set()
                        refuse(*words)

            client = self._client
            twin = Agent.__new__(Agent)
            twin.__dict__ |= {**self.__dict__, "_client": Once()}
            run(twin, request_id, conversation, this)

        return go_on

    instead(Agent, "_run", make)


def end_well() -> None:
    """A cancelled turn says that it came to its end."""

    def make(run: Any) -> Any:
        def well(self: Any) -> Any:
            return {**run(self), "stopReason": "end_turn"}

        return well

    instead(Turn, "run", make)


def crash() -> None:
    """A cancel ends the process."""
    instead(Turn, "cancel", lambda _: lambda self: os._exit(7))


def never_answer() -> None:
    """A cancelled turn stops, and is never answered."""

    def make(run: Any) -> Any:
        def silent(self: Any) -> Any:
            ended = run(self)
            if ended["stopReason"] == "cancelled":
                threading.Event().wait()
            return ended

        return silent

    instead(Turn, "run", make)


def hold_the_line() -> None:
    """A cancel does not hang up: the answer is read in the background, to nobody's use."""

    @contextmanager
    def kept(self: Any, cancellation: Any) -> Any:
        connection = model.Exchange(self.url, seconds=self.silence)
        LINES.append(connection)
        yield connection

    def make(ask: Any) -> Any:
        def in_the_background(
            self: Any, conversation: Any, messages: Any, offered: Any, cancellation: Any, listener: Any
        ) -> Any:
            found: list[Any] = []
            over = threading.Event()

            def work() -> None:
                try:
                    found.append(ask(self, conversation, messages, offered, Cancellation(), listener))
                except Exception as fault:
                    found.append(fault)
                over.set()

            threading.Thread(target=work, daemon=True).start()
            with cancellation.stopping(over.set):
                over.wait()
            if isinstance(found[0], Exception):
                raise found[0]
            return found[0]

        return in_the_background

    instead(model.Model, "_connection", lambda _: kept)
    instead(model.Model, "ask", make)


#: Connections that nobody closes.
LINES: list[Any] = []


def run_what_comes_late() -> None:
    """A cancel lets the model finish: what it calls is run before the turn ends."""

    def make(ask: Any) -> Any:
        def to_its_end(
            self: Any, conversation: Any, messages: Any, offered: Any, cancellation: Any, listener: Any
        ) -> Any:
            def work() -> None:
                with suppress(Exception):
                    answer = ask(self, conversation, messages, offered, Cancellation(), listener)
                    if cancellation._cancelled.is_set():
                        for call in answer.calls:
                            tools.tool_of(call).run(WORKSPACES[-1], Cancellation())
                    found.append(answer)
                over.set()

            found: list[Any] = []
            over = threading.Event()
            threading.Thread(target=work, daemon=True).start()
            with cancellation.stopping(over.set):
                over.wait()
            return found[0]

        return to_its_end

    def opened(original: Any) -> Any:
        def noted(self: Any, session: Any, params: Any) -> Any:
            WORKSPACES.append(tools.Path(params.cwd))
            return original(self, session, params)

        return noted

    instead(Agent, "_opened", opened)
    instead(model.Model, "ask", make)


#: Where conversations work.
WORKSPACES: list[Any] = []


def drop_finished_results() -> None:
    """A cancelled turn takes back the results of its finished calls."""

    def make(interrupted: Any) -> Any:
        def dropped(self: Any) -> None:
            messages = self._setting.session.messages
            for message in messages:
                if message.get("role") == "tool":
                    message["content"] = turn.ABORTED_BEFORE
            interrupted(self)

        return dropped

    instead(Turn, "_interrupted", make)


def no_receipt() -> None:
    """A cancelled turn leaves its open calls without a result."""
    instead(Session, "unanswered", lambda _: lambda self: iter(()))


def blame_the_person() -> None:
    """The receipt of a stopped call reads as a person's refusal."""
    turn.ABORTED_RUNNING = turn.ABORTED_BEFORE = "The user doesn't want to proceed: the call was rejected."


def say_only_that_it_did_not_run() -> None:
    """The receipt of a stopped call does not say why there is no result."""
    turn.ABORTED_RUNNING = turn.ABORTED_BEFORE = "No result."


def abort_in_a_person_s_name() -> None:
    """The receipt of a stopped call says that it was aborted, because a person declined it."""
    turn.ABORTED_RUNNING = turn.ABORTED_BEFORE = "Aborted: the user declined this call."


def repeat_finished_results() -> None:
    """A cancelled turn answers its finished calls again."""

    def make(interrupted: Any) -> Any:
        def again(self: Any) -> None:
            session = self._setting.session
            session.append(*(each for each in session.messages if each.get("role") == "tool"))
            interrupted(self)

        return again

    instead(Turn, "_interrupted", make)


def put_before_what_was_cut() -> None:
    """A prompt behind an interrupted answer is put before it."""

    def make(ask: Any) -> Any:
        def earlier(self: Any) -> Any:
            messages = self._setting.session.messages
            if len(messages) > 2 and messages[-2]["content"] == turn.INTERRUPTED:
                messages.insert(-3, messages.pop())
            return ask(self)

        return earlier

    instead(Turn, "_ask_model", make)


def leave_no_mark() -> None:
    """Nothing tells the model that its turn was interrupted."""

    def make(interrupted: Any) -> Any:
        def unmarked(self: Any) -> None:
            append = self._setting.session.append
            self._setting.session.append = lambda *messages: append(
                *(message for message in messages if message["content"] != turn.INTERRUPTED)
            )
            try:
                interrupted(self)
            finally:
                del self._setting.session.append

        return unmarked

    instead(Turn, "_interrupted", make)


def write_the_mark_late() -> None:
    """The interruption is on disk only some time after the end of the turn was told."""

    def make(interrupted: Any) -> Any:
        def late(self: Any) -> None:
            session = self._setting.session
            before = len(session.messages)
            write, session.append = session.append, lambda *messages: session.messages.extend(messages)
            interrupted(self)
            news = session.messages[before:]
            del session.messages[before:]
            session.messages += news

            def catch_up() -> None:
                with session._path.open("ab") as file:
                    file.write(b"".join(turn.msgspec.json.encode(message) + b"\n" for message in news))

            session.append = write
            threading.Timer(0.3, catch_up).start()

        return late

    instead(Turn, "_interrupted", make)


def answer_the_last_question() -> None:
    """What an interrupted answer had said is said again as the beginning of the next one."""
    left: list[str] = []

    def make_interrupted(interrupted: Any) -> Any:
        def kept(self: Any) -> None:
            left.append(self._said)
            interrupted(self)

        return kept

    def make_show(show: Any) -> Any:
        def leaking(self: Any, update: Any) -> None:
            if left and update["sessionUpdate"] == "agent_message_chunk":
                text = left.pop() + update["content"]["text"]
                update = {**update, "content": {"type": "text", "text": text}}
            show(self, update)

        return leaking

    instead(Turn, "_interrupted", make_interrupted)
    instead(Turn, "_show", make_show)


def run_queued_steers() -> None:
    """A steer that waits when the turn is cancelled begins a turn of its own."""

    def make(run: Any) -> Any:
        def again(self: Any, request_id: Any, conversation: Any, this: Any) -> None:
            run(self, request_id, conversation, this)
            for steer in this._steers:
                own = conversation.turn = self._turn(conversation, steer.text)
                self._run("of its own", conversation, own)

        return again

    instead(Agent, "_run", make)


def keep_queued_steers() -> None:
    """A steer that waits when the turn is cancelled joins the conversation."""

    def make(interrupted: Any) -> Any:
        def joining(self: Any) -> None:
            interrupted(self)
            for steer in self._steers:
                self._setting.session.append(turn.user_message(steer.text))

        return joining

    instead(Turn, "_interrupted", make)


def forget_the_prompt() -> None:
    """An interrupted turn forgets that it ever was, with all that was said before."""

    def make(interrupted: Any) -> Any:
        def forgotten(self: Any) -> None:
            interrupted(self)
            del self._setting.session.messages[:-1]

        return forgotten

    instead(Turn, "_interrupted", make)


def answer_twice() -> None:
    """A cancelled turn goes on to speak after its end."""

    def make(run: Any) -> Any:
        def chatty(self: Any, request_id: Any, conversation: Any, this: Any) -> None:
            run(self, request_id, conversation, this)
            with suppress(Cancelled):
                this._cancellation.check()
                return
            again = self._turn(conversation, "")
            again._setting = conversation.setting
            with suppress(Exception):
                again._ask_model()

        return chatty

    instead(Agent, "_run", make)


DEFECTS = {
    "a cancel is ignored": Defect(
        install=ignore,
        red=("interrupt.before-byte.outcome",),
    ),
    "a cancel is acknowledged, and the turn goes on": Defect(
        install=acknowledge_and_go_on,
        red=(
            "interrupt.mid-text.hang-up",
            "interrupt.mark.visible",
            "interrupt.record.on-disk-first",
            "interrupt.retry-backoff.quiet",
        ),
    ),
    "a cancelled turn says that it came to its end": Defect(
        install=end_well, red=("interrupt.before-byte.outcome", "session.two.no-crosstalk")
    ),
    "a cancel ends the process": Defect(install=crash, red=("interrupt.before-byte.outcome",)),
    "a cancelled turn is never answered": Defect(
        install=never_answer, red=("interrupt.before-byte.outcome",)
    ),
    "a cancel does not hang up": Defect(install=hold_the_line, red=("interrupt.mid-text.hang-up",)),
    "a call that comes behind a cancel is run": Defect(
        install=run_what_comes_late, red=("interrupt.late-tool-call.not-run", "interrupt.mid-tool-call.quiet")
    ),
    "finished results are rewritten as aborted": Defect(
        install=drop_finished_results, red=("interrupt.finished-results.kept",)
    ),
    "a stopped call has no receipt": Defect(
        install=no_receipt, red=("interrupt.open-calls.receipt", "interrupt.receipt.honest")
    ),
    "a receipt blames the person": Defect(install=blame_the_person, red=("interrupt.receipt.honest",)),
    "a receipt says only that there is no result": Defect(
        install=say_only_that_it_did_not_run, red=("interrupt.receipt.honest",)
    ),
    "a receipt says that a person aborted": Defect(
        install=abort_in_a_person_s_name, red=("interrupt.receipt.honest",)
    ),
    "finished calls are answered twice": Defect(
        install=repeat_finished_results, red=("interrupt.finished-results.kept",)
    ),
    "a prompt is put before the answer that was cut": Defect(
        install=put_before_what_was_cut,
        red=("interrupt.next-turn.right-answer", "interrupt.with-message.carries-on"),
    ),
    "an interruption leaves no mark": Defect(
        install=leave_no_mark, red=("interrupt.mark.visible", "interrupt.record.on-disk-first")
    ),
    "an interruption is on disk too late": Defect(
        install=write_the_mark_late, red=("interrupt.record.on-disk-first",)
    ),
    "the next answer begins with the interrupted one": Defect(
        install=answer_the_last_question, red=("interrupt.next-turn.right-answer",)
    ),
    "a waiting steer begins a turn when its own is cancelled": Defect(
        install=run_queued_steers, red=("interrupt.queued-steers.not-run",)
    ),
    "a waiting steer joins the conversation when its turn is cancelled": Defect(
        install=keep_queued_steers, red=("interrupt.queued-steers.not-run",)
    ),
    "an interrupted conversation is forgotten": Defect(
        install=forget_the_prompt, red=("interrupt.with-message.carries-on",)
    ),
    "the model is asked once more after a cancel": Defect(
        install=answer_twice,
        # Not the window with a waiting steer: whether quiet is broken there too depends on which comes first, the
        # further request or the driver's look at the end of the turn.
        red=("interrupt.after-tool-result.outcome", "interrupt.after-tool-result.quiet"),
    ),
}
