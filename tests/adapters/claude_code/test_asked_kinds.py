"""The questions that the kit asks in Claude Code's place; wrong answers show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checkrein.adapters.claude_code.asked_kinds import asked_kinds
from checkrein.adapters.kit_facts import AskedKind

KINDS = {kind.name: kind for kind in asked_kinds(Path())}


def answer(response: object, **more: object) -> dict[str, object]:
    return {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": "r", "response": response, **more},
    }


def refusal(error: str) -> dict[str, object]:
    return answer(None, subtype="error", error=error)


def fault(name: str, message: dict[str, object]) -> str:
    return KINDS[name].fault(message)


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_question_is_a_control_request_with_the_id_given(kind: AskedKind) -> None:
    line = json.loads(kind.line("the-id"))
    assert (line["type"], line["request_id"]) == ("control_request", "the-id")


def test_an_allow_must_give_the_input_back_and_a_deny_must_say_something() -> None:
    name = "can_use_tool (Bash)"
    given = json.loads(KINDS[name].line("r"))["request"]["input"]
    assert fault(name, answer({"behavior": "allow", "updatedInput": given})) == ""
    assert fault(name, answer({"behavior": "allow", "updatedInput": {"command": "rm"}})) != ""
    assert fault(name, answer({"behavior": "deny", "message": "no"})) == ""
    assert fault(name, answer({"behavior": "deny", "message": ""})) != ""
    assert fault(name, answer({"decision": "accept"})) != ""
    assert fault(name, refusal("no")) != ""


def test_what_no_person_decides_is_refused_in_its_own_shape_or_by_an_error() -> None:
    assert fault("elicitation", answer({"action": "decline"})) == ""
    assert fault("elicitation", answer({"action": "accept"})) != ""
    for name in ("elicitation", "hook_callback", "hologram", "can_use_tool (no shape)"):
        assert fault(name, refusal("not answered")) == ""
        assert fault(name, refusal("")) != ""
    assert fault("hologram", answer({})) != ""
    assert fault("hologram", {}) != ""
