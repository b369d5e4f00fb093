"""Decisions typed at a terminal."""

from __future__ import annotations

import os

import anyio

from checkrein.adapters.approvals import Approval
from checkrein.adapters.driver.screen import Screen
from checkrein.adapters.errors import ApprovalStale

NO_TERMINAL = "no person is at a terminal to approve this"


class Keyboard:
    """Reads lines from a terminal without a thread, so that a question that is void stops being asked.

    Args:
        descriptor: of the terminal's input.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._unread = b""

    async def line(self) -> str | None:
        """The next line without its end; None at the end of the input."""
        while b"\n" not in self._unread:
            await anyio.wait_readable(self._descriptor)
            data = os.read(self._descriptor, 4096)
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
        await _unless_stale(approval, "n", NO_TERMINAL)
        return
    screen.question(approval)
    async with anyio.create_task_group() as tasks:

        async def leave_when_resolved() -> None:
            await approval.resolved.wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(leave_when_resolved)
        answer = await keyboard.line()
        await _unless_stale(
            approval, "n" if answer is None else answer, NO_TERMINAL if answer is None else ""
        )


async def _unless_stale(approval: Approval, answer: str, message: str) -> None:
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
