"""What the agent does, as lines of text. Nothing that it prints can control the terminal."""

from __future__ import annotations

from typing import TextIO

import anyio

from checkrein.adapters.approvals import Approval
from checkrein.adapters.driver.output import Output
from checkrein.adapters.events import (
    ApprovalChanged,
    BackgroundJob,
    Event,
    Notice,
    SteerChanged,
    TextDelta,
    TextDone,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from checkrein.adapters.interface import HarnessIdentity
from checkrein.adapters.native import ToolCall, Usage
from checkrein.adapters.outcome import Outcome
from checkrein.adapters.shown import one_line, shown, visible

#: Characters shown of what a tool printed.
OUTPUT_SHOWN = 800


class Screen:
    """Prints events as they come.

    Args:
        out: where to print.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = Output(out)
        self._in_text = False
        self._streamed = False

    @property
    def gone(self) -> anyio.Event:
        """Set when the output takes no more (a closed pipe, a terminal that hung up); nothing is printed then."""
        return self._out.gone

    async def room(self) -> None:
        """Wait while much of what was printed is not read yet."""
        await self._out.room()

    def hurry(self) -> None:
        """From now on nobody waits for room."""
        self._out.hurry()

    async def printed(self) -> None:
        """Wait until all is printed, or the output is gone."""
        await self._out.written()

    def header(self, harness: HarnessIdentity, session_id: str, policy: str) -> None:
        """Which harness runs, in which conversation, under which policy."""
        version, session = one_line(harness.version), one_line(session_id)
        self._line(f"{harness.name} {version}, policy {policy}, session {session}")

    def event(self, event: Event) -> None:
        """Show one event."""
        match event:
            case TextDelta():
                self._streamed = True
                self._text(event.text)
            case TextDone():
                # Harnesses that stream have shown it already, piece by piece.
                if not self._streamed:
                    self._text(event.text)
                self._streamed = False
                self._end_text()
            case ToolStarted():
                self._line(f"▸ {_headline(event.call)}")
            case ToolFinished():
                status = "" if event.exit_status is None else f", exit status {event.exit_status}"
                self._line(f"  {event.status.value}{status}")
                if event.output.strip():
                    self._line(_indented(shown(event.output.rstrip("\n"), limit=OUTPUT_SHOWN)))
            case SteerChanged():
                self._line(f"» steer {event.state.value}: {shown(event.steer.text, limit=OUTPUT_SHOWN)}")
            case Notice():
                self._line(f"! {event.kind.value.replace('_', ' ')}: {shown(event.text, limit=OUTPUT_SHOWN)}")
            case ApprovalChanged() if event.approval.resolved_by is not None:
                self._line(f"  {_resolution(event.approval)}")
            case TurnStarted() | ApprovalChanged() | BackgroundJob() | TurnEnded():
                pass

    def question(self, approval: Approval) -> None:
        """Show what waits for a decision, and how to give it."""
        name = one_line(approval.call.name)
        self._line(f"? {name} wants to run:" if approval.call.command else f"? {name}:")
        self._line(_indented(approval.shown))
        if approval.reason:
            self._line(_indented(f"({visible(approval.reason)})"))
        self._end_text()
        self._write("allow? [y]es, [n]o, [a]lways in this turn, or the reason why not: ")
        self._in_text = True

    def answered(self) -> None:
        """A line was typed: its end has ended the line on the screen."""
        self._in_text = False

    def notice(self, text: str) -> None:
        """Show a line of our own."""
        self._line(text)

    def outcome(self, outcome: Outcome) -> None:
        """Show how the turn ended."""
        self._line(f"{outcome.status.value}: {visible(outcome.reason)}{_usage(outcome.usage)}")
        for survivor in outcome.survivors:
            self._line(f"  still alive: {survivor.pid} {visible(' '.join(survivor.cmdline))[:200]}")

    def _text(self, text: str) -> None:
        self._write(visible(text))
        self._in_text = not text.endswith("\n")

    def _end_text(self) -> None:
        if self._in_text:
            self._write("\n")
            self._in_text = False

    def _line(self, text: str) -> None:
        self._end_text()
        self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        self._out.write(text)


def _headline(call: ToolCall) -> str:
    name = one_line(call.name)
    if call.command is not None:
        return f"{name}: {shown(call.command, limit=OUTPUT_SHOWN)}"
    if call.paths:
        return f"{name}: {', '.join(visible(path) for path in call.paths)}"
    return f"{name} {shown(call.input_json, limit=OUTPUT_SHOWN)}"


def _resolution(approval: Approval) -> str:
    decided = approval.decision.kind.value.replace("_", " ") if approval.decision else "not answered"
    return f"{decided} ({approval.resolved_by.value if approval.resolved_by else 'open'})"


def _indented(text: str) -> str:
    return "\n".join(f"  │ {line}" for line in text.split("\n"))


def _usage(usage: Usage) -> str:
    if usage.input_tokens is None and usage.output_tokens is None:
        return ""
    cost = "" if usage.cost_usd is None else f", {usage.cost_usd:.4f} USD"
    return f" ({_count(usage.input_tokens)} tokens in, {_count(usage.output_tokens)} out{cost})"


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else str(tokens)
