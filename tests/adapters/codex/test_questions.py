"""Every kind of question that Codex 0.171.0 can ask: answered in its own shape, or refused and shown."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from checkrein.adapters.codex.questions import (
    OpenQuestion,
    Refused,
    answer_line,
    grants_for_the_process,
    read_question,
)
from checkrein.adapters.codex.received import FileChange
from checkrein.adapters.errors import ApprovalStale
from checkrein.adapters.interface import Decision, DecisionKind
from checkrein.adapters.native import Asked, Notice, NoticeKind, ToolKind
from tests.adapters.codex.replayed_process import connection, spec
from tests.adapters.recordings import Message, SilentProcess

ALLOW = Decision(kind=DecisionKind.ALLOW)
ALWAYS = Decision(kind=DecisionKind.ALLOW_ALWAYS)
DENY = Decision(kind=DecisionKind.DENY, message="not now")

PLACE: Message = {"threadId": "t", "turnId": "u", "itemId": "i"}
COMMAND: Message = {**PLACE, "kind": "command", "command": "/bin/bash -lc ls", "cwd": "/w"}
WISH: Message = {"network": None, "fileSystem": {"read": None, "write": ["/p"]}}
FORM: Message = {
    "threadId": "t",
    "turnId": "u",
    "serverName": "s",
    "mode": "form",
    "message": "Really?",
    "requestedSchema": {"type": "object", "properties": {}},
}


def asked(method: str, params: Message) -> OpenQuestion:
    read = read_question(0, method, msgspec.Raw(msgspec.json.encode(params)), {})
    assert isinstance(read, OpenQuestion)
    return read


def refused(method: str, params: Message) -> Message:
    read = read_question("id-1", method, msgspec.Raw(msgspec.json.encode(params)), {})
    assert isinstance(read, Refused)
    return msgspec.json.decode(read.line, type=Message)


@pytest.mark.parametrize(
    ("method", "params", "allowed", "denied"),
    [
        ("item/commandExecution/requestApproval", COMMAND, {"decision": "accept"}, {"decision": "decline"}),
        ("item/fileChange/requestApproval", PLACE, {"decision": "accept"}, {"decision": "decline"}),
        (
            "item/permissions/requestApproval",
            {**PLACE, "permissions": WISH, "cwd": "/w"},
            {"permissions": WISH, "scope": "turn"},
            {"permissions": {}, "scope": "turn"},
        ),
        (
            "item/tool/requestUserInput",
            {**PLACE, "questions": [{"id": "q1", "question": "Which?"}]},
            {"answers": {}},
            {"answers": {"q1": {"answers": ["not now"]}}},
        ),
        (
            "mcpServer/elicitation/request",
            FORM,
            {"action": "accept", "content": {}, "_meta": None},
            {"action": "decline", "content": None, "_meta": None},
        ),
        (
            "execCommandApproval",
            {"conversationId": "t", "callId": "i", "command": ["ls", "a b"], "cwd": "/w"},
            {"decision": "approved"},
            {"decision": {"denied": {"rejection": "not now"}}},
        ),
        (
            "applyPatchApproval",
            {"conversationId": "t", "callId": "i", "fileChanges": {"/w/a": {"type": "add", "content": "x"}}},
            {"decision": "approved"},
            {"decision": {"denied": {"rejection": "not now"}}},
        ),
    ],
)
def test_each_kind_is_answered_in_its_own_shape(
    method: str, params: Message, allowed: Message, denied: Message
) -> None:
    question = asked(method, params)
    assert msgspec.json.decode(answer_line(question, ALLOW)) == {"id": 0, "result": allowed}
    assert msgspec.json.decode(answer_line(question, DENY)) == {"id": 0, "result": denied}


@pytest.mark.parametrize(
    "method", ["account/chatgptAuthTokens/refresh", "attestation/generate", "item/hologram/requestApproval"]
)
def test_a_kind_that_nobody_can_answer_is_refused_by_an_error(method: str) -> None:
    answer = refused(method, {})
    assert answer["id"] == "id-1"
    assert "error" in answer


def test_a_call_of_a_tool_of_the_clients_is_refused_in_its_own_shape() -> None:
    result = refused(
        "item/tool/call", {"threadId": "t", "turnId": "u", "callId": "c", "tool": "x", "arguments": {}}
    )["result"]
    assert isinstance(result, dict)
    assert result["success"] is False


@pytest.mark.parametrize(
    "more",
    [{"mode": "url", "url": "http://x", "elicitationId": "e"}, {"requestedSchema": {"required": ["name"]}}],
)
def test_a_form_that_must_be_filled_in_and_a_page_to_visit_are_declined(more: Message) -> None:
    assert refused("mcpServer/elicitation/request", {**FORM, **more})["result"] == {
        "action": "decline",
        "content": None,
        "_meta": None,
    }


def test_a_known_question_of_an_unknown_shape_is_refused() -> None:
    assert "error" in refused("item/commandExecution/requestApproval", {"threadId": 3})


def test_a_lasting_grant_is_for_a_plain_command_only() -> None:
    plain = asked("item/commandExecution/requestApproval", COMMAND)
    assert grants_for_the_process(plain, ALWAYS)
    assert msgspec.json.decode(answer_line(plain, ALWAYS))["result"] == {"decision": "acceptForSession"}
    for more in (
        {"kind": "writeStdin"},
        {"additionalPermissions": {"network": None, "fileSystem": None}},
        {"networkApprovalContext": {"host": "example.org", "protocol": "https"}},
    ):
        wider = asked("item/commandExecution/requestApproval", {**COMMAND, **more})
        assert not grants_for_the_process(wider, ALWAYS)
        assert msgspec.json.decode(answer_line(wider, ALWAYS))["result"] == {"decision": "accept"}
        assert wider.question.call.likeness != plain.question.call.likeness


def test_a_patch_gets_no_lasting_grant_because_a_link_can_be_laid_in_its_place() -> None:
    change = FileChange(id="i", changes=())
    params = msgspec.Raw(msgspec.json.encode(PLACE))
    read = read_question(0, "item/fileChange/requestApproval", params, {"i": change})
    assert isinstance(read, OpenQuestion)
    assert not grants_for_the_process(read, ALWAYS)
    assert msgspec.json.decode(answer_line(read, ALWAYS))["result"] == {"decision": "accept"}


def test_a_network_question_says_where_to() -> None:
    question = asked(
        "item/commandExecution/requestApproval",
        {**PLACE, "networkApprovalContext": {"host": "example.org", "protocol": "https"}},
    ).question
    assert question.call.kind is ToolKind.NETWORK
    assert "example.org" in question.reason


def test_a_permissions_question_shows_where_its_paths_really_lead(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/usr")
    wish = {"fileSystem": {"write": [str(tmp_path / "link")]}}
    question = asked("item/permissions/requestApproval", {**PLACE, "permissions": wish}).question
    assert question.call.paths == (str(tmp_path / "link"),)
    assert question.real_paths == ("/usr",)


def test_a_command_shows_where_what_it_reads_really_leads(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/usr")
    read = {"type": "read", "command": "cat link", "name": "link", "path": str(tmp_path / "link")}
    where = {**COMMAND, "cwd": str(tmp_path)}
    method = "item/commandExecution/requestApproval"
    assert asked(method, {**where, "commandActions": [read]}).question.real_paths == ("/usr",)
    relative = {"type": "listFiles", "command": "ls link", "path": "link"}
    assert asked(method, {**where, "commandActions": [relative]}).question.real_paths == ("/usr",)
    for nothing in ([{"type": "unknown", "command": "cat link"}], None, [{"path": 5}], "link"):
        assert asked(method, {**where, "commandActions": nothing}).question.real_paths == ()


def test_a_command_shows_where_its_directory_really_is(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/usr")
    question = asked(
        "item/commandExecution/requestApproval", {**COMMAND, "cwd": str(tmp_path / "link")}
    ).question
    assert question.real_paths == ("/usr",)


@pytest.mark.anyio
async def test_a_refused_question_leads_to_a_reply_and_a_notice() -> None:
    silent = connection(SilentProcess(), spec())
    (notice,) = silent.decode([b'{"id":4,"method":"attestation/generate","params":{}}'])
    assert isinstance(notice, Notice)
    assert notice.kind is NoticeKind.REFUSED_QUESTION
    (reply,) = silent.take_replies()
    assert msgspec.json.decode(reply)["id"] == 4
    assert silent.take_replies() == []


@pytest.mark.anyio
@pytest.mark.parametrize("request_id", [b"0", b'"0"'])
async def test_an_answer_bears_the_id_as_it_was_asked_and_is_given_once(request_id: bytes) -> None:
    process = SilentProcess()
    silent = connection(process, spec())
    params = msgspec.json.encode(COMMAND)
    (event,) = silent.decode(
        [b'{"id":%s,"method":"item/commandExecution/requestApproval","params":%s}' % (request_id, params)]
    )
    assert isinstance(event, Asked)
    await silent.answer(event.question, ALLOW)
    assert process.sent == [{"id": msgspec.json.decode(request_id), "result": {"decision": "accept"}}]
    with pytest.raises(ApprovalStale):
        await silent.answer(event.question, ALLOW)
    assert len(process.sent) == 1
