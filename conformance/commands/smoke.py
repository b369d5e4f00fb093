"""`checkrein smoke`: is an adapter ready to be judged?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from checkrein.adapters.errors import BadRequest
from checkrein.conformance.offline import offline_command
from checkrein.conformance.run_folder import DEFAULT_RUNS, new_run_folder


def smoke(
    harness: Annotated[
        str,
        typer.Argument(
            metavar="NAME[@VERSION][=PATH]", help="An adapter; NAME=PATH runs an executable of your own."
        ),
    ],
    run_dir: Annotated[
        Path, typer.Option("--run-dir", metavar="DIR", help="Where transcripts and workspaces are kept.")
    ] = DEFAULT_RUNS,
) -> None:
    """Try an adapter step by step, offline; exit status 1 at the first thing that is missing, and what it is."""
    try:
        folder = new_run_folder(run_dir)
    except OSError as fault:
        raise BadRequest(
            f"no folder can be made for the run: {fault.strerror}",
            where=str(run_dir),
            advice="name another folder with --run-dir",
        ) from fault
    steps = [sys.executable, "-m", "checkrein.conformance.smoke", harness, str(folder)]
    child = subprocess.Popen(offline_command(steps))
    try:
        status = child.wait()
    except BaseException:
        # It gets ctrl-c from the terminal as well, and ends what it started; so do the guards when it is gone.
        child.terminate()
        child.wait()
        raise
    raise typer.Exit(status if status >= 0 else 1)
