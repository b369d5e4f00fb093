"""What 10,000 events cost from the pipe to `turn.events()`, beside the floor: read, split and decode into the types.

    python -m tests.benchmarks.event_cost [--events N] [--rounds N]

Both sides read the same bytes from a child process, in turn, on asyncio; the figures are CPU time of this process. The
lines are those of recorded turns (`fixtures/wire`), every piece of text twenty times, since most of what a harness says
is text in pieces. The design wants a ratio of 2 at most.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import cast

import anyio
import msgspec

from checkrein.adapters import open_session
from checkrein.adapters.claude_code import HARNESS as CLAUDE_CODE
from checkrein.adapters.claude_code.connection import ClaudeCodeConnection
from checkrein.adapters.claude_code.messages import UNUSED_TYPES, decode_head, decode_line
from checkrein.adapters.claude_code.translate import Purpose
from checkrein.adapters.codex import messages as m
from checkrein.adapters.codex import received as r
from checkrein.adapters.codex.connection import CodexConnection
from checkrein.adapters.interface import (
    Connection,
    HarnessAdapter,
    HarnessBinary,
    Launch,
    Opened,
    SessionSpec,
)
from checkrein.adapters.manifest import Manifest
from checkrein.adapters.outcome import OutcomeStatus
from checkrein.adapters.transport import HarnessProcess

#: Sends a file when a line comes; the line is the id of the turn, which takes the place of `TURN_ID` in the file.
SENDER = (
    "import sys\n"
    "with open(sys.argv[1], 'rb') as file: data = file.read()\n"
    "turn = sys.stdin.buffer.readline().strip()\n"
    "sys.stdout.buffer.write(data.replace(b'TURN_ID', turn)); sys.stdout.buffer.flush()\n"
    "sys.stdin.buffer.read()\n"
)
TURN_ID = "TURN_ID"
TEXT_PIECES = 20
READ_BYTES = 256 * 1024

Message = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The lines of one turn.

    Args:
        head: those that open it.
        body: those that are repeated.
        tail: those that close it.
    """

    head: list[Message]
    body: list[Message]
    tail: list[Message]

    def lines(self, count: int) -> bytes:
        """That many lines."""
        body = count - len(self.head) - len(self.tail)
        repeated = (self.body * (body // len(self.body) + 1))[:body]
        return b"".join(msgspec.json.encode(row) + b"\n" for row in (*self.head, *repeated, *self.tail))


class Bench(HarnessAdapter):
    """An adapter whose process sends recorded lines to the real connection of a harness."""

    title: str

    def __init__(self, file: Path) -> None:
        self.file = file

    @property
    def manifest(self) -> Manifest:
        return CLAUDE_CODE.manifest

    def launch(self, spec: SessionSpec) -> Launch:
        argv = (sys.executable, "-I", "-S", "-c", SENDER, str(self.file))
        return Launch(argv=argv, environment=spec.environment, cwd=spec.cwd)

    @staticmethod
    @abstractmethod
    def conversation() -> Conversation:
        """The recorded turn."""

    @staticmethod
    @abstractmethod
    def decode(line: bytes) -> object:
        """A line into its type, as the connection does it first of all."""


def recorded(harness: str, name: str) -> list[Message]:
    """What the harness said in a recording."""
    text = files("checkrein.fixtures").joinpath("wire", harness, f"{name}.jsonl").read_bytes()
    rows = [msgspec.json.decode(line, type=dict[str, msgspec.Raw]) for line in text.split(b"\n") if line]
    return [
        msgspec.json.decode(row["message"], type=Message)
        for row in rows
        if bytes(row["direction"]) == b'"from_harness"'
    ]


def with_pieces(rows: Iterable[Message], is_piece: Callable[[bytes], bool]) -> list[Message]:
    """The rows, each piece of text many times."""
    found: list[Message] = []
    for row in rows:
        found += [row] * (TEXT_PIECES if is_piece(msgspec.json.encode(row)) else 1)
    return found


def opened(spec: SessionSpec) -> Opened:
    return Opened(session_id=spec.session_id, version="recorded", policy_asked={}, policy_effective={})


class ClaudeCodeBench(Bench):
    """Claude Code 2.1.332."""

    title = "Claude Code"

    @staticmethod
    def conversation() -> Conversation:
        rows = recorded("claude-code", "two-steers-2.1.332")
        lifecycle: Message = {"type": "command_lifecycle", "command_uuid": TURN_ID, "state": "started"}
        left_out = ("command_lifecycle", "control_request", "result")
        body = [row for row in rows if row["type"] not in left_out]
        result = next(row for row in rows if row["type"] == "result")
        return Conversation(
            head=[lifecycle], body=with_pieces(body, lambda row: b"text_delta" in row), tail=[result]
        )

    @staticmethod
    def decode(line: bytes) -> object:
        try:
            return decode_line(line)
        except msgspec.ValidationError:
            kind = decode_head(line).type
            assert kind in UNUSED_TYPES
            return kind

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        return _ClaudeCode(spec, process, spec.session_id)


class _ClaudeCode(ClaudeCodeConnection):
    async def open(self) -> Opened:
        return opened(self.spec)

    async def start_turn(self, turn_id: str, prompt: str) -> None:
        self._translator.sending(turn_id, Purpose.PROMPT)
        await self.process.send(turn_id.encode())


_SHAPES: dict[str, type[msgspec.Struct]] = {
    "turn/started": r.TurnStarted,
    "turn/completed": r.TurnCompleted,
    "item/started": r.ItemEvent,
    "item/completed": r.ItemEvent,
    "item/agentMessage/delta": r.Delta,
    "item/commandExecution/outputDelta": r.Delta,
    "thread/tokenUsage/updated": r.TokenUsageUpdated,
}


_incoming = msgspec.json.Decoder(m.Incoming)
_shapes = {method: msgspec.json.Decoder(shape) for method, shape in _SHAPES.items()}
_item = msgspec.json.Decoder(r.Item)
_head = msgspec.json.Decoder(r.ItemHead)


class CodexBench(Bench):
    """Codex 0.171.0."""

    title = "Codex"

    @staticmethod
    def conversation() -> Conversation:
        rows = [row for row in recorded("codex", "steer-mid-tool-0.171.0") if "method" in row]
        begin = next(n for n, row in enumerate(rows) if row["method"] == "turn/started")
        end = next(n for n, row in enumerate(rows) if row["method"] == "turn/completed")
        body = [row for row in rows[begin + 1 : end] if "id" not in row]
        return Conversation(
            head=[rows[begin]],
            body=with_pieces(body, lambda row: b"agentMessage/delta" in row),
            tail=[rows[end]],
        )

    @staticmethod
    def decode(line: bytes) -> object:
        message = _incoming.decode(line)
        decoder = _shapes.get(message.method or "")
        if decoder is None:
            return message
        params = decoder.decode(message.params)
        if isinstance(params, r.ItemEvent):
            try:
                return _item.decode(params.item)
            except msgspec.ValidationError:
                return _head.decode(params.item)
        return params

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        return _Codex(spec, process)


class _Codex(CodexConnection):
    async def open(self) -> Opened:
        head = CodexBench.conversation().head[0]
        started = msgspec.convert(head["params"], r.TurnStarted)
        self._translator.thread_id = started.thread_id
        return opened(self.spec)

    async def start_turn(self, turn_id: str, prompt: str) -> None:
        self._translator.prompt_sent(turn_id)
        await self.process.send(turn_id.encode())


def floor(bench: Bench, count: int) -> float:
    """CPU milliseconds of reading, splitting and decoding."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", SENDER, str(bench.file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        begun = time.process_time()
        child.stdin.write(b"turn\n")
        rest, seen = b"", 0
        while seen < count:
            *lines, rest = (rest + os.read(child.stdout.fileno(), READ_BYTES)).split(b"\n")
            for line in lines:
                bench.decode(line)
            seen += len(lines)
        spent = time.process_time() - begun
        child.stdin.close()
    return spent * 1000


async def ours(bench: Bench, workspace: Path) -> float:
    """CPU milliseconds from the prompt to the outcome, with a reader of the events."""
    binary = HarnessBinary(path=Path(sys.executable), version=None, sha256="")
    async with open_session(bench, cwd=workspace, binary=binary) as session:
        begun = time.process_time()
        turn = await session.start("go")
        async for _ in turn.events():
            pass
        outcome = await turn.outcome()
        spent = time.process_time() - begun
    if outcome.status is not OutcomeStatus.COMPLETED:
        raise SystemExit(f"the recorded turn was not completed: {outcome.reason}")
    return spent * 1000


def measure(kind: type[Bench], *, events: int, rounds: int, folder: Path) -> None:
    """Run both sides in turn and print the figures."""
    file = folder / f"{kind.__name__}.jsonl"
    file.write_bytes(kind.conversation().lines(events))
    bench = kind(file)
    floors: list[float] = []
    costs: list[float] = []
    for _ in range(rounds):
        floors.append(floor(bench, events))
        costs.append(anyio.run(ours, bench, folder))
    megabytes = file.stat().st_size / 1e6
    print(f"{bench.title}: {events} events, {megabytes:.1f} MB, {rounds} rounds, CPU ms: median (min to max)")
    for title, figures in (("floor", floors), ("ours", costs)):
        print(f"  {title:5} {statistics.median(figures):7.1f} ({min(figures):.1f} to {max(figures):.1f})")
    print(f"  ratio {statistics.median(costs) / statistics.median(floors):.2f}")


def main() -> None:
    """Measure both harnesses."""
    parser = argparse.ArgumentParser(description="CPU cost of events beside the floor.")
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    events, rounds = cast("int", arguments.events), cast("int", arguments.rounds)
    with tempfile.TemporaryDirectory() as folder:
        for kind in (ClaudeCodeBench, CodexBench):
            measure(kind, events=events, rounds=rounds, folder=Path(folder))


if __name__ == "__main__":
    main()
