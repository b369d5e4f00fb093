"""Decisions typed at a terminal."""

from __future__ import annotations

import os
import termios
from contextlib import suppress
from typing import TextIO

import anyio

from checkrein.adapters.approvals import Approval
from checkrein.adapters.driver.screen import Screen
from checkrein.adapters.errors import ApprovalStale, CheckreinError

NO_TERMINAL = "no person is at a terminal to approve this"


class Keyboard:
    """Reads lines from a terminal without a thread, so that a question that is void stops being asked.

    Args:
        descriptor: of the terminal's input.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._unread = b""

    @classmethod
    def at(cls, stream: TextIO | None) -> Keyboard | None:
        """The keyboard behind a stream; None when there is none: no terminal, or a standard input that was closed."""
        return cls(stream.fileno()) if stream is not None and stream.isatty() else None

    def forget(self) -> None:
        """Drop what was typed so far: it cannot have been the answer to a question that nobody had seen yet."""
        self._unread = b""
        with suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    async def line(self) -> str | None:
        """The next line without its end; None at the end of the input."""
        while b"\n" not in self._unread:
            await anyio.wait_readable(self._descriptor)
            try:
                data = os.read(self._descriptor, 4096)
            except OSError:  # the terminal has hung up
                return None
            if not data:
                return None
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode(errors="replace").strip()


async def ask(approval: Approval, keyboard: Keyboard | None, screen: Screen) -> None:
    """Put an approval to the person at the keyboard; returns when it is resolved, by whomever.

    Args:
        keyboard: None where there is no terminal: the call is denied, and the model is told why.
    """
    if keyboard is None:
        await _answer(approval, "n", NO_TERMINAL, screen)
        return
    keyboard.forget()
    screen.question(approval)
    async with anyio.create_task_group() as tasks:

        async def leave_when_resolved() -> None:
            await approval.resolved.wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(leave_when_resolved)
        answer = await keyboard.line()
        if answer is None:
            await _answer(approval, "n", NO_TERMINAL, screen)
        else:
            screen.answered()
            await _answer(approval, answer, "", screen)
        tasks.cancel_scope.cancel()


async def _answer(approval: Approval, answer: str, message: str, screen: Screen) -> None:
    try:
        match answer.lower():
            case "y" | "yes":
                await approval.allow()
            case "a" | "always":
                await approval.allow_always()
            case "n" | "no" | "":
                await approval.deny(message)
            case _:
                await approval.deny(answer)
    except ApprovalStale:
        return  # resolved in the same moment; the screen has shown by whom
    except CheckreinError as error:
        screen.notice(f"! {error}")  # the turn fails for it; its outcome is told
