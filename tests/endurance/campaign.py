"""What the campaigns share: numbered kills with a random moment each, a file of results to go on from, and a summary.

Kill `k` of a seed is the same in every run: its harness and its moment come from the seed and `k` alone. A campaign
that was stopped goes on where it was when it is started again with the same file of results.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

from checkrein.conformance.target import Target, find_target


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """One kill and what came of it.

    Args:
        harness: name and version.
        moment: of the kill, in seconds from the start of what is killed.
        stage: how far things were, in words.
        seconds: from the kill until all was as it must be.
        misses: what was not as it must be.
    """

    number: int
    harness: str
    moment: float
    stage: str
    seconds: float
    misses: tuple[str, ...] = ()


class Campaign:
    """The kills of one command line.

    Args:
        description: what is done, for `--help`.
        window: the kill comes at a moment between 0 and so many seconds.
    """

    def __init__(self, description: str, *, window: float) -> None:
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--kills", type=int, default=20, help="how many in all")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument(
            "--harness", action="append", help="NAME[@VERSION]; may be repeated; default: codex, claude-code"
        )
        parser.add_argument(
            "--window", type=float, default=window, help="latest moment of a kill, in seconds"
        )
        parser.add_argument(
            "--results", type=Path, required=True, help="JSON lines; a campaign goes on from what is there"
        )
        given = parser.parse_args()
        self.kills: int = given.kills
        self.seed: int = given.seed
        self.window: float = given.window
        self.results: Path = given.results
        names: list[str] = given.harness or ["codex", "claude-code"]
        self.targets = [find_target(name) for name in names]

    def run(self, kill: Callable[[int, Target, float], Kill]) -> int:
        """Do what is left of the campaign, one after the other, and tell of it; the exit status.

        Args:
            kill: makes one: its number, the harness, the moment.
        """
        self.results.parent.mkdir(parents=True, exist_ok=True)
        done = self._done()
        begun = time.monotonic()
        with self.results.open("ab", buffering=0) as file:
            for number in range(self.kills):
                if number in done:
                    continue
                moment = random.Random(f"{self.seed}-{number}").uniform(0.0, self.window)
                one = kill(number, self.targets[number % len(self.targets)], moment)
                done[number] = one
                file.write(msgspec.json.encode(one) + b"\n")
                words = "; ".join(one.misses) or "ok"
                print(
                    f"[{number + 1}/{self.kills}] {one.harness} at {one.moment:.2f} s, {one.stage}: {words} "
                    f"({one.seconds:.2f} s)",
                    flush=True,
                )
        kills = [done[number] for number in sorted(done) if number < self.kills]
        self._summarise(kills, time.monotonic() - begun)
        return 1 if any(one.misses for one in kills) else 0

    def _done(self) -> dict[int, Kill]:
        if not self.results.exists():
            return {}
        data = self.results.read_bytes()
        lines = data[: data.rfind(b"\n") + 1].splitlines()
        return {one.number: one for one in (msgspec.json.decode(line, type=Kill) for line in lines)}

    def _summarise(self, kills: list[Kill], seconds: float) -> None:
        print(f"seed {self.seed}, {len(kills)} kills, {seconds:.0f} s in this run; results: {self.results}")
        for harness in sorted({one.harness for one in kills}):
            own = [one for one in kills if one.harness == harness]
            stages = Counter(one.stage for one in own)
            print(
                f"{harness}: {len(own)} kills, {sum(bool(one.misses) for one in own)} missed, slowest "
                f"{max(one.seconds for one in own):.2f} s; "
                + ", ".join(f"{count} {stage}" for stage, count in stages.most_common())
            )
        for one in kills:
            if one.misses:
                print(f"MISS {one.number + 1} {one.harness} at {one.moment:.2f} s: {'; '.join(one.misses)}")
        sys.stdout.flush()
