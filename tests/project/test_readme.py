"""The README's example does what it says: it is run, over the echo harness."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import anyio
import pytest

import checkrein.adapters
from checkrein.adapters import open_session
from checkrein.adapters.interface import Connection, Decision, SessionSpec
from checkrein.adapters.native import Asked, Question
from checkrein.adapters.transport import HarnessProcess
from tests.adapters.session.echo_harness import EchoConnection, EchoHarness, closed, question

README = Path(__file__).parents[2] / "README.md"


class Asking(EchoConnection):
    """Asks about a command once it is steered, and ends the turn when that is answered."""

    async def steer(self, steer_id: str, text: str) -> None:
        await super().steer(steer_id, text)
        await self.emit(Asked(question=question("git push")))

    async def answer(self, question: Question, decision: Decision) -> None:
        await super().answer(question, decision)
        await self.emit(closed())


class AskingHarness(EchoHarness):
    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        return Asking(self, spec, process)


def test_the_python_example_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 1
    harness = AskingHarness()
    asked_for: list[str] = []

    def opened(name: str, *, cwd: str, policy: str) -> object:
        asked_for.append(name)
        return partial(open_session, harness, binary=harness.binary)(cwd=tmp_path, policy=policy)

    monkeypatch.setattr(checkrein.adapters, "open_session", opened)
    exec(compile(blocks[0], str(README), "exec"), {"__name__": "readme", "anyio": anyio})
    assert asked_for == ["codex"]
    assert harness.newest.sent[:3] == [
        ("start", "move the retry logic into the client"),
        ("steer", "keep the public signature unchanged"),
        ("answer", "q-1", "deny", "not on main"),
    ]
    assert capsys.readouterr().out.splitlines()[0] == "git push"


def test_the_example_is_short() -> None:
    block = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)[0]
    assert len([line for line in block.splitlines() if line.strip()]) <= 15
