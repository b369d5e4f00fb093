"""Approvals with the real Codex: nothing runs unasked, each answer in its own shape, nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from checkrein.adapters import Approval, OutcomeStatus, ResolvedBy, Session, SteerState, Turn
from checkrein.adapters.native import ToolKind, ToolStatus
from checkrein.scripted_models import ModelSession, Script, edit_file, say, sees, shell, write_file
from tests.adapters.codex.conftest import OpenCodex

pytestmark = pytest.mark.anyio

Play = Callable[[], ModelSession]


async def _first(turn: Turn) -> Approval:
    async for approval in turn.approvals():
        return approval
    raise AssertionError("nothing was asked")


async def test_a_command_waits_and_is_shown_whole_then_runs_once(
    codex: OpenCodex, script: Script, playing: Play, workspace: Path
) -> None:
    command = f"printf '%s' \"it's\" >> out.txt # {'x' * 3000}"
    script.main([shell(command, id="c1")])
    script.main([say("done")], sees=sees(result={"c1": "exited with code 0"}))
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            approval = await _first(turn)
            assert not (workspace / "out.txt").exists()
            assert approval.call.kind is ToolKind.COMMAND
            assert approval.call.command is not None
            assert "x" * 3000 in approval.call.command
            assert approval.call.cwd == str(workspace)
            await approval.allow()
            await turn.outcome()
    assert (workspace / "out.txt").read_text() == "it's"


async def test_a_denied_command_does_not_run_and_its_message_reaches_the_model_in_the_next_request(
    codex: OpenCodex, script: Script, playing: Play, workspace: Path
) -> None:
    script.main([shell("touch made", id="c1")])
    script.main(
        [say("understood")], sees=sees(steer="not on main", once="not on main", result={"c1": "reject"})
    )
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            await (await _first(turn)).deny("not on main")
            outcome = await turn.outcome()
    assert outcome.status is OutcomeStatus.COMPLETED
    assert not (workspace / "made").exists()
    assert turn.results["c1"].status is ToolStatus.DECLINED
    assert turn.steers == ()


async def test_an_edit_is_asked_with_its_paths_and_its_change(
    codex: OpenCodex, script: Script, playing: Play, workspace: Path
) -> None:
    script.main([write_file("new.txt", "one\ntwo\n", id="p1")])
    script.main([say("done")])
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            approval = await _first(turn)
            assert approval.call.kind is ToolKind.EDIT
            assert approval.call.paths == (str(workspace / "new.txt"),)
            assert "one\ntwo" in (approval.call.change or "")
            assert not (workspace / "new.txt").exists()
            await approval.allow()
            await turn.outcome()
    assert (workspace / "new.txt").read_text() == "one\ntwo\n"


async def test_an_edit_through_a_link_shows_where_it_really_goes(
    codex: OpenCodex, script: Script, playing: Play, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("old\n")
    (workspace / "link.txt").symlink_to(outside)
    script.main([edit_file("link.txt", "old", "new")])
    script.main([say("done")])
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            approval = await _first(turn)
            assert approval.question.real_paths == (str(outside),)
            await approval.deny()
            await turn.outcome()
    assert outside.read_text() == "old\n"


async def test_allow_always_covers_the_same_command_only_and_only_for_the_turn(
    codex: OpenCodex, script: Script, playing: Play, workspace: Path, home: Path
) -> None:
    script.main([shell("echo a >> same.txt")])
    script.main([shell("echo a >> same.txt")])
    script.main([shell("echo b >> other.txt", id="other")])
    script.main([say("done")])
    script.main([shell("echo a >> same.txt", id="later")])
    script.main([say("done")])
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            asked: list[str | None] = []
            async for approval in turn.approvals():
                asked.append(approval.call.command)
                await (approval.deny() if len(asked) > 1 else approval.allow_always())
            configuration = home / ".codex"
            assert not (configuration / "config.toml").exists()
            assert not (configuration / "rules").exists()
            later = await session.start("again")
            await (await _first(later)).deny()
            await later.outcome()
    assert len(asked) == 2
    assert (workspace / "same.txt").read_text() == "a\na\n"
    assert not (workspace / "other.txt").exists()


async def test_an_interrupt_voids_the_open_question_and_the_command_never_runs(
    codex: OpenCodex, script: Script, playing: Play, workspace: Path
) -> None:
    script.main([shell("touch made", id="c1")])
    script.main([say("next")])
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            approval = await _first(turn)
            outcome = await turn.interrupt()
            await (await session.start("next")).outcome()
    assert outcome.status is OutcomeStatus.INTERRUPTED
    assert approval.resolved_by is ResolvedBy.INTERRUPT
    assert not (workspace / "made").exists()


async def test_a_steer_while_a_question_is_open_is_delivered_after_the_answer(
    codex: OpenCodex, script: Script, playing: Play
) -> None:
    script.main([shell("true", id="c1")])
    script.main([say("done")], sees=sees(steer="and mind the gap", result={"c1": "code 0"}))
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            approval = await _first(turn)
            steer = await turn.steer("and mind the gap")
            assert approval.resolved_by is None
            await approval.allow()
            await turn.outcome()
    assert steer.state is SteerState.DELIVERED


async def test_parallel_questions_are_answered_each_for_its_own_call(
    codex: OpenCodex, script: Script, playing: Play, workspace: Path
) -> None:
    script.main([shell("touch first"), shell("touch second")])
    script.main([say("done")])
    with playing() as model:
        async with codex(model) as session:
            turn = await session.start("go")
            waiting: list[Approval] = []
            async for approval in turn.approvals():
                waiting.append(approval)
                if len(waiting) == 2:
                    break
            for approval in reversed(waiting):
                await (approval.allow() if "second" in str(approval.call.command) else approval.deny())
            await turn.outcome()
    assert (workspace / "second").exists()
    assert not (workspace / "first").exists()


async def test_the_key_of_the_model_is_in_no_tools_environment_and_on_no_command_line(
    codex: OpenCodex, script: Script, playing: Play, workspace: Path
) -> None:
    script.main([shell("env > env.txt")])
    script.main([say("done")])
    with playing() as model:
        async with codex(model, policy="auto") as session:
            await (await session.start("go")).outcome()
            assert "not-a-real-key" not in " ".join(_command_line(session))
    assert "not-a-real-key" not in (workspace / "env.txt").read_text()


def _command_line(session: Session) -> list[str]:
    import psutil

    assert session.link is not None
    return psutil.Process(session.link.process.pid).cmdline()
