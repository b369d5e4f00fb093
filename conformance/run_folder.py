"""The folder of one scenario on one harness: workspace, home and all evidence. It is always kept."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from checkrein.conformance.judgements import PrerequisiteUnmet
from checkrein.conformance.plain_git import run_git
from checkrein.scripted_models import ModelRequest

#: Where runs are kept when nothing else is said.
DEFAULT_RUNS = Path(".checkrein/runs")


def new_run_folder(parent: Path) -> Path:
    """Make the folder of a whole run, named after the time; two runs that start in the same second get two folders."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    parent.mkdir(parents=True, exist_ok=True)
    number = 0
    while True:
        folder = parent / (stamp if not number else f"{stamp}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
            continue
        return folder.resolve()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """The places of one scenario."""

    root: Path

    @classmethod
    def of(cls, scenario: str, label: str, run: Path) -> RunFolder:
        """The folder of a scenario, by its name, on a harness, by its label, below the folder of the whole run."""
        return cls(root=run / folder_name(label) / folder_name(scenario.removeprefix("test_")))

    @property
    def workspace(self) -> Path:
        """The directory that the harness works in."""
        return self.root / "workspace"

    @property
    def home(self) -> Path:
        """HOME of the harness."""
        return self.root / "home"

    @property
    def outside(self) -> Path:
        """A directory that is neither workspace nor home, for what lies outside."""
        return self.root / "outside"

    @property
    def transcript(self) -> Path:
        """The merged timeline, as JSON Lines."""
        return self.root / "transcript.jsonl"

    @property
    def requests(self) -> Path:
        """What the model saw, one JSON file per request."""
        return self.root / "requests"

    @property
    def stderr(self) -> Path:
        """What the harness wrote on its standard error."""
        return self.root / "stderr.txt"

    @property
    def error(self) -> Path:
        """The traceback, when the scenario ended in an error."""
        return self.root / "error.txt"

    def prepare(self) -> None:
        """Make workspace (a git repository with one commit), home and outside.

        Raises:
            PrerequisiteUnmet: git is not there, or does not make the repository.
        """
        for folder in (self.workspace, self.home, self.outside):
            folder.mkdir(parents=True)
        for name, content in _repository().items():
            file = self.workspace / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        for name in _EMPTY_FOLDERS:
            (self.workspace / name).mkdir(parents=True, exist_ok=True)
        # The index holds when each file was made: else the first `git status` of a harness would write it anew.
        _git("update-index", "-q", "--refresh", workspace=self.workspace, home=self.root)

    def write_requests(self, requests: tuple[ModelRequest, ...]) -> None:
        """Write what the model saw."""
        self.requests.mkdir(exist_ok=True)
        for request in requests:
            data = {
                "number": request.number,
                "lane": str(request.lane),
                "step": request.step,
                "at_ms": round(request.at_ms, 3),
                "method": request.method,
                "path": request.path,
                "headers": dict(request.headers),
                "news": request.view.fresh_text,
                "body": request.body,
            }
            path = self.requests / f"{request.number:03}.json"
            path.write_text(json.dumps(data, indent=1, ensure_ascii=False), encoding="utf-8")


#: Folders of a git repository that hold no file at first.
_EMPTY_FOLDERS = (".git/hooks", ".git/info", ".git/objects/info", ".git/objects/pack", ".git/refs/tags")


@cache
def _repository() -> Mapping[str, bytes]:
    """The files of the workspace, a git repository with one commit, made once: two processes less per scenario."""
    with tempfile.TemporaryDirectory(prefix="ckr-repository-") as place:
        workspace = Path(place, "workspace")
        workspace.mkdir()
        (workspace / "README.md").write_text("A workspace for one scenario.\n", encoding="utf-8")
        for words in (
            ["init", "-q", "-b", "main", "--template="],
            ["add", "README.md"],
            ["commit", "-q", "-m", "The state before the scenario"],
        ):
            _git(*words, workspace=workspace, home=Path(place))
        return {
            str(file.relative_to(workspace)): file.read_bytes()
            for file in sorted(workspace.rglob("*"))
            if file.is_file()
        }


def _git(*words: str, workspace: Path, home: Path) -> None:
    try:
        run_git(*words, workspace=workspace, home=home, author="Checkrein", date="2026-11-01T00:00:00Z")
    except FileNotFoundError:
        raise PrerequisiteUnmet("git is not installed, and the workspace must be a repository") from None
    except (OSError, subprocess.SubprocessError) as fault:
        raise PrerequisiteUnmet(f"the workspace did not become a git repository: {fault}") from fault


def folder_name(text: str) -> str:
    """A name for a folder: what is not a plain character becomes a dash."""
    return re.sub(r"[^A-Za-z0-9._@-]+", "-", text).strip("-") or "scenario"
