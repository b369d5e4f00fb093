"""Project memory: one regular file of the tree, read when it is asked for, or one clear refusal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.project_memory import MEMORY_BYTES, project_memory
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import EchoHarness

pytestmark = pytest.mark.anyio

NAMES = ("AGENTS.override.md", "AGENTS.md")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = (tmp_path / "workspace").resolve()
    (folder / "docs").mkdir(parents=True)
    return folder


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_the_first_name_that_exists_counts(workspace: Path) -> None:
    for name in NAMES:
        (workspace / name).write_text(f"text of {name}\n")

    async with project_memory(workspace, NAMES) as memory:
        assert memory is not None
        assert (memory.name, memory.text) == ("AGENTS.override.md", "text of AGENTS.override.md\n")


async def test_there_is_none_where_there_is_no_file(workspace: Path) -> None:
    async with project_memory(workspace, NAMES) as memory:
        assert memory is None


async def test_the_copy_lies_outside_is_private_and_goes_with_the_session(workspace: Path) -> None:
    (workspace / "AGENTS.md").write_text("häuslich")

    async with project_memory(workspace, NAMES) as memory:
        assert memory is not None
        assert memory.copy.read_text(encoding="utf-8") == "häuslich"
        assert not memory.copy.is_relative_to(workspace)
        assert memory.copy.parent.stat().st_mode & 0o077 == 0
    assert not memory.copy.exists()
    assert _names(workspace) == ["AGENTS.md", "docs"]


async def test_a_link_within_the_tree_is_followed(workspace: Path) -> None:
    (workspace / "docs" / "agents.md").write_text("inside")
    (workspace / "AGENTS.md").symlink_to("docs/agents.md")

    async with project_memory(workspace, NAMES) as memory:
        assert memory is not None
        assert memory.text == "inside"


async def _refusal(workspace: Path) -> str:
    with pytest.raises(BadRequest) as refused:
        async with project_memory(workspace, NAMES):
            pass
    assert refused.value.where == "AGENTS.md"
    return refused.value.what


async def test_a_link_out_of_the_tree_is_refused(workspace: Path) -> None:
    (workspace.parent / "secret").write_text("outside")
    (workspace / "AGENTS.md").symlink_to("../secret")

    assert "leads out of the workspace" in await _refusal(workspace)


async def test_a_link_through_a_folder_out_of_the_tree_is_refused(workspace: Path) -> None:
    (workspace.parent / "secrets").mkdir()
    (workspace.parent / "secrets" / "one").write_text("outside")
    (workspace / "docs" / "more").symlink_to(workspace.parent / "secrets")
    (workspace / "AGENTS.md").symlink_to("docs/more/one")

    assert "leads out of the workspace" in await _refusal(workspace)


async def test_what_git_keeps_is_no_memory(workspace: Path) -> None:
    (workspace / ".git").mkdir()
    (workspace / ".git" / "config").write_text("url = https://user:password@host/")
    (workspace / "AGENTS.md").symlink_to(".git/config")

    assert "leads into .git" in await _refusal(workspace)


@pytest.mark.parametrize("target", ["nowhere", "AGENTS.md"], ids=["dangling", "circular"])
async def test_a_link_to_nothing_is_refused(workspace: Path, target: str) -> None:
    (workspace / "AGENTS.md").symlink_to(target)

    assert "leads to nothing" in await _refusal(workspace)


async def test_what_is_no_regular_file_is_refused_at_once(workspace: Path) -> None:
    os.mkfifo(workspace / "AGENTS.md")

    assert "no regular file" in await _refusal(workspace)


async def test_a_folder_is_refused(workspace: Path) -> None:
    (workspace / "AGENTS.md").mkdir()

    assert "no regular file" in await _refusal(workspace)


async def test_a_longer_file_than_the_limit_is_refused(workspace: Path) -> None:
    (workspace / "AGENTS.md").write_bytes(b"x" * MEMORY_BYTES)
    async with project_memory(workspace, NAMES) as memory:
        assert memory is not None

    (workspace / "AGENTS.md").write_bytes(b"x" * (MEMORY_BYTES + 1))

    assert "longer than 65,536 bytes" in await _refusal(workspace)


async def test_what_is_no_text_is_refused(workspace: Path) -> None:
    (workspace / "AGENTS.md").write_bytes(b"ok\xff")

    assert "byte 2 is 0xff" in await _refusal(workspace)


async def test_a_session_is_told_the_memory_only_when_that_is_asked_for(
    harness: EchoHarness, opened: OpenSession, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text("for agents")

    async with opened():
        assert harness.newest.spec.memory is None
    async with opened(project_memory=True):
        memory = harness.newest.spec.memory
        assert memory is not None
        assert memory.text == "for agents"


async def test_a_refused_memory_starts_nothing(
    harness: EchoHarness, opened: OpenSession, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").symlink_to("/etc/passwd")

    with pytest.raises(BadRequest):
        async with opened(project_memory=True):
            pass

    assert harness.connections == []
