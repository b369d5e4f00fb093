"""The driver command as a process of its own, for scenarios that kill it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from checkrein.adapters.acts import ActKind
from checkrein.conformance.arena import DUMMY_KEY
from checkrein.conformance.run_folder import RunFolder
from checkrein.conformance.scenario import Arena
from checkrein.conformance.target import Target

#: How long the driver command may take to have its harness at work, in seconds: another Python starts first. Seen: 3 s
#: on a quiet machine; 20 s went by before the harness began where each core had a dozen processes waiting for it.
STARTING = 60.0


def drive_arguments(target: Target, folder: RunFolder, prompt: str, *, base_url: str) -> list[str]:
    """The words behind the Python executable that drive one turn.

    Args:
        folder: holds the workspace and the home of the harness.
        base_url: of the model.
    """
    return [
        "-m", "checkrein.conformance", "drive", f"{target.label}={target.path}", prompt,
        "--cwd", str(folder.workspace), "--home", str(folder.home), "--policy", "auto",
        "--model-base-url", base_url, "--model-dialect", target.dialect,
    ]  # fmt: skip


def drive_environment(state: Path) -> dict[str, str]:
    """The environment of the driver command.

    Args:
        state: where it keeps the records.
    """
    return {**os.environ, "CHECKREIN_MODEL_API_KEY": DUMMY_KEY, "CHECKREIN_STATE": str(state)}


@contextmanager
def driver(arena: Arena, prompt: str, *, state: Path) -> Generator[subprocess.Popen[bytes]]:
    """Run the driver command; at the end of the block it is killed if it still runs.

    Its output goes to `driver.txt` in the folder of the run.
    """
    arena.person(ActKind.START, text=prompt)
    words = drive_arguments(arena.target, arena.folder, prompt, base_url=arena.model.base_url)
    with (
        (arena.folder.root / "driver.txt").open("wb") as output,
        subprocess.Popen(
            [sys.executable, *words],
            env=drive_environment(state),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()
