"""The workspace of a scenario: a git repository as git itself makes one."""

from __future__ import annotations

from pathlib import Path

from checkrein.conformance.plain_git import run_git
from checkrein.conformance.run_folder import RunFolder


def test_looking_at_a_workspace_with_git_changes_nothing_in_it(tmp_path: Path) -> None:
    for number in range(5):
        folder = RunFolder(root=tmp_path / str(number))
        folder.prepare()
        before = contents(folder.workspace)
        assert {Path("README.md"), Path(".git/HEAD"), Path(".git/index")} <= before.keys()
        for words in (["status"], ["diff", "--exit-code"], ["fsck", "--strict"], ["log", "-1"]):
            run_git(*words, workspace=folder.workspace, home=tmp_path, author="Anybody")
        assert contents(folder.workspace) == before


def contents(workspace: Path) -> dict[Path, bytes]:
    """What the files below a folder hold."""
    return {file.relative_to(workspace): file.read_bytes() for file in workspace.rglob("*") if file.is_file()}
