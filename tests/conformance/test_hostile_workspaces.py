"""Attacks as data: what is refused, how they are laid down, and how a bait keeps who came."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from checkrein.conformance.hostile.attacks import Attack, load_attack
from checkrein.conformance.hostile.bait import Bait
from checkrein.conformance.hostile.laying import HostileWorkspace
from checkrein.conformance.judgements import KitMistake
from checkrein.conformance.security_document import NoPlaceForTable, with_table
from checkrein.conformance.yaml_reading import BadDataFile

HEAD = """\
title: One
clause: workspace.cannot-answer
threat: {threat}
open: it ran
seen: "1"
shows: marker
"""


def _write(folder: Path, name: str, body: str, threat: str = "T1") -> Path:
    path = folder / "attacks" / "some-harness" / name / "attack.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(HEAD.format(threat=threat) + body)
    return path


def attack(folder: Path, name: str, body: str, threat: str = "T1") -> Attack:
    return load_attack(_write(folder, name, body, threat))


def lay(folder: Path, *attacks: Attack) -> HostileWorkspace:
    workspace = HostileWorkspace(attacks, place=folder / "place", home=folder / "home")
    workspace.close()
    return workspace


def git(workspace: HostileWorkspace, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=workspace.workspace, check=True, capture_output=True, text=True, timeout=20
    )
    return done.stdout


def test_an_attack_is_named_by_its_folders(tmp_path: Path) -> None:
    assert str(attack(tmp_path, "first", "")) == "some-harness/first"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("files: [{path: a}]\n", "the file a needs a text, data or a link"),
        ("files: [{path: a, text: x, link: b}]\n", "the file a needs a text, data or a link, and only one"),
        ("files: [{path: a, text: x, untracked: true}]\n", "which a clone cannot bring"),
        ("calls: [{shell: ls, read_file: a}]\n", "and only one of these"),
        ("delayed: true\n", "nothing is called"),
        ("colour: red\n", "unknown field `colour`"),
        ("shows: nothing\n", "is given twice"),
    ],
)
def test_what_describes_no_attack_is_refused(tmp_path: Path, body: str, what: str) -> None:
    path = _write(tmp_path, "broken", body)

    with pytest.raises(BadDataFile) as refusal:
        load_attack(path)

    assert what in refusal.value.what
    assert str(path) in refusal.value.where


def test_marker_token_and_bait_are_each_attacks_own(tmp_path: Path) -> None:
    text = "files: [{{path: {name}.txt, text: '{{marker}} {{token}} {{bait}}'}}]\n"
    attacks = [attack(tmp_path, name, text.format(name=name)) for name in ("first", "second")]

    workspace = lay(tmp_path, *attacks)

    first, second = (
        (workspace.workspace / f"{name}.txt").read_text().split() for name in ("first", "second")
    )
    assert all(one != other for one, other in zip(first, second, strict=True))
    assert first[0] == str(workspace.marker(attacks[0]))
    assert not Path(first[0]).is_relative_to(workspace.workspace)


def test_a_marker_is_seen_under_the_attack_that_made_it_only(tmp_path: Path) -> None:
    attacks = [attack(tmp_path, name, "") for name in ("first", "second")]
    workspace = lay(tmp_path, *attacks)

    workspace.marker(attacks[0]).with_name("first.start").touch()

    assert [workspace.marks(each) for each in attacks] == [("first.start",), ()]


def test_objects_of_one_file_are_merged_and_texts_put_one_below_the_other(tmp_path: Path) -> None:
    one = """\
files:
  - {path: s.json, data: {hooks: {A: [1]}, x: 1}}
  - {path: c.toml, text: "a = 1\\n"}
"""
    other = """\
files:
  - {path: s.json, data: {hooks: {A: [2], B: [3]}, x: 1}}
  - {path: c.toml, text: "b = 2\\n"}
"""

    workspace = lay(tmp_path, attack(tmp_path, "one", one), attack(tmp_path, "other", other))

    merged = json.loads((workspace.workspace / "s.json").read_text())
    assert merged == {"hooks": {"A": [1, 2], "B": [3]}, "x": 1}
    assert (workspace.workspace / "c.toml").read_text() == "a = 1\nb = 2\n"


def test_attacks_that_want_different_things_in_one_place_are_no_workspace(tmp_path: Path) -> None:
    attacks = [
        attack(tmp_path, name, f"files: [{{path: s.json, data: {{model: {name}}}}}]\n") for name in "ab"
    ]

    with pytest.raises(KitMistake, match="different things of 'model'"):
        lay(tmp_path, *attacks)


def test_attacks_of_two_layouts_are_no_workspace(tmp_path: Path) -> None:
    attacks = [attack(tmp_path, name, f"layout: {name}\n") for name in ("wide", "high")]

    with pytest.raises(KitMistake, match="several layouts"):
        lay(tmp_path, *attacks)


def test_git_knows_what_a_clone_brings_and_nothing_of_what_was_prepared(tmp_path: Path) -> None:
    body = """\
files:
  - {path: committed.txt, text: x}
  - {path: link, link: committed.txt}
  - {path: run.sh, text: x, executable: true}
  - {path: prepared.txt, text: x, untracked: true}
git:
  - [config, core.fsmonitor, "{marker}"]
"""
    laid = attack(tmp_path, "both", body, threat="T2")

    workspace = lay(tmp_path, laid)

    assert git(workspace, "ls-files").split() == ["README.md", "committed.txt", "link", "run.sh"]
    assert git(workspace, "config", "core.fsmonitor").strip() == str(workspace.marker(laid))
    assert (workspace.workspace / "prepared.txt").read_text() == "x"
    assert (workspace.workspace / "link").is_symlink()
    assert (workspace.workspace / "run.sh").stat().st_mode & 0o111


def test_a_call_of_git_that_fails_is_a_mistake_of_the_kit(tmp_path: Path) -> None:
    with pytest.raises(KitMistake, match="git no-such-command"):
        lay(tmp_path, attack(tmp_path, "broken", "git: [[no-such-command]]\n", threat="T2"))


def test_a_bait_keeps_who_came_and_what_they_brought_and_sends_them_away() -> None:
    bait = Bait()
    request = urllib.request.Request(f"{bait.url}/v1/messages", headers={"X-Api-Key": "sk-ant-0123456789"})

    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(request, timeout=10)
    bait.close()

    (caught,) = bait.caught
    assert caught.first_line == "GET /v1/messages HTTP/1.1"
    assert caught.has_key
    assert caught.holds("sk-ant-0123456789")
    assert not caught.holds("sk-ant-another")


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(NoPlaceForTable):
        with_table("# Security\n", {})
