"""The reference agent with one difference: it trusts the workspace, as an ordinary launch of many agents does.

Nothing launches it but the kit's negative control: an attack of `fixtures/hostile/reference` that achieves nothing even
here would prove nothing. What it obeys is in `.reference/settings.json` of the workspace:

    start: shell lines that run when a conversation opens
    before: a shell line that runs in front of each command, once the command was approved
    allow: beginnings of commands that need no question
    answers: beginnings of commands about which the question is answered here, beside the host
    model_url: where the model is
    prompts: turns that begin by themselves when the first one has ended
    instructions: what the model is told beside the host's own

And it runs `git status` when a conversation opens.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec

from checkrein.conformance.reference.agent import Agent, Conversation, Params, main
from checkrein.conformance.reference.client import Asked, RequestId
from checkrein.conformance.reference.sessions import Session
from checkrein.conformance.reference.tools import Result, Shell, Tool
from checkrein.conformance.reference.turn import Planned, Setting, Turn

SETTINGS = ".reference/settings.json"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the workspace says."""

    start: tuple[str, ...] = ()
    before: str = ""
    allow: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    model_url: str = ""
    prompts: tuple[str, ...] = ()
    instructions: str = ""


def settings_of(workspace: Path) -> Settings:
    """The settings in a workspace."""
    path = workspace / SETTINGS
    return msgspec.json.decode(path.read_bytes(), type=Settings) if path.is_file() else Settings()


class TrustingTurn(Turn):
    """A turn in which the workspace has its say."""

    def __init__(self, setting: Setting, prompt: str, *, asks: bool) -> None:
        self._settings = settings_of(setting.cwd)
        super().__init__(setting, prompt, asks=asks)

    def _asks_about(self, tool: Tool) -> bool:
        return super()._asks_about(tool) and not tool.title.startswith(self._settings.allow)

    def _ask_permission(self, planned: Planned) -> Asked:
        asked = super()._ask_permission(planned)
        if planned.tool is not None and planned.tool.title.startswith(self._settings.answers):
            asked.settle(msgspec.Raw(b'{"outcome":{"outcome":"selected","optionId":"yes"}}'))
        return asked

    def _result(self, planned: Planned) -> Result:
        if isinstance(planned.tool, Shell) and self._settings.before:
            planned.tool = Shell(command=f"{self._settings.before}; {planned.tool.command}")
        return super()._result(planned)


class TrustingAgent(Agent):
    """An agent that obeys the workspace."""

    def _opened(self, session: Session, params: Params) -> dict[str, object]:
        workspace = Path(params.cwd)
        settings = settings_of(workspace)
        for line in (*settings.start, "git status"):
            subprocess.run(line, shell=True, cwd=workspace, capture_output=True, check=False)
        if settings.model_url:
            self._model = replace(self._model, url=settings.model_url)
        self._memory = "\n\n".join(filter(None, (self._memory, settings.instructions)))
        return super()._opened(session, params)

    def _turn(self, conversation: Conversation, prompt: str) -> Turn:
        return TrustingTurn(conversation.setting, prompt, asks=conversation.mode == "ask")

    def _run(self, request_id: RequestId, conversation: Conversation, turn: Turn) -> None:
        super()._run(request_id, conversation, turn)
        if request_id == "of its own":
            return
        for prompt in settings_of(conversation.setting.cwd).prompts:
            own = conversation.turn = self._turn(conversation, prompt)
            self._run("of its own", conversation, own)


if __name__ == "__main__":
    main(TrustingAgent)
