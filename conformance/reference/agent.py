"""The reference agent: `python -I agent.py [--policy ask|auto] [--instructions FILE]`, ACP on its standard streams.

Where its model is, it learns from the environment: REFERENCE_MODEL_URL, _KEY, _NAME, _RETRIES, _SILENCE. Nothing else
is read: no configuration of a user, none of a workspace. Several conversations may be open; each has one turn at most.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from checkrein.conformance.reference.client import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    Client,
    Incoming,
    Refusal,
    RequestId,
)
from checkrein.conformance.reference.model import Model, ModelFailed
from checkrein.conformance.reference.sessions import NoSuchSession, Session
from checkrein.conformance.reference.turn import Setting, Steer, Turn

VERSION = "1.0.0"

#: The only version of ACP that it speaks.
PROTOCOL_VERSION = 1

#: Who decides over calls: a person, or nobody.
MODES = {"ask": "A person decides over each call.", "auto": "Every call runs."}

#: How long a turn that was cancelled by the end of our input may take, in seconds.
LAST_SECONDS = 1.0


class _Block(msgspec.Struct, frozen=True):
    type: str
    text: str = ""


class _Steering(msgspec.Struct, frozen=True, rename="camel"):
    message_id: str = ""


class _Meta(msgspec.Struct, frozen=True):
    steering: _Steering = _Steering()


class Params(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a request of the client may hold."""

    session_id: str = ""
    cwd: str = ""
    mode_id: str = ""
    prompt: tuple[_Block, ...] = ()
    meta: _Meta = msgspec.field(name="_meta", default=_Meta())

    @property
    def text(self) -> str:
        """The prompt's text."""
        return "".join(block.text for block in self.prompt)


@dataclass(slots=True)
class Conversation:
    """One that is open; it has one turn at most."""

    setting: Setting
    mode: str
    turn: Turn | None = None


