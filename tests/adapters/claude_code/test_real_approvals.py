"""Approvals on the real Claude Code: asked, allowed, denied, allowed for the rest of the turn."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from checkrein.adapters.approvals import Approval
from checkrein.adapters.errors import ApprovalStale, BadRequest
from checkrein.adapters.native import ToolFinished, ToolKind, ToolStatus
from checkrein.adapters.outcome import OutcomeStatus
from checkrein.adapters.turn import Turn
from checkrein.scripted_models import (
    ModelServer,
    Script,
    edit_file,
    read_file,
    say,
    sees,
    shell,
    tool,
    write_file,
)
from tests.adapters.claude_code.conftest import STEP, Arena

pytestmark = pytest.mark.anyio


async def next_approval(turn: Turn) -> Approval:
    with anyio.fail_after(STEP):
        async for approval in turn.approvals():
            return approval
    raise AssertionError("the turn ended without a question")


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


async def test_nothing_happens_before_the_answer_and_an_allow_runs_the_call_once(
    arena: Arena, server: ModelServer
) -> None:
    script = Script()
    script.main([shell("echo ran >> marker", id="c1")])
    script.main([say("done")], sees=sees(result={"c1": sees.ok()}))
    with arena.play(server, script) as model:
        async with arena.open() as session:
            turn = await session.start("go")
            approval = await next_approval(turn)
            assert approval.call.command == "echo ran >> marker"
            assert not (arena.workspace / "marker").exists()
            assert len(model.main_requests) == 1
            await approval.allow()
            assert (await turn.outcome()).status is OutcomeStatus.COMPLETED
            with pytest.raises(ApprovalStale):
                await approval.deny("too late")
    assert (arena.workspace / "marker").read_text() == "ran\n"


async def test_a_denied_call_does_not_run_and_its_message_reaches_the_model_word_for_word(
    arena: Arena, server: ModelServer
) -> None:
    script = Script()
    script.main([shell("touch forbidden", id="c1")])
    script.main([say("understood")], sees=sees(result={"c1": sees.error('not on my watch \u2028 "ever"')}))
    with arena.play(server, script):
        async with arena.open() as session:
            turn = await session.start("go")
            await (await next_approval(turn)).deny('not on my watch \u2028 "ever"')
            assert (await turn.outcome()).text == "understood"
            assert turn.results["c1"].status is ToolStatus.DECLINED
    assert not (arena.workspace / "forbidden").exists()


async def test_an_interrupt_voids_the_open_question_and_the_call_never_runs(
    arena: Arena, server: ModelServer
) -> None:
    script = Script()
    script.main([shell("touch forbidden", id="c1")])
    script.main([say("fine")], sees=sees(user="next", result={"c1": sees.error()}))
    with arena.play(server, script):
        async with arena.open() as session:
            turn = await session.start("go")
            approval = await next_approval(turn)
            assert (await turn.interrupt()).status is OutcomeStatus.INTERRUPTED
            with pytest.raises(ApprovalStale):
                await approval.allow()
            assert (await (await session.start("next")).outcome()).text == "fine"
    assert not (arena.workspace / "forbidden").exists()
    assert turn.results["c1"].status is ToolStatus.ABORTED


async def test_allow_always_covers_this_command_in_this_turn_and_nothing_else(
    arena: Arena, server: ModelServer
) -> None:
    script = Script()
    for command in ("touch a", "touch a", "touch a b"):
        script.main([shell(command)])
    script.main([write_file(str(arena.workspace / "w.txt"), "new")])
    script.main([say("one")])
    script.main([shell("touch a")])
    script.main([say("two")])
    before = files(arena.home)
    asked: list[tuple[str, ...]] = []
    with arena.play(server, script):
        async with arena.open() as session:
            turn = await session.start("go")
            async for approval in turn.approvals():
                asked.append(approval.call.likeness)
                await (approval.allow_always() if len(asked) == 1 else approval.deny())
            second = await session.start("again")
            async for approval in second.approvals():
                asked.append(approval.call.likeness)
                await approval.deny()
            assert (await second.outcome()).text == "two"
    assert [likeness[-1].removeprefix(str(arena.workspace)) for likeness in asked] == [
        "touch a",
        "touch a b",
        "/w.txt",
        "touch a",
    ]
    assert files(arena.workspace) == {"a"}
    written = files(arena.home) - before
    assert not {path for path in written if "settings" in path}
    grants = [json.loads(line) for line in arena.sent if b"updatedPermissions" in line]
    assert [grant["response"]["response"]["updatedPermissions"] for grant in grants] == [
        [
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash", "ruleContent": "touch a"}],
                "behavior": "allow",
                "destination": "session",
            }
        ]
    ]


async def test_an_edit_asks_and_shows_path_and_change(arena: Arena, server: ModelServer) -> None:
    path = arena.workspace / "code.py"
    path.write_text("x = 1\ny = 2\n")
    script = Script()
    script.main([read_file(str(path))])
    script.main([edit_file(str(path), "x = 1", "x = 3")])
    script.main([say("done")])
    with arena.play(server, script):
        async with arena.open() as session:
            turn = await session.start("go")
            approval = await next_approval(turn)
            assert approval.call.kind is ToolKind.EDIT
            assert approval.call.paths == (str(path),)
            assert approval.call.change is not None
            assert "-x = 1\n+x = 3" in approval.call.change
            await approval.allow()
            assert (await turn.outcome()).text == "done"
    assert path.read_text() == "x = 3\ny = 2\n"


async def test_a_write_through_a_link_shows_where_it_really_goes(
    arena: Arena, server: ModelServer, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("before")
    (arena.workspace / "inside.txt").symlink_to(outside)
    script = Script()
    script.main([shell("echo 1 > inside.txt")])
    script.main([read_file(str(arena.workspace / "inside.txt"))])
    script.main([say("done")])
    with arena.play(server, script):
        async with arena.open() as session:
            turn = await session.start("go")
            asked: list[Approval] = []
            async for approval in turn.approvals():
                asked.append(approval)
                await approval.deny()
            await turn.outcome()
    assert [approval.call.kind for approval in asked] == [ToolKind.COMMAND, ToolKind.READ]
    assert [approval.real_paths for approval in asked] == [(str(outside),)] * 2
    assert outside.read_text() == "before"


@pytest.mark.parametrize("command", ["git status", "ls && git log"])
async def test_git_asks_although_the_harness_would_run_it_unasked(
    arena: Arena, server: ModelServer, command: str
) -> None:
    script = Script()
    script.main([shell(command)])
    script.main([say("done")])
    with arena.play(server, script):
        async with arena.open() as session:
            turn = await session.start("go")
            approval = await next_approval(turn)
            assert approval.call.command == command
            await approval.deny()
            await turn.outcome()


async def test_a_question_of_the_model_is_answered_by_the_message_of_a_deny(
    arena: Arena, server: ModelServer
) -> None:
    options = [{"label": label, "description": label} for label in ("A", "B")]
    asked = {"question": "Which?", "header": "Which", "multiSelect": False, "options": options}
    script = Script()
    script.main([tool("AskUserQuestion", {"questions": [asked]}, id="q1")])
    script.main([say("B it is")], sees=sees(result={"q1": "B, please"}))
    with arena.play(server, script):
        async with arena.open() as session:
            turn = await session.start("go")
            approval = await next_approval(turn)
            assert approval.call.kind is ToolKind.QUESTION
            await approval.deny("B, please")
            assert (await turn.outcome()).text == "B it is"


async def test_what_lies_in_the_workspace_neither_runs_nor_answers(arena: Arena, server: ModelServer) -> None:
    command = f"touch {arena.workspace}/hook-ran"
    hook = [{"hooks": [{"type": "command", "command": command}]}]
    settings = {
        "hooks": {"SessionStart": hook, "UserPromptSubmit": hook, "PreToolUse": hook},
        "permissions": {"allow": ["Bash(touch:*)"]},
        "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9/"},
    }
    (arena.workspace / ".claude").mkdir()
    (arena.workspace / ".claude" / "settings.json").write_text(json.dumps(settings))
    script = Script()
    script.main([shell("touch forbidden")])
    script.main([say("done")])
    with arena.play(server, script):
        async with arena.open() as session:
            turn = await session.start("go")
            await (await next_approval(turn)).deny()
            assert (await turn.outcome()).text == "done"
    assert files(arena.workspace) == {".claude/settings.json"}


async def test_the_policy_that_is_in_force_is_read_back(arena: Arena, server: ModelServer) -> None:
    with arena.play(server, Script()):
        async with arena.open() as session:
            assert session.opened.policy_effective == {
                "permission_mode": "default",
                "ask_rules": "Bash(git:*), EnterWorktree",
                "allow_rules": "",
            }


async def test_a_failing_command_has_its_exit_status_and_the_turn_goes_on(
    arena: Arena, server: ModelServer
) -> None:
    script = Script()
    script.main([shell("false", id="bad"), shell("echo fine", id="good")])
    script.main([say("done")])
    with arena.play(server, script):
        async with arena.open() as session:
            turn = await session.start("go")
            assert (await turn.outcome()).status is OutcomeStatus.COMPLETED
    assert turn.results["bad"] == ToolFinished(
        call_id="bad", status=ToolStatus.ERROR, output="Exit code 1", exit_status=1
    )
    assert turn.results["good"] == ToolFinished(
        call_id="good", status=ToolStatus.OK, output="fine", exit_status=0
    )


async def test_a_workspace_that_holds_the_home_is_refused(arena: Arena) -> None:
    with pytest.raises(BadRequest) as refused:
        async with arena.open(cwd=arena.home.parent):
            pass
    assert "holds the home directory" in str(refused.value)
    assert not arena.sent
