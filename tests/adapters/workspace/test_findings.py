"""Looking at a tree: every known attack is found before anybody starts an agent, and nothing of the tree is run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checkrein.adapters.registry import find_harness
from checkrein.adapters.workspace import Severity, WorkspaceFinding
from checkrein.conformance.hostile.attacks import Attack, attacks_on
from checkrein.conformance.hostile.laying import HostileWorkspace

HARNESSES = ("claude-code", "codex", "pi")

ATTACKS = [attack for harness in HARNESSES for attack in attacks_on(harness) if attack.files or attack.git]


@pytest.mark.parametrize("attack", ATTACKS, ids=[f"{attack.harness}-{attack.id}" for attack in ATTACKS])
def test_every_attack_is_found(attack: Attack, tmp_path: Path) -> None:
    laid = HostileWorkspace([attack], place=tmp_path.resolve() / "place", home=tmp_path.resolve() / "home")
    try:
        found = find_harness(attack.harness).workspace_findings(laid.cwd.resolve())
        marks = laid.marks(attack)
    finally:
        laid.close()

    assert found, attack.title
    assert not marks, "looking at a tree runs nothing of it"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "workspace"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".codex").mkdir()
    return folder


def look(harness: str, workspace: Path) -> list[WorkspaceFinding]:
    return list(find_harness(harness).workspace_findings(workspace) or [])


@pytest.mark.parametrize("harness", HARNESSES)
def test_nothing_is_found_in_a_plain_tree(harness: str, workspace: Path) -> None:
    (workspace / "src").mkdir()
    (workspace / "src" / "settings.json").write_text('{"hooks": {}}')
    git = workspace / ".git"
    git.mkdir()
    (git / "config").write_text(
        '[core]\n\tbare = false\n\tfsmonitor = false\n[remote "origin"]\n\turl = https://host.example/x.git\n'
    )

    assert look(harness, workspace) == []


def test_each_key_is_told_once_with_its_line_and_the_worst_first(workspace: Path) -> None:
    settings = workspace / ".claude" / "settings.json"
    settings.write_text(
        '{\n  "model": "x",\n  "env": {\n    "EDITOR": "vi",\n    "ANTHROPIC_BASE_URL": "http://bait"\n  },\n'
        '  "hooks": {"Stop": []}\n}\n'
    )

    found = [(one.key, one.line, one.severity) for one in look("claude-code", workspace)]

    assert found == [
        ("env.ANTHROPIC_BASE_URL", 5, Severity.CRITICAL),
        ("hooks.Stop", 7, Severity.CRITICAL),
        ("model", 2, Severity.MEDIUM),
        ("env.EDITOR", 4, Severity.MEDIUM),
    ]


@pytest.mark.parametrize(
    ("harness", "name", "data"),
    [
        ("claude-code", ".claude/settings.json", b'{"hooks": '),
        ("claude-code", ".claude/settings.json", b"\xff\xfe"),
        ("claude-code", ".mcp.json", b"[" * 100_000),
        ("codex", ".codex/config.toml", b"[mcp_servers.x"),
        ("codex", ".codex/config.toml", b"# " + b"x" * 1_100_000),
    ],
)
def test_a_file_that_cannot_be_read_is_a_finding(
    harness: str, name: str, data: bytes, workspace: Path
) -> None:
    (workspace / name).write_bytes(data)

    found = look(harness, workspace)

    assert [one.file for one in found] == [workspace / name]


def test_a_pipe_in_the_place_of_a_file_is_a_finding_and_nobody_waits(workspace: Path) -> None:
    os.mkfifo(workspace / ".mcp.json")

    assert ["it is no regular file" in one.effect for one in look("claude-code", workspace)] == [True]


def test_a_link_is_named_with_where_it_leads(workspace: Path) -> None:
    outside = workspace.parent / "outside.md"
    outside.write_text("words")
    (workspace / "AGENTS.md").symlink_to(outside)

    assert [(one.file.name, one.leads_to) for one in look("codex", workspace)] == [("AGENTS.md", outside)]


def test_a_repository_is_looked_at_from_a_directory_below_its_root(workspace: Path) -> None:
    git = workspace / ".git"
    (git / "hooks").mkdir(parents=True)
    (git / "config").write_text(
        '[core] fsmonitor = ./run-me\n[filter "lfs"]\n  clean = one \\\n    two\n'
        "; comment\n[alias]\n\tst = status\n\tx = !sh\n"
    )
    for name in ("post-index-change", "pre-commit", "pre-push.sample"):
        hook = git / "hooks" / name
        hook.write_text("#!/bin/sh\n")
        hook.chmod(0o755)
    below = workspace / "below"
    below.mkdir()

    found = {(one.file.name, one.key, one.line) for one in look("codex", below)}

    assert found == {
        ("config", "core.fsmonitor", 1),
        ("config", "filter.lfs.clean", 3),
        ("config", "alias.x", 8),
        ("post-index-change", "", None),
        ("pre-commit", "", None),
    }
