"""Defects beside a turn: what is left, what is taken along, what is asked that nobody asked for."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from checkrein.adapters import project_memory
from checkrein.adapters.acp.connection import AcpConnection
from checkrein.adapters.transport import HarnessProcess
from checkrein.conformance import arena as arenas
from checkrein.conformance.reference.agent import Agent
from checkrein.conformance.reference.cancellation import Cancellation, Cancelled
from checkrein.conformance.reference.model import Listener, Model, ModelFailed
from checkrein.conformance.reference.sessions import Session
from checkrein.conformance.reference.tools import offered
from checkrein.conformance.reference.turn import Turn
from tests.conformance.saboteurs.defect import Defect, instead

#: How long what is left behind lives, in seconds; longer than anybody looks.
LEFT_SECONDS = 30

#: How long a request lives that nobody waits for any more, or that nobody asked for, in seconds.
LATE_SECONDS = 1.0


def leave_a_process() -> None:
    """The driver starts a process beside the harness, and never ends it."""

    def make(start: Any) -> Any:
        async def beside(argv: Any, *, cwd: Any, env: Any, **more: Any) -> Any:
            _start_sleeping(env)
            return await start(argv, cwd=cwd, env=env, **more)

        return beside

    instead(HarnessProcess, "start", make)


def _start_sleeping(env: Any) -> None:
    subprocess.Popen(
        ["sleep", str(LEFT_SECONDS)],
        cwd="/",
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def touch_the_users_home() -> None:
    """The driver leaves a file in the home that the surrounding environment names."""

    def make(open_session: Any) -> Any:
        def touching(*words: Any, environment: Any, **more: Any) -> Any:
            if (home := Path(environment.get("HOME", "/nowhere"))).is_dir():
                home.joinpath(".checkrein").touch()
            return open_session(*words, environment=environment, **more)

        return touching

    instead(arenas, "open_session", make)


def hide_the_environment() -> None:
    """The environment of the agent's process is empty."""
    instead(psutil.Process, "environ", lambda _: lambda self: {})


def lose_the_first_word() -> None:
    """The first word of a prompt is lost."""

    def make(start: Any) -> Any:
        async def shortened(self: Any, turn_id: str, prompt: str) -> None:
            await start(self, turn_id, prompt.partition(" ")[2])

        return shortened

    instead(AcpConnection, "start_turn", make)


def begin_again() -> None:
    """A conversation that is taken up has its first prompt once more in the end."""

    def make(load: Any) -> Any:
        def changed(session_id: Any, home: Any) -> Any:
            session = load(session_id, home)
            session.messages.append(session.messages[0])
            return session

        return staticmethod(changed)

    instead(Session, "load", make)


def hang_up_late() -> None:
    """The turn is over, and its request to the model lives on for a moment."""

    def make(ask: Any) -> Any:
        def in_background(self: Any, *words: Any) -> Any:
            *given, cancellation, listener = words
            own, answers, over = Cancellation(), [], threading.Event()

            def asking() -> None:
                with suppress(Cancelled, ModelFailed):
                    answers.append(ask(self, *given, own, listener))
                over.set()

            threading.Thread(target=asking, daemon=True).start()
            try:
                with cancellation.stopping(over.set):
                    over.wait()
            except Cancelled:
                threading.Timer(LATE_SECONDS, own.cancel).start()
                raise
            return answers[0]

        return in_background

    instead(Model, "ask", make)


def _ask_in_passing(model: Model, session_id: str, messages: Any, tools: Any) -> None:
    """Ask the model for something, and do not wait long for the answer."""
    cancellation = Cancellation()
    listener = Listener(sent=lambda: None, text=lambda _: None, retrying=lambda _: None)
    over = threading.Timer(LATE_SECONDS, cancellation.cancel)
    over.start()
    with suppress(Cancelled, ModelFailed):
        model.ask(session_id, messages, tools, cancellation, listener)
    over.cancel()


def ask_again_in_the_end() -> None:
    """The model is asked once more for a turn that was stopped with a steer that waits, and not listened to."""

    def make(interrupted: Any) -> Any:
        def asking(self: Any) -> None:
            interrupted(self)
            if self._steers:
                setting = self._setting
                said = [{"role": "system", "content": "Sum it up."}, *setting.session.messages]
                _ask_in_passing(setting.model, setting.session.id, said, offered())

        return asking

    instead(Turn, "_interrupted", make)


def ask_at_the_start() -> None:
    """The model is asked before any prompt."""

    def make(initialize: Any) -> Any:
        def asking(self: Any, params: Any) -> Any:
            _ask_in_passing(self._model, "", [{"role": "user", "content": "Are you there?"}], [])
            return initialize(self, params)

        return asking

    instead(Agent, "_initialize", make)


def _memory(change: Any) -> None:
    """Let the memory of a workspace be what `change` makes of the workspace, the name and the honest reading."""

    def make(read: Any) -> Any:
        return lambda workspace, name: change(workspace, name, read)

    instead(project_memory, "_read", make)


def say_the_memory_twice() -> None:
    """The model is told the project's memory twice."""
    _memory(lambda workspace, name, read: f"{read(workspace, name)}\n{read(workspace, name)}")


def bring_what_lies_below() -> None:
    """With the project's memory comes what folders below say."""
    _memory(
        lambda workspace, name, read: f"{read(workspace, name)}\n{(workspace / 'docs' / name).read_text()}"
    )


def follow_the_link() -> None:
    """The project's memory is read wherever a link leads."""
    _memory(lambda workspace, name, read: (workspace / name).read_text())


DEFECTS = {
    "a process is left behind": Defect(
        install=leave_a_process,
        red=("session.close.nothing-left", "interrupt.frozen.killed", "session.resume.unknown-id"),
        in_driver=True,
    ),
    "the user's home is written to": Defect(
        install=touch_the_users_home, red=("session.env.clean",), in_driver=True
    ),
    "the environment of the agent cannot be seen": Defect(
        install=hide_the_environment, red=("session.env.clean",), in_driver=True
    ),
    "the first word of a prompt is lost": Defect(
        install=lose_the_first_word, red=("interrupt.next-turn.right-answer",), in_driver=True
    ),
    "a conversation that is taken up begins again": Defect(
        install=begin_again, red=("interrupt.frozen.killed", "session.resume.continues")
    ),
    "a request lives on behind its turn": Defect(
        install=hang_up_late, red=("interrupt.with-message.carries-on",)
    ),
    "the model is asked once more for a turn that was stopped": Defect(
        install=ask_again_in_the_end, red=("interrupt.queued-steers.not-run",)
    ),
    "the model is asked at the start": Defect(
        install=ask_at_the_start, red=("session.start.policy-effective", "session.resume.unknown-id")
    ),
    "the project's memory is said twice": Defect(
        install=say_the_memory_twice, red=("workspace.memory-is-explicit",), in_driver=True
    ),
    "the project's memory brings what lies below": Defect(
        install=bring_what_lies_below, red=("workspace.memory-is-explicit",), in_driver=True
    ),
    "the project's memory is read behind a link": Defect(
        install=follow_the_link, red=("workspace.memory-is-explicit",), in_driver=True
    ),
}
