"""The driver over the echo harness on a real terminal, and over the real Codex on a pseudo-terminal of its own."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from checkrein.adapters.driver.keyboard import Keyboard


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A pseudo-terminal: the person's end, and the program's.

    Args:
        person: what is typed is written here.
        program: what was typed is read here.
    """

    person: int
    program: int

    def types(self, text: str) -> None:
        """The person types."""
        os.write(self.person, text.encode())

    @property
    def keyboard(self) -> Keyboard:
        """The program's view of it."""
        return Keyboard(self.program)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    person, program = pty.openpty()
    try:
        yield Terminal(person=person, program=program)
    finally:
        os.close(program)
        os.close(person)
