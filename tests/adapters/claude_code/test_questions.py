"""From `can_use_tool` to a question, and from a decision to the answer."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from checkrein.adapters.claude_code.messages import Ask
from checkrein.adapters.claude_code.questions import answer_of, question_of
from checkrein.adapters.claude_code.tool_calls import tool_call
from checkrein.adapters.interface import Decision, DecisionKind
from checkrein.adapters.native import ToolKind
from tests.adapters.claude_code.recordings import Json

ALWAYS = Decision(kind=DecisionKind.ALLOW_ALWAYS)


def ask(tool: str, given: Json, **about: object) -> Ask:
    whole = {"subtype": "can_use_tool", "tool_name": tool, "tool_use_id": "t1", "input": given, **about}
    return msgspec.json.decode(msgspec.json.encode(whole), type=Ask)


def answered(asked: Ask, decision: Decision, cwd: Path) -> Json:
    answer = answer_of(asked, question_of("r1", asked, cwd), decision)
    return msgspec.json.decode(msgspec.json.encode(answer))


@pytest.mark.parametrize(
    ("tool", "given", "kind", "paths"),
    [
        ("Bash", {"command": "ls"}, ToolKind.COMMAND, ()),
        ("Monitor", {"command": "ls"}, ToolKind.COMMAND, ()),
        ("Write", {"file_path": "/w/a", "content": "x"}, ToolKind.EDIT, ("/w/a",)),
        ("Edit", {"file_path": "/w/a", "old_string": "x", "new_string": "y"}, ToolKind.EDIT, ("/w/a",)),
        ("NotebookEdit", {"notebook_path": "/w/n", "new_source": "y"}, ToolKind.EDIT, ("/w/n",)),
        ("Read", {"file_path": "/w/a"}, ToolKind.READ, ("/w/a",)),
        ("Grep", {"pattern": "x", "path": "/w"}, ToolKind.READ, ("/w",)),
        ("WebFetch", {"url": "http://x"}, ToolKind.NETWORK, ()),
        ("AskUserQuestion", {"questions": []}, ToolKind.QUESTION, ()),
        ("Skill", {"skill": "x"}, ToolKind.OTHER, ()),
        ("mcp__server__tool", {"command": 5}, ToolKind.OTHER, ()),
    ],
)
def test_a_call_has_its_kind_and_paths(
    tool: str, given: Json, kind: ToolKind, paths: tuple[str, ...]
) -> None:
    call = tool_call("t1", tool, msgspec.Raw(msgspec.json.encode(given)))
    assert (call.kind, call.paths) == (kind, paths)
    assert msgspec.json.decode(call.input_json) == given


def test_a_command_is_shown_whole() -> None:
    command = "echo '" + "x" * 100_000 + "\u202e'"
    call = tool_call("t1", "Bash", msgspec.Raw(msgspec.json.encode({"command": command})))
    assert call.command == command


def test_an_input_of_another_shape_is_still_shown() -> None:
    call = tool_call("t1", "Bash", msgspec.Raw(b'{"command": ["rm", "-rf"]}'))
    assert (call.command, call.input_json) == (None, '{"command": ["rm", "-rf"]}')


def test_a_change_is_the_new_content_or_a_diff() -> None:
    def change(tool: str, given: Json) -> str | None:
        return tool_call("t1", tool, msgspec.Raw(msgspec.json.encode(given))).change

    assert change("Write", {"file_path": "a", "content": "new\n"}) == "new\n"
    edit = {"file_path": "a", "old_string": "x\ny", "new_string": "x\nz", "replace_all": True}
    assert change("Edit", edit) == "every occurrence:\n--- a\n+++ a\n@@ -1,2 +1,2 @@\n x\n-y\n+z"
    assert change("NotebookEdit", {"notebook_path": "n", "new_source": "cell"}) == "cell"


def test_an_allow_sends_the_input_back_byte_for_byte(tmp_path: Path) -> None:
    given = {"command": "echo \u00e9 \u2028", "z": 1, "a": [1.0, None], "timeout": 1e3}
    asked = ask("Bash", given)
    answer = answer_of(asked, question_of("r1", asked, tmp_path), Decision(kind=DecisionKind.ALLOW))
    assert bytes(asked.input) in msgspec.json.encode(answer)
    assert answer["behavior"] == "allow"
    assert "updatedPermissions" not in answer


def test_a_deny_says_its_message_and_never_ends_the_turn(tmp_path: Path) -> None:
    said = answered(
        ask("Bash", {"command": "x"}), Decision(kind=DecisionKind.DENY, message=" no\n"), tmp_path
    )
    assert said == {"behavior": "deny", "message": " no\n"}
    silent = answered(ask("Bash", {"command": "x"}), Decision(kind=DecisionKind.DENY), tmp_path)
    assert silent["message"]
    assert "interrupt" not in silent


def test_allow_always_passes_one_exact_rule_for_the_session(tmp_path: Path) -> None:
    suggestions = [
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        {"type": "addDirectories", "directories": ["/"], "destination": "session"},
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "npm run *"}],
            "behavior": "allow",
            "destination": "localSettings",
        },
    ]
    asked = ask("Bash", {"command": "npm run build"}, permission_suggestions=suggestions)
    assert answered(asked, ALWAYS, tmp_path)["updatedPermissions"] == [
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "npm run build"}],
            "behavior": "allow",
            "destination": "session",
        }
    ]


@pytest.mark.parametrize(
    ("tool", "given", "about"),
    [
        ("Bash", {"command": "rm *"}, {}),
        ("Bash", {"command": "touch a:*"}, {}),
        ("Bash", {"command": "npm run \\(x\\)"}, {}),
        ("Bash", {"command": " \n"}, {}),
        ("Bash", {"command": ""}, {}),
        ("Bash", {"command": 7}, {}),
        ("Bash", {}, {}),
        ("Bash", {"command": "rm -rf ~"}, {"suppress_always_allow_rule": True}),
        ("Monitor", {"command": "ls"}, {}),
        ("Write", {"file_path": "/w/a", "content": "x"}, {}),
        ("Edit", {"file_path": "/w/a", "old_string": "x", "new_string": "y"}, {}),
        ("Read", {"file_path": "/etc/passwd"}, {}),
        ("WebFetch", {"url": "http://x"}, {}),
        ("mcp__server__tool", {}, {}),
    ],
)
def test_allow_always_passes_no_rule_where_none_is_exact(
    tmp_path: Path, tool: str, given: Json, about: Json
) -> None:
    answer = answered(ask(tool, given, **about), ALWAYS, tmp_path)
    assert answer == {"behavior": "allow", "updatedInput": given}


def test_a_question_names_the_place_where_a_link_leads(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (workspace / "folder").symlink_to(outside, target_is_directory=True)

    def real(tool: str, given: Json, **about: object) -> tuple[str, ...]:
        return question_of("r1", ask(tool, given, **about), workspace).real_paths

    inside = str(workspace / "a")
    assert real("Write", {"file_path": inside, "content": ""}) == ()
    assert real("Write", {"file_path": "a", "content": ""}, blocked_path=inside) == ()
    assert real("Write", {"file_path": f"{workspace}/folder/a", "content": ""}) == (f"{outside}/a",)
    assert real("Write", {"file_path": "/etc/passwd", "content": ""}) == ()
    assert real("Bash", {"command": "touch a"}, blocked_path=inside) == ()
    assert real("Bash", {"command": "touch folder/a"}, blocked_path=f"{workspace}/folder/a") == (
        f"{outside}/a",
    )
    assert real("Bash", {"command": "cat /etc/passwd"}, blocked_path="/etc/passwd") == ("/etc/passwd",)


def test_a_question_says_why_the_harness_asks(tmp_path: Path) -> None:
    def reason(**about: object) -> str:
        return question_of("r1", ask("Bash", {"command": "x"}, **about), tmp_path).reason

    assert reason(decision_reason="outside", decision_reason_type="workingDir") == "outside"
    assert reason(decision_reason_type="subcommandResults") == "subcommandResults"
    assert reason(decision_reason="outside", blocked_path="/etc") == "outside (/etc)"
    assert reason(blocked_path="/etc") == "it touches /etc"
    assert reason() == ""
