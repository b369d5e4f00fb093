"""Conversations with the real Codex: resumed, forked, unknown; and what the workspace has no say in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from checkrein.adapters import OutcomeStatus
from checkrein.adapters.errors import BadRequest, SessionNotFound
from checkrein.scripted_models import ModelSession, Script, Usage, say, sees, shell
from tests.adapters.codex.conftest import OpenCodex

pytestmark = pytest.mark.anyio

Play = Callable[[], ModelSession]


async def test_a_resumed_conversation_goes_on_in_a_new_process_with_its_own_usage(
    codex: OpenCodex, script: Script, playing: Play
) -> None:
    script.main([say("the word is heron")], usage=Usage(input=1000, output=50))
    script.main(
        [say("heron")], sees=sees(once=["remember", "the word is heron"]), usage=Usage(input=1100, output=7)
    )
    with playing() as model:
        async with codex(model) as session:
            await (await session.start("remember")).outcome()
            first = session.id
        async with codex(model, resume=first) as session:
            assert session.id == first
            outcome = await (await session.start("which word?")).outcome()
    assert outcome.text == "heron"
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (1100, 7)


async def test_a_fork_starts_from_the_history_and_leaves_the_original_alone(
    codex: OpenCodex, script: Script, playing: Play
) -> None:
    script.main([say("original")], usage=Usage(input=1000, output=50))
    script.main([say("forked")], sees=sees(once="original"), usage=Usage(input=900, output=9))
    script.main([say("resumed")], sees=sees(lacks=["forked", "branch off"]))
    with playing() as model:
        async with codex(model) as session:
            await (await session.start("begin")).outcome()
            original = session.id
        async with codex(model, fork=original) as session:
            assert session.id != original
            forked = await (await session.start("branch off")).outcome()
        async with codex(model, resume=original) as session:
            await (await session.start("go on")).outcome()
    assert (forked.usage.input_tokens, forked.usage.output_tokens) == (900, 9)


@pytest.mark.parametrize("unknown", ["01a22761-0aea-7622-939b-6b932a8bd6f9", "no-uuid"])
async def test_an_unknown_conversation_is_a_typed_error(
    codex: OpenCodex, playing: Play, unknown: str
) -> None:
    with playing() as model, pytest.raises(SessionNotFound):
        async with codex(model, resume=unknown):
            pass


async def test_a_delivered_steer_is_once_in_the_resumed_conversation(
    codex: OpenCodex, script: Script, playing: Play
) -> None:
    tool = script.held_tool("build")
    script.main([shell(tool)])
    script.main([say("steered")], sees=sees(steer="turn left"))
    script.main([say("resumed")], sees=sees(once=["turn left", "steered"]))
    with playing() as model:
        async with codex(model, policy="auto") as session:
            turn = await session.start("go")
            await tool.started(timeout=20)
            await turn.steer("turn left")
            tool.finish()
            await turn.outcome()
            first = session.id
        async with codex(model, policy="auto", resume=first) as session:
            assert (await (await session.start("well?")).outcome()).status is OutcomeStatus.COMPLETED


async def test_what_lies_in_the_workspace_has_no_say(
    codex: OpenCodex, script: Script, playing: Play, workspace: Path, tmp_path: Path, home: Path
) -> None:
    marker = tmp_path / "ran"
    (workspace / "AGENTS.md").write_text("SAY-HERON\n")
    (workspace / ".codex").mkdir()
    (workspace / ".codex" / "config.toml").write_text(
        'approvals_reviewer = "auto_review"\n'
        "[mcp_servers.x]\n"
        f'command = "/bin/sh"\nargs = ["-c", "touch {marker}"]\n'
    )
    (workspace / ".codex" / "rules").mkdir()
    (workspace / ".codex" / "rules" / "r.rules").write_text(
        'prefix_rule(pattern=["touch"], decision="allow")\n'
    )
    script.main([shell("touch made")], sees=sees(lacks="SAY-HERON"))
    script.main([say("done")])
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            async for approval in turn.approvals():
                await approval.deny()
            await turn.outcome()
            assert len(turn.asked) == 1
    assert not marker.exists()
    assert not (workspace / "made").exists()
    assert not (home / ".codex" / "config.toml").exists()


async def test_under_auto_the_projects_memory_is_read_and_nothing_is_asked(
    codex: OpenCodex, script: Script, playing: Play, workspace: Path, home: Path
) -> None:
    (workspace / "AGENTS.md").write_text("SAY-HERON\n")
    script.main([shell("touch made")], sees=sees(user="SAY-HERON"))
    script.main([say("done")])
    with playing() as model:
        async with codex(model, policy="auto") as session:
            turn = await session.start("go")
            await turn.outcome()
            assert turn.asked == ()
    assert (workspace / "made").exists()
    assert not (home / ".codex" / "config.toml").exists()


async def test_a_workspace_that_holds_the_home_is_refused(
    codex: OpenCodex, playing: Play, workspace: Path
) -> None:
    with playing() as model, pytest.raises(BadRequest, match="HOME"):
        async with codex(model, home=workspace / "home"):
            pass


async def test_the_users_configuration_neither_stops_the_harness_nor_changes_the_policy(
    codex: OpenCodex, playing: Play, home: Path
) -> None:
    configuration = home / ".codex" / "config.toml"
    configuration.parent.mkdir(parents=True)
    # The first line alone ends a bare `codex app-server` 0.171.0 at once.
    text = 'approval_policy = "untrusted"\nsandbox_mode = "read-only"\nmodel = "other"\n'
    configuration.write_text(text)
    with playing() as model:
        async with codex(model) as session:
            assert session.opened.policy_effective == session.opened.policy_asked
    assert configuration.read_text() == text
