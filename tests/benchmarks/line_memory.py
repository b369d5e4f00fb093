"""How much memory a driver needs for one huge line: from the pipe to the event, for the real adapters.

    python -m tests.benchmarks.line_memory [--mebibytes N]

Each case runs in a process of its own, with a recorded turn (see `event_cost`) that holds one huge line: a message of a
kind that nobody knows, a known message with a field that nobody knows, or a text of the model itself. The figure is how
far the peak of the driver's resident memory rises above what it was before the turn; the line's own size is in it.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import cast

import anyio
import msgspec

from checkrein.adapters.kit_facts import KitFacts
from tests.benchmarks.event_cost import Bench, ClaudeCodeBench, CodexBench, Message, ours

MIB = 1 << 20

BENCHES: dict[str, type[Bench]] = {"claude_code": ClaudeCodeBench, "codex": CodexBench}
CASES = ("nothing huge", "an unknown message", "an unknown field", "a text")


def huge_line(harness: str, case: str, size: int) -> list[bytes]:
    """The huge line of a case, as the harness would write it."""
    conversation = BENCHES[harness].conversation()
    answer = next(row for row in reversed(conversation.body) if _holds_a_text(row))
    match case:
        case "an unknown message":
            facts = import_module(f"checkrein.adapters.{harness}.kit").KIT
            assert isinstance(facts, KitFacts)
            assert facts.wire is not None
            line = next(text for text in facts.wire.unknown if "PADDING" in text)
            return [line.encode().replace(b"PADDING", b"x" * size)]
        case "an unknown field":
            return [b'{"nobody_knows":"%b",' % (b"x" * size) + msgspec.json.encode(answer)[1:]]
        case "a text":
            text = _text_of(answer)
            return [msgspec.json.encode(answer).replace(msgspec.json.encode(text), b'"%b"' % (b"x" * size))]
        case _:
            return []


def _holds_a_text(row: Message) -> bool:
    line = msgspec.json.encode(row)
    return (b'"type":"assistant"' in line and b'"type":"text"' in line) or (
        b'"method":"item/completed"' in line and b'"type":"agentMessage"' in line
    )


def _text_of(row: Message) -> str:
    if "params" in row:
        item = cast("dict[str, dict[str, str]]", row["params"])["item"]
        return item["text"]
    message = cast("dict[str, list[dict[str, str]]]", row["message"])
    return next(block["text"] for block in message["content"] if block["type"] == "text")


def peak_mebibytes() -> float:
    """The peak of this process's resident memory so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MIB if sys.platform == "darwin" else peak / 1024


def measure(harness: str, case: str, size: int) -> None:
    """Run one case in this process and print how far the peak rose."""
    kind = BENCHES[harness]
    conversation = kind.conversation()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lines.jsonl"
        with file.open("wb") as stream:
            for part in (conversation.head, conversation.body):
                stream.writelines(msgspec.json.encode(row) + b"\n" for row in part)
            stream.flush()
            # Made by another process: here it must not be part of the peak before it is read.
            subprocess.run(
                [sys.executable, "-m", "tests.benchmarks.line_memory", "--write", harness, case, str(size)],
                stdout=stream,
                check=True,
            )
            stream.seek(0, 2)
            stream.writelines(msgspec.json.encode(row) + b"\n" for row in conversation.tail)
        before = peak_mebibytes()
        anyio.run(ours, kind(file), Path(folder))
        print(f"{peak_mebibytes() - before:.0f}")


def main() -> None:
    """Measure every case, each in a process of its own."""
    parser = argparse.ArgumentParser(description="Peak memory of a driver for one huge line.")
    parser.add_argument("--mebibytes", type=int, default=64)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        harness, case, size = cast("list[str]", arguments.write)
        sys.stdout.buffer.writelines(line + b"\n" for line in huge_line(harness, case, int(size)))
    elif arguments.measure:
        harness, case, size = cast("list[str]", arguments.measure)
        measure(harness, case, int(size))
    else:
        mebibytes = cast("int", arguments.mebibytes)
        print(f"rise of the driver's peak memory for one line of {mebibytes} MiB, in MiB")
        for harness in BENCHES:
            for case in CASES:
                command = [sys.executable, "-m", "tests.benchmarks.line_memory", "--measure", harness, case]
                done = subprocess.run(
                    [*command, str(mebibytes * MIB)], capture_output=True, text=True, check=True
                )
                print(f"  {harness:12} {case:20} {done.stdout.strip():>5}")


if __name__ == "__main__":
    main()
