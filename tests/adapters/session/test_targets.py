"""Where a call really goes is shown, beside what it gives."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from checkrein.adapters.approvals import Approval, ResolvedBy
from checkrein.adapters.interface import Decision
from checkrein.adapters.native import Question, ToolCall, ToolKind
from checkrein.adapters.targets import is_outside, leading_elsewhere
from tests.adapters.session.echo_harness import question


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a link to a folder and one to a file outside, and one that stays inside."""
    inside, outside = tmp_path / "workspace", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "folder").symlink_to(outside, target_is_directory=True)
    (inside / "file").symlink_to(outside / "target")
    (inside / "alias").symlink_to(inside / "plain")
    return inside.resolve()


def approval(call: ToolCall, workspace: Path, *real_paths: str) -> Approval:
    async def answer(approval: Approval, decision: Decision, by: ResolvedBy) -> None:
        raise AssertionError(f"nobody answers: {approval.id}, {decision}, {by}")

    asked = Question(question_id="q-1", call=call, real_paths=real_paths)
    return Approval(asked, answer, workspace=workspace)


def edit(*paths: str) -> ToolCall:
    return ToolCall(call_id="c", name="write", kind=ToolKind.EDIT, paths=paths)


def test_only_paths_that_a_link_leads_elsewhere_are_resolved(workspace: Path) -> None:
    outside = workspace.parent / "outside"
    assert leading_elsewhere(["plain", "./a/../plain", "/etc/hostname"], workspace) == ()
    assert leading_elsewhere(["folder/new", "file"], workspace) == (f"{outside}/new", f"{outside}/target")
    assert leading_elsewhere(["alias", str(workspace / "alias")], workspace) == (str(workspace / "plain"),)


def test_outside_is_what_lies_outside_when_all_links_are_followed(workspace: Path) -> None:
    assert [is_outside(path, workspace) for path in ("plain", "alias", str(workspace))] == [False] * 3
    assert [is_outside(path, workspace) for path in ("file", "folder/x", "../x", "/etc/x")] == [True] * 4


def test_a_neighbour_whose_name_begins_alike_is_outside(workspace: Path) -> None:
    assert is_outside(f"{workspace}-other/x", workspace)


def test_a_target_outside_is_marked_beside_the_path_given(workspace: Path) -> None:
    real = os.path.realpath(workspace / "file")
    asked = approval(edit("file", "plain"), workspace, real)
    assert asked.shown.split("\n") == [
        "file (outside the workspace)",
        "plain",
        f"leads to {real} (outside the workspace)",
    ]
    assert asked.outside == ("file", real)


def test_a_target_inside_is_shown_without_a_mark(workspace: Path) -> None:
    real = os.path.realpath(workspace / "alias")
    asked = approval(edit("alias"), workspace, real)
    assert asked.shown.split("\n") == ["alias", f"leads to {real}"]
    assert asked.outside == ()


def test_a_command_that_runs_outside_says_where(workspace: Path) -> None:
    call = replace(question("make").call, cwd=str(workspace / "folder"))
    assert approval(call, workspace).shown.split("\n") == [
        "make",
        f"runs in {workspace / 'folder'} (outside the workspace)",
    ]
    at_home = replace(call, cwd=str(workspace))
    assert approval(at_home, workspace).shown == "make"
