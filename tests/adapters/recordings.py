"""Recordings of a real harness's wire, and a process that answers nothing, in whose place they are played."""

from __future__ import annotations

from importlib.resources import files

import msgspec

from checkrein.adapters.transport import ExitStatus

Message = dict[str, object]


class RecordedLine(msgspec.Struct):
    """A line of a recording, with the way that it went."""

    direction: str
    message: Message


class SilentProcess:
    """Takes lines and answers nothing."""

    exit_status: ExitStatus | None = None

    def __init__(self) -> None:
        self.sent: list[Message] = []

    async def send(self, line: bytes, *, deadline_seconds: float | None = None) -> None:
        self.sent.append(msgspec.json.decode(line, type=Message))

    def stderr_tail(self, max_bytes: int = 0) -> str:
        return ""


def recording(harness: str, name: str) -> list[RecordedLine]:
    """The lines of a recording, in order. Only LF ends one."""
    text = files("checkrein.fixtures").joinpath("wire", harness, f"{name}.jsonl").read_bytes()
    return [msgspec.json.decode(line, type=RecordedLine) for line in text.split(b"\n") if line]
