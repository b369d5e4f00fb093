"""Command line, environment and directories of a pi."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from checkrein.adapters.errors import BadRequest, SessionNotFound
from checkrein.adapters.interface import HarnessBinary, ModelEndpoint, Origin, SessionSpec
from checkrein.adapters.pi.launch import (
    DIRECTORY_VARIABLE,
    GATE,
    KEY_VARIABLE,
    PROVIDER_VARIABLE,
    TOKEN_VARIABLE,
    launch,
)
from checkrein.adapters.policy import Policy

ENDPOINT = ModelEndpoint(base_url="http://127.0.0.1:1/s/x", api_key="sesame")


@pytest.fixture
def spec(tmp_path: Path) -> SessionSpec:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return SessionSpec(
        binary=HarnessBinary(path=Path("/opt/pi/cli.js"), version=None, sha256="", launcher=("/opt/node",)),
        cwd=workspace,
        policy=Policy.ASK,
        origin=Origin.NEW,
        session_id="s",
        home=tmp_path / "home",
        endpoint=ENDPOINT,
        environment={"HOME": str(tmp_path / "user"), "PATH": "/bin"},
    )


def settings_of(environment: Mapping[str, str]) -> dict[str, object]:
    return json.loads(Path(environment[DIRECTORY_VARIABLE], "settings.json").read_text())


def test_node_runs_it_in_the_workspace_with_our_gate_and_nothing_of_the_project(spec: SessionSpec) -> None:
    started = launch(spec)
    assert started.argv[:4] == ("/opt/node", "/opt/pi/cli.js", "--mode", "rpc")
    assert {"-na", "-ne", "-ns", "-np", "-nc", "--offline"} <= set(started.argv)
    assert started.argv[started.argv.index("-e") + 1] == str(GATE)
    assert GATE.is_file()
    assert started.cwd == spec.cwd


@pytest.mark.parametrize(("policy", "word"), [(Policy.ASK, "ask"), (Policy.AUTO, "auto")])
def test_no_policy_trusts_the_project(spec: SessionSpec, policy: Policy, word: str) -> None:
    argv = launch(replace(spec, policy=policy)).argv
    assert argv[argv.index("--checkrein-policy") + 1] == word
    assert "-na" in argv


@pytest.mark.parametrize(
    ("dialect", "api", "url"),
    [
        (None, "openai-completions", "http://127.0.0.1:1/s/x/v1"),
        ("openai-responses", "openai-responses", "http://127.0.0.1:1/s/x/v1"),
        ("anthropic-messages", "anthropic-messages", "http://127.0.0.1:1/s/x"),
    ],
)
def test_the_endpoint_is_given_in_the_environment_and_in_no_file(
    spec: SessionSpec, dialect: str | None, api: str, url: str
) -> None:
    assert spec.home is not None
    started = launch(replace(spec, endpoint=replace(ENDPOINT, dialect=dialect, model="m")))
    provider = json.loads(started.environment[PROVIDER_VARIABLE])
    assert (provider["api"], provider["baseUrl"], provider["models"][0]["id"]) == (api, url, "m")
    assert started.argv[-2:] == ("--model", "checkrein/m")
    assert started.environment[KEY_VARIABLE] == "sesame"
    written = [path for path in spec.home.rglob("*") if path.is_file()]
    assert [path.name for path in written] == ["settings.json"]
    assert "sesame" not in written[0].read_text()


def test_what_the_settings_say_is_in_a_directory_of_its_own(spec: SessionSpec) -> None:
    usual = launch(spec).environment
    patient = launch(replace(spec, endpoint=replace(ENDPOINT, retries=0, silence_seconds=1.5))).environment
    assert settings_of(usual)["steeringMode"] == "all"
    assert settings_of(usual)["retry"] == {"enabled": True, "maxRetries": 3, "baseDelayMs": 500}
    assert settings_of(patient)["retry"] == {"enabled": False, "maxRetries": 0, "baseDelayMs": 500}
    assert settings_of(patient)["httpIdleTimeoutMs"] == 1500
    assert usual[DIRECTORY_VARIABLE] != patient[DIRECTORY_VARIABLE]


def test_without_an_endpoint_the_users_own_directory_is_used_and_nothing_is_written(
    spec: SessionSpec, tmp_path: Path
) -> None:
    started = launch(replace(spec, endpoint=None, home=None))
    assert started.environment[DIRECTORY_VARIABLE] == str(tmp_path / "user" / ".pi" / "agent")
    assert "--model" not in started.argv
    assert PROVIDER_VARIABLE not in started.environment
    assert not (tmp_path / "user").exists()


def test_the_token_is_of_the_conversation_and_of_this_driver(spec: SessionSpec) -> None:
    token = launch(spec).environment[TOKEN_VARIABLE]
    assert len(token) == 32
    assert token == launch(spec).environment[TOKEN_VARIABLE]
    assert token != launch(replace(spec, session_id="other")).environment[TOKEN_VARIABLE]


def test_a_conversation_is_named_by_its_file_in_this_workspace(spec: SessionSpec) -> None:
    argv = launch(spec).argv
    folder = Path(argv[argv.index("--session-dir") + 1])
    assert argv[argv.index("--session-id") + 1] == "s"
    folder.mkdir(parents=True)
    kept = folder / "2026-01-01T00-00-00-000Z_s.jsonl"
    kept.touch()
    (folder / "2026-01-01T00-00-00-000Z_s2.jsonl").touch()
    resumed = launch(replace(spec, origin=Origin.RESUME)).argv
    assert resumed[resumed.index("--session") + 1] == str(kept)
    forked = launch(replace(spec, origin=Origin.FORK)).argv
    assert forked[forked.index("--fork") + 1] == str(kept)
    with pytest.raises(SessionNotFound):
        launch(replace(spec, origin=Origin.RESUME, session_id="nosuch"))


@pytest.mark.parametrize(
    ("home", "environment"),
    [
        ("workspace", {}),
        ("workspace/below", {}),
        (None, {"HOME": "workspace"}),
        (None, {"HOME": "elsewhere", "PI_CODING_AGENT_DIR": "workspace/pi"}),
    ],
)
def test_a_workspace_that_holds_home_or_configuration_is_refused(
    spec: SessionSpec, tmp_path: Path, home: str | None, environment: Mapping[str, str]
) -> None:
    inside = replace(
        spec,
        endpoint=None,
        home=tmp_path / home if home else None,
        environment={name: str(tmp_path / value) for name, value in environment.items()},
    )
    with pytest.raises(BadRequest):
        launch(inside)
