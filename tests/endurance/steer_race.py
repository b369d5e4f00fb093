"""Steers around the end of turns, as many as wanted, by hand: the sweep of `steer.turn-end-race.exactly-once`.

    python -m tests.endurance.steer_race HARNESS [--turns N] [--session-turns N] [--keep DIR]

Each turn gets one steer. A session has so many turns, since every request repeats the conversation; then the next one
begins. Prints the figures of each session and of all; exits with 1 when a log and a report disagree. Put `unshare -rn`
and an enabled loopback around it where no harness may reach the network.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import anyio

from checkrein.conformance.arena import Arena
from checkrein.conformance.judgements import Judgements
from checkrein.conformance.run_folder import RunFolder
from checkrein.conformance.scenarios.steer_race import Sweep, sweep, write_script
from checkrein.conformance.target import Target, find_target

#: How long one session may take for each of its turns, in seconds.
SECONDS_A_TURN = 10.0


async def one_session(target: Target, turns: int, folder: Path) -> Sweep:
    """A sweep in a session of its own."""
    seconds = SECONDS_A_TURN * turns
    arena = Arena(
        target=target,
        folder=RunFolder(root=folder),
        judgements=Judgements(declared=()),
        name="steer race",
        seconds=seconds,
    )
    arena.folder.prepare()
    try:
        write_script(arena.script, turns)
        with anyio.fail_after(seconds):
            async with arena.session(policy="auto") as session:
                return await sweep(arena, session, turns)
    finally:
        arena.close()


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("harness", help="codex, claude-code@2.1.332, codex=PATH")
    parser.add_argument("--turns", type=int, default=500, help="turns in all, each with one steer")
    parser.add_argument("--session-turns", type=int, default=100, help="turns of one session")
    parser.add_argument(
        "--keep", type=Path, help="folder for the transcripts; without it they are thrown away"
    )
    wanted = parser.parse_args()
    target = find_target(wanted.harness)
    reports: Counter[str] = Counter()
    faults = 0
    with tempfile.TemporaryDirectory(prefix="steer-race-") as thrown_away:
        parent = wanted.keep or Path(thrown_away)
        for number, begun in enumerate(range(0, wanted.turns, wanted.session_turns), start=1):
            turns = min(wanted.session_turns, wanted.turns - begun)
            found = anyio.run(one_session, target, turns, parent / f"session-{number}")
            reports += Counter(shot.words for shot in found.shots)
            faults += len(found.faults)
            sys.stdout.write(f"{target.label}, session {number}: {found.words}\n")
            sys.stdout.writelines(f"  {fault}\n" for fault in found.faults)
            sys.stdout.flush()
    told = ", ".join(f"{count} {report}" for report, count in sorted(reports.items()))
    sys.stdout.write(f"{target.label}: {reports.total()} steers: {told}; {faults} disagreement(s)\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
