"""git in a repository of the kit, with nobody's configuration."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

#: How long one call of git may take, in seconds.
_GIT_SECONDS = 20.0


def run_git(*words: str, workspace: Path, home: Path, author: str, date: str | None = None) -> None:
    """Run git; neither the user's nor the system's configuration counts.

    Args:
        words: of its command line, after `git`.
        workspace: where it runs.
        home: its HOME.
        author: whose commits they are.
        date: of the commits; None for now.

    Raises:
        FileNotFoundError: git is not installed.
        CalledProcessError: it failed; its words are in `stderr`.
        OSError, TimeoutExpired: it could not be run to its end.
    """
    facts = {"NAME": author, "EMAIL": f"{author.lower()}@invalid"} | ({"DATE": date} if date else {})
    environment = {
        **{f"GIT_{who}_{what}": fact for who in ("AUTHOR", "COMMITTER") for what, fact in facts.items()},
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
    subprocess.run(
        ["git", *words], cwd=workspace, env=environment, check=True, capture_output=True, timeout=_GIT_SECONDS
    )