class Agent:
    """All conversations of one process.

    Args:
        policy: the mode that conversations begin in.
        memory: what the model is told at the beginning of each.
    """

    def __init__(self, client: Client, model: Model, *, home: Path, policy: str, memory: str) -> None:
        self._client = client
        self._model = model
        self._home = home
        self._policy = policy
        self._memory = memory
        self._conversations: dict[str, Conversation] = {}
        self._threads: list[threading.Thread] = []
        self._methods: Mapping[str, Callable[[Params], dict[str, object]]] = {
            "initialize": self._initialize,
            "session/new": self._new,
            "session/load": self._load,
            "session/fork": self._fork,
            "session/set_mode": self._set_mode,
            "session/cancel": self._cancel,
            "_session/steering": self._steer,
        }

    def serve(self) -> None:
        """Do what the client wants, until it closes our input; then nothing is left running."""
        try:
            for request in self._client.requests():
                self._serve(request)
        finally:
            for conversation in self._conversations.values():
                if (turn := conversation.turn) is not None:
                    turn.cancel()
            for thread in self._threads:
                thread.join(LAST_SECONDS)

    def _serve(self, request: Incoming) -> None:
        try:
            params = msgspec.json.decode(request.params, type=Params)
            if request.method == "session/prompt" and request.id is not None:
                self._prompt(request.id, params)
                return
            method = self._methods.get(request.method or "")
            if method is None:
                raise Refusal(METHOD_NOT_FOUND, f"there is no method {request.method!r}")
            result = method(params)
        except Refusal as refusal:
            error = refusal
        except NoSuchSession as unknown:
            error = Refusal(RESOURCE_NOT_FOUND, str(unknown))
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            error = Refusal(INVALID_PARAMS, str(fault))
        else:
            if request.id is not None:
                self._client.answer(request.id, result)
            return
        if request.id is not None:
            self._client.refuse(request.id, error)

    # The methods

    def _initialize(self, _: Params) -> dict[str, object]:
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentInfo": {"name": "reference", "title": "Reference", "version": VERSION},
            "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"fork": {}}},
            "authMethods": [],
            "_meta": {"steering": {"supported": True}},
        }

    def _new(self, params: Params) -> dict[str, object]:
        return self._opened(Session.new(self._home), params)

    def _load(self, params: Params) -> dict[str, object]:
        session = Session.load(params.session_id, self._home)
        for message in session.messages:
            self._replay(session, message.get("role"), message.get("content"))
        return {"modes": self._opened(session, params)["modes"]}

    def _fork(self, params: Params) -> dict[str, object]:
        return self._opened(Session.fork(params.session_id, self._home), params)

    def _opened(self, session: Session, params: Params) -> dict[str, object]:
        setting = Setting(
            client=self._client, model=self._model, session=session, cwd=Path(params.cwd), memory=self._memory
        )
        self._conversations[session.id] = Conversation(setting, self._policy)
        modes = [{"id": name, "name": name, "description": words} for name, words in MODES.items()]
        return {
            "sessionId": session.id,
            "modes": {"currentModeId": self._policy, "availableModes": modes},
        }

    def _replay(self, session: Session, role: object, text: object) -> None:
        """Show a client that loads a conversation what was said in it."""
        kinds = {"user": "user_message_chunk", "assistant": "agent_message_chunk"}
        if isinstance(role, str) and role in kinds and text:
            update = {"sessionUpdate": kinds[role], "content": {"type": "text", "text": text}}
            self._client.notify("session/update", {"sessionId": session.id, "update": update})

    def _set_mode(self, params: Params) -> dict[str, object]:
        conversation = self._conversation(params)
        if params.mode_id not in MODES:
            raise Refusal(INVALID_PARAMS, f"there is no mode {params.mode_id!r}")
        conversation.mode = params.mode_id
        update = {"sessionUpdate": "current_mode_update", "currentModeId": params.mode_id}
        self._client.notify("session/update", {"sessionId": params.session_id, "update": update})
        return {}

    def _cancel(self, params: Params) -> dict[str, object]:
        turn = self._conversation(params).turn
        if turn is not None:
            turn.cancel()
        return {}

    def _steer(self, params: Params) -> dict[str, object]:
        turn = self._conversation(params).turn
        steer = Steer(id=params.meta.steering.message_id, text=params.text)
        if turn is not None and turn.steer(steer):
            return {"outcome": "injected"}
        return {"outcome": "promptRequired", "reason": "noRunningTurn"}

    def _prompt(self, request_id: RequestId, params: Params) -> None:
        conversation = self._conversation(params)
        if conversation.turn is not None:
            raise Refusal(INVALID_REQUEST, "another turn is already in progress")
        turn = conversation.turn = self._turn(conversation, params.text)
        thread = threading.Thread(target=self._run, args=(request_id, conversation, turn), daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()

    def _turn(self, conversation: Conversation, prompt: str) -> Turn:
        return Turn(conversation.setting, prompt, asks=conversation.mode == "ask")

    def _run(self, request_id: RequestId, conversation: Conversation, turn: Turn) -> None:
        try:
            result = turn.run()
        except ModelFailed as fault:
            error = Refusal(INTERNAL_ERROR, str(fault))
        except Exception as fault:  # of our own making: the client must not wait for ever
            error = Refusal(INTERNAL_ERROR, f"the agent failed: {fault!r}")
        else:
            conversation.turn = None
            self._client.answer(request_id, result)
            return
        conversation.turn = None
        self._client.refuse(request_id, error)

    def _conversation(self, params: Params) -> Conversation:
        try:
            return self._conversations[params.session_id]
        except KeyError:
            raise NoSuchSession(f"there is no session {params.session_id!r}") from None


def main(kind: type[Agent] = Agent) -> None:
    """Serve one client.

    Args:
        kind: the agent; another one only where this one is to be compared with it.
    """
    words = argparse.ArgumentParser(prog="reference")
    words.add_argument("--policy", choices=tuple(MODES), default="ask")
    words.add_argument("--instructions", type=Path)
    given = words.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    variables = os.environ
    model = Model(
        url=variables["REFERENCE_MODEL_URL"],
        key=variables["REFERENCE_MODEL_KEY"],
        name=variables.get("REFERENCE_MODEL_NAME", "scripted"),
        retries=int(variables.get("REFERENCE_MODEL_RETRIES", "3")),
        silence=float(variables.get("REFERENCE_MODEL_SILENCE", "300")),
    )
    memory = given.instructions.read_text(encoding="utf-8") if given.instructions is not None else ""
    kind(Client(), model, home=Path.home(), policy=given.policy, memory=memory).serve()


if __name__ == "__main__":
    main()
