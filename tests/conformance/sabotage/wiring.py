"""Defects of reading from and writing to a harness's process."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from checkrein.adapters.codex.connection import CodexConnection
from checkrein.adapters.codex.translate import Translator
from checkrein.adapters.interrupting import InterruptLadder
from checkrein.adapters.outcome import StoppedBy
from checkrein.adapters.transport import HarnessProcess
from checkrein.adapters.transport.framing import LineFramer
from checkrein.adapters.transport.pipes import WriteEnd
from checkrein.adapters.transport.streams import STDERR_KEPT_BYTES, ErrorTail
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute

#: The fields of Codex's messages as they are today.
FIELDS = {"id", "method", "params", "result", "error", "emittedAtMs"}


def read_text_by_text() -> None:
    """What one read gives is text, its lines are whole, and each is a message."""

    def make(feed: Any) -> Any:
        def naive(self: Any, data: bytes) -> list[bytes]:
            if self._max_line_bytes is not None:
                return feed(self, data)  # standard error
            lines = data.decode().splitlines()
            for line in lines:
                json.loads(line)
            return [line.encode() for line in lines]

        return naive

    replace_attribute(LineFramer, "feed", make)


def know_todays_messages_only() -> None:
    """A message that is not as today's are cannot be read."""

    def make(decode: Any) -> Any:
        def strict(self: Any, lines: list[bytes]) -> Any:
            unknown = [line for line in lines if json.loads(line).keys() - FIELDS]
            if unknown:
                raise ValueError(f"unknown fields: {unknown[0][:80]!r}")
            return decode(self, lines)

        return strict

    def refuse(_: Any) -> Any:
        def unknown(self: Any, key: str, text: str) -> Any:
            raise ValueError(text)

        return unknown

    replace_attribute(CodexConnection, "decode", make)
    replace_attribute(Translator, "_unknown", refuse)


def take_any_end() -> None:
    """The end of whichever turn is the end of the one that was asked for last."""

    def make(completed: Any) -> Any:
        def forgetful(self: Any, params: Any) -> Any:
            self._ended_id = ""
            return completed(self, params)

        return forgetful

    replace_attribute(Translator, "_turn_completed", make)


def close_a_long_standard_error() -> None:
    """Standard error is closed when as much has come as is kept."""

    def make(keep: Any) -> Any:
        def short(self: Any, data: bytes) -> None:
            keep(self, data)
            if self.total_bytes > STDERR_KEPT_BYTES:
                self._end.close()

        return short

    replace_attribute(ErrorTail, "_keep", make)


def call_a_full_pipe_broken() -> None:
    """What does not fit into the pipe at once is not sent."""

    async def wait(self: Any) -> None:
        raise BrokenPipeError("the pipe is full")

    replace_attribute(WriteEnd, "wait", lambda _: wait)


def hear_no_last_words() -> None:
    """Nobody looks at the standard error of a process that died."""
    replace_attribute(HarnessProcess, "stderr_tail", lambda _: lambda self, max_bytes=0: "")


def credit_the_harness() -> None:
    """The harness is said to have stopped the turn, although it had to be killed."""

    def make(end: Any) -> Any:
        async def ended(self: Any) -> Any:
            return replace(await end(self), by=StoppedBy.HARNESS)

        return ended

    replace_attribute(InterruptLadder, "_end_the_process", make)


DEFECTS: dict[str, Defect] = {
    "takes what a read gives for whole lines of text": Defect(
        harness="codex",
        red=(
            "fault.wire.invalid-utf-8",
            "fault.wire.line-10-mib",
            "fault.wire.line-64-mib",
            "fault.wire.multi-byte-split",
            "fault.wire.stray-text",
            "fault.wire.torn-lines",
            "fault.wire.u2028",
        ),
        among=(
            "fault.wire.invalid-utf-8",
            "fault.wire.line-*",
            "fault.wire.multi-byte-split",
            "fault.wire.stray-text",
            "fault.wire.torn-lines",
            "fault.wire.u2028",
            "fault.wire.unknown-fields",
        ),
        install=read_text_by_text,
    ),
    "knows today's messages only": Defect(
        harness="codex",
        red=("fault.wire.unknown-fields", "fault.wire.unknown-types"),
        among=("fault.wire.unknown-*", "fault.wire.multi-byte-split"),
        install=know_todays_messages_only,
    ),
    "takes any end for the end": Defect(
        harness="codex",
        red=("fault.wire.late-message",),
        among=("fault.wire.late-message", "fault.wire.torn-lines"),
        install=take_any_end,
    ),
    "closes a long standard error": Defect(
        harness="codex",
        red=("fault.wire.stderr-flood",),
        among=("fault.wire.stderr-flood", "fault.wire.torn-lines"),
        install=close_a_long_standard_error,
    ),
    "calls a full pipe broken": Defect(
        harness="codex",
        red=("fault.wire.slow-reader",),
        among=("fault.wire.slow-reader", "fault.wire.torn-lines"),
        install=call_a_full_pipe_broken,
    ),
    "hears no last words": Defect(
        harness="codex",
        red=("fault.wire.exit-mid-request", "fault.wire.torn-last-line"),
        among=("fault.wire.exit-mid-request", "fault.wire.late-message", "fault.wire.torn-last-line"),
        install=hear_no_last_words,
    ),
    "says that the harness stopped what was killed": Defect(
        harness="codex",
        red=("fault.wire.silence",),
        among=("fault.wire.silence", "fault.wire.torn-last-line"),
        install=credit_the_harness,
    ),
}
