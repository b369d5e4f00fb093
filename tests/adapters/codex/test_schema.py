"""The protocol by Codex's own schema, which the real binary writes: what we send and what we read is valid there."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import jsonschema
import msgspec
import pytest

from checkrein.adapters.codex import messages as m
from checkrein.adapters.codex.launch import opening
from checkrein.adapters.codex.notifications import IGNORED
from checkrein.adapters.codex.questions import Kind
from checkrein.adapters.codex.translate import Translator
from checkrein.adapters.interface import HarnessBinary, Origin
from tests.adapters.codex.replayed_process import spec

Json = dict[str, Any]
#: `jsonschema.validate` would check the schema itself anew for each message, which takes seconds
Validator = jsonschema.Draft7Validator

#: which schema describes the answer to a question of ours
ANSWERS = {
    "item/commandExecution/requestApproval": "CommandExecutionRequestApprovalResponse",
    "item/fileChange/requestApproval": "FileChangeRequestApprovalResponse",
}


@pytest.fixture(scope="module")
def schema(real_codex: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("codex-schema")
    home = tmp_path_factory.mktemp("codex-home")
    command = [real_codex.binary, "app-server", "generate-json-schema", "--experimental", "--out", folder]
    subprocess.run(command, check=True, capture_output=True, timeout=60, env={"CODEX_HOME": str(home)})
    return folder


@pytest.fixture(scope="module")
def client_requests(schema: Path) -> Mapping[str, Validator]:
    return _by_method(schema / "ClientRequest.json")


@pytest.fixture(scope="module")
def notifications(schema: Path) -> Mapping[str, Validator]:
    return _by_method(schema / "ServerNotification.json")


@pytest.fixture(scope="module")
def server_requests(schema: Path) -> Mapping[str, Validator]:
    return _by_method(schema / "ServerRequest.json")


def test_every_notification_of_the_schema_is_either_used_or_known_not_to_be(
    notifications: Mapping[str, Validator],
) -> None:
    used = Translator().handled | {"serverRequest/resolved"}
    assert used.isdisjoint(IGNORED)
    assert set(notifications) == used | IGNORED


def test_every_question_of_the_schema_is_known(server_requests: Mapping[str, Validator]) -> None:
    refused = {"item/tool/call", "account/chatgptAuthTokens/refresh", "attestation/generate"}
    assert set(server_requests) == {kind.value for kind in Kind} | refused


@pytest.mark.parametrize("origin", list(Origin))
def test_what_opens_a_conversation_is_valid(client_requests: Mapping[str, Validator], origin: Origin) -> None:
    method, params = opening(spec(origin=origin, session_id="01a22761-0aea-7622-939b-6b932a8bd6f9"))
    _valid(json.loads(m.line(m.Call(id=1, method=method, params=params))), client_requests)


def test_what_was_sent_and_received_is_valid(
    schema: Path,
    client_requests: Mapping[str, Validator],
    notifications: Mapping[str, Validator],
    server_requests: Mapping[str, Validator],
) -> None:
    seen: set[str] = set()
    folder = files("checkrein.fixtures").joinpath("wire", "codex")
    for recording in sorted(folder.iterdir(), key=lambda entry: entry.name):
        questions: dict[object, str] = {}
        for row in recording.read_bytes().splitlines():
            line = msgspec.json.decode(row)
            message: Json = line["message"]
            method: str | None = message.get("method")
            seen.add(f"{line['direction']} {method}")
            match line["direction"], method:
                case "to_harness", "initialized":
                    pass
                case "to_harness", str():
                    _valid(message, client_requests)
                case "to_harness", None:
                    name = ANSWERS[questions[message["id"]]]
                    _matches(_answer_schema(schema, name), message["result"])
                case "from_harness", str() if "id" in message:
                    questions[message["id"]] = method
                    _valid(message, server_requests)
                case "from_harness", str():
                    _valid(message, notifications)
                case _:
                    pass
    assert {
        "to_harness initialize",
        "to_harness thread/start",
        "to_harness thread/resume",
        "to_harness turn/start",
        "to_harness turn/steer",
        "to_harness turn/interrupt",
        "to_harness thread/backgroundTerminals/clean",
        "to_harness None",
    } <= seen


def test_the_answers_of_the_other_questions_are_valid(schema: Path) -> None:
    for name, answer in {
        "PermissionsRequestApprovalResponse": {
            "permissions": {"network": None, "fileSystem": {"read": None, "write": ["/p"]}},
            "scope": "turn",
        },
        "ToolRequestUserInputResponse": {"answers": {"q1": {"answers": ["not now"]}}},
        "McpServerElicitationRequestResponse": {"action": "decline", "content": None, "_meta": None},
        "DynamicToolCallResponse": {"contentItems": [{"type": "inputText", "text": "no"}], "success": False},
        "ExecCommandApprovalResponse": {"decision": {"denied": {"rejection": "not now"}}},
        "ApplyPatchApprovalResponse": {"decision": "approved"},
    }.items():
        _matches(_answer_schema(schema, name), answer)


def _answer_schema(schema: Path, name: str) -> Validator:
    return Validator(json.loads((schema / f"{name}.json").read_text()))


def _by_method(path: Path) -> dict[str, Validator]:
    """Each variant of a union of messages, as a schema of its own that knows the definitions of all."""
    union = cast("Json", json.loads(path.read_text()))
    variants: dict[str, Validator] = {}
    for variant in union["oneOf"]:
        for method in variant["properties"]["method"]["enum"]:
            variants[method] = Validator({**variant, "definitions": union["definitions"]})
    return variants


def _matches(schema: Validator, value: object) -> None:
    # A cast, because the stubs leave a parameter of `validate` without a type.
    cast("Any", schema).validate(value)


def _valid(message: Json, schemas: Mapping[str, Validator]) -> None:
    _matches(schemas[message["method"]], message)


def test_the_check_can_fail(client_requests: Mapping[str, Validator], real_codex: Any) -> None:
    assert HarnessBinary(path=real_codex.binary, version=None, sha256="").path.is_file()
    wrong = {"id": 1, "method": "turn/interrupt", "params": {"threadId": "t"}}
    with pytest.raises(jsonschema.ValidationError):
        _valid(wrong, client_requests)
