"""A person at the keyboard decides what is on the screen, once; nothing of it controls the terminal."""

from __future__ import annotations

import io
import os
import termios
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from checkrein.adapters.approvals import Approval, ResolvedBy
from checkrein.adapters.driver.keyboard import NO_TERMINAL, Keyboard, ask
from checkrein.adapters.driver.screen import Screen
from checkrein.adapters.errors import HarnessDied
from checkrein.adapters.events import TextDelta, ToolStarted
from checkrein.adapters.interface import Decision
from tests.adapters.driver.conftest import Terminal
from tests.adapters.session.echo_harness import command, question

pytestmark = pytest.mark.anyio


class NoticedOutput(io.StringIO):
    """An output that tells when a question stands on it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = anyio.Event()

    def write(self, text: str) -> int:
        if "allow?" in text:
            self.asked.set()
        return super().write(text)


class Decided:
    """An approval, and the decisions that it came to."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.decisions: list[tuple[str, str]] = []
        self.approval = Approval(question("rm x"), self.answer, workspace=Path("/w"))
        self._fault = fault

    async def answer(self, approval: Approval, decision: Decision, by: ResolvedBy) -> None:
        approval.resolved_by = by
        approval.resolved.set()
        self.decisions.append((decision.kind.value, decision.message))
        if self._fault is not None:
            raise self._fault


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    ("typed", "decision"),
    [
        ("y\n", ("allow", "")),
        ("Yes\n", ("allow", "")),
        ("a\n", ("allow_always", "")),
        ("n\n", ("deny", "")),
        ("\n", ("deny", "")),
        ("not on main\n", ("deny", "not on main")),
        ("\x04", ("deny", NO_TERMINAL)),
    ],
)
async def test_what_is_typed_decides(terminal: Terminal, typed: str, decision: tuple[str, str]) -> None:
    decided, out = Decided(), NoticedOutput()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, decided.approval, terminal.keyboard, Screen(out))
            await out.asked.wait()
            terminal.types(typed)
    assert decided.decisions == [decision]


async def test_what_was_typed_before_the_question_was_shown_answers_nothing(terminal: Terminal) -> None:
    decided, out = Decided(), NoticedOutput()
    terminal.types("y\n")
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, decided.approval, terminal.keyboard, Screen(out))
            await out.asked.wait()
            terminal.types("n\n")
    assert decided.decisions == [("deny", "")]


async def test_a_question_that_is_void_is_asked_no_longer_and_leaves_the_terminal_as_it_was(
    terminal: Terminal,
) -> None:
    decided, out = Decided(), NoticedOutput()
    before = termios.tcgetattr(terminal.program)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, decided.approval, terminal.keyboard, Screen(out))
            await out.asked.wait()
            decided.approval.resolved.set()
    assert decided.decisions == []
    assert termios.tcgetattr(terminal.program) == before


async def test_a_terminal_that_hung_up_denies() -> None:
    person, program = os.openpty()
    os.close(person)
    decided = Decided()
    try:
        with anyio.fail_after(10):
            await ask(decided.approval, Keyboard(program), Screen(io.StringIO()))
    finally:
        os.close(program)
    assert decided.decisions == [("deny", NO_TERMINAL)]


async def test_a_fault_while_answering_is_shown_and_does_not_end_the_driver() -> None:
    decided = Decided(HarnessDied("the harness's process ended", status="signal 9", stderr=""))
    out = io.StringIO()
    await ask(decided.approval, None, Screen(out))
    assert "signal 9" in out.getvalue()


async def test_nothing_that_a_harness_says_controls_the_terminal() -> None:
    out = io.StringIO()
    screen = Screen(out)
    hostile = replace(command("ls"), name="mcp\x1b[2J\nallowed", command=None, input_json='{"a":"\x1b[8m"}')
    screen.event(ToolStarted(call=hostile))
    screen.event(TextDelta(text="\x1b]0;title\x07 a\rb \u202e"))
    asked = Approval(replace(question("ls"), call=hostile), Decided().answer, workspace=Path("/w"))
    screen.question(asked)
    assert not set(out.getvalue()) & set("\x1b\x07\r\u202e")
    assert "\nallowed" not in out.getvalue()


async def test_an_output_that_is_closed_is_noticed_and_written_to_no_more() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as out:
        screen = Screen(out)
        screen.notice("one")
        screen.notice("two")
        with anyio.fail_after(10):
            await screen.printed()
        assert screen.gone.is_set()


async def test_what_the_output_cannot_encode_is_written_out() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    Screen(out).event(ToolStarted(call=command("echo é")))
    assert raw.getvalue() == b"\\u25b8 shell: echo \\xe9\n"
