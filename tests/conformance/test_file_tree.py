"""Comparing file trees: every way to differ is seen, and only what is ignored is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from checkrein.conformance.file_tree import ChangeKind, difference, snapshot


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    (root / "sub").mkdir(parents=True)
    (root / "file").write_text("one")
    (root / "link").symlink_to("file")
    return root


def test_a_tree_that_nobody_touched_is_the_same(tree: Path) -> None:
    before = snapshot(tree)
    (tree / "file").write_text("one")
    assert difference(before, snapshot(tree)) == ()


def add_a_file(root: Path) -> None:
    (root / "new").write_text("")


def add_a_folder(root: Path) -> None:
    (root / "sub" / "empty").mkdir()


def remove_a_file(root: Path) -> None:
    (root / "file").unlink()


def rewrite_a_file(root: Path) -> None:
    (root / "file").write_text("two")


def make_a_file_executable(root: Path) -> None:
    (root / "file").chmod(0o700)


def point_the_link_elsewhere(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to("sub")


@pytest.mark.parametrize(
    ("act", "name", "kind"),
    [
        (add_a_file, "new", ChangeKind.ADDED),
        (add_a_folder, "sub/empty", ChangeKind.ADDED),
        (remove_a_file, "file", ChangeKind.REMOVED),
        (rewrite_a_file, "file", ChangeKind.CHANGED),
        (make_a_file_executable, "file", ChangeKind.CHANGED),
        (point_the_link_elsewhere, "link", ChangeKind.CHANGED),
    ],
)
def test_every_way_to_differ_is_seen(
    tree: Path, act: Callable[[Path], object], name: str, kind: ChangeKind
) -> None:
    before = snapshot(tree)
    act(tree)
    assert [(change.path, change.kind) for change in difference(before, snapshot(tree))] == [
        (tree / name, kind)
    ]


def test_what_is_ignored_takes_the_folders_with_it_that_hold_nothing_else(tree: Path) -> None:
    before = snapshot(tree)
    (tree / "sessions" / "today").mkdir(parents=True)
    (tree / "sessions" / "today" / "1.jsonl").write_text("{}")
    assert difference(before, snapshot(tree), ignore=["sessions/*.jsonl"]) == ()
    (tree / "sessions" / "settings.json").write_text("{}")
    changed = [change.path.name for change in difference(before, snapshot(tree), ignore=["sessions/*.jsonl"])]
    assert changed == ["sessions", "settings.json"]


def test_an_empty_folder_is_never_ignored_by_what_it_does_not_hold(tree: Path) -> None:
    before = snapshot(tree)
    (tree / "grants").mkdir()
    assert [change.path.name for change in difference(before, snapshot(tree), ignore=["sessions/*"])] == [
        "grants"
    ]
