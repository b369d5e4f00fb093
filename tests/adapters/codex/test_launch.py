"""Command line, environment and policy of an app-server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from checkrein.adapters.codex.launch import KEY_VARIABLE, launch, opening, policy_asked
from checkrein.adapters.errors import BadRequest
from checkrein.adapters.interface import HarnessBinary, ModelEndpoint, Origin, SessionSpec
from checkrein.adapters.policy import Policy

ENDPOINT = ModelEndpoint(base_url="http://127.0.0.1:1/s/x", api_key="sesame")


@pytest.fixture
def spec(tmp_path: Path) -> SessionSpec:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return SessionSpec(
        binary=HarnessBinary(path=Path("/opt/codex"), version=None, sha256=""),
        cwd=workspace,
        policy=Policy.ASK,
        origin=Origin.NEW,
        session_id="s",
        home=tmp_path / "home",
        endpoint=ENDPOINT,
        environment={"HOME": "/home/user", "PATH": "/bin"},
    )


def test_the_key_is_in_the_environment_and_not_on_the_command_line(spec: SessionSpec) -> None:
    started = launch(spec)
    assert started.environment[KEY_VARIABLE] == "sesame"
    assert "sesame" not in " ".join(started.argv)
    assert f'model_providers.checkrein.env_key="{KEY_VARIABLE}"' in started.argv
    assert 'model_providers.checkrein.base_url="http://127.0.0.1:1/s/x/v1"' in started.argv


def test_the_process_does_not_start_in_the_workspace_and_keeps_its_home_out_of_the_temporary_folder(
    spec: SessionSpec,
) -> None:
    started = launch(spec)
    assert spec.home is not None
    assert not started.cwd.is_relative_to(spec.cwd)
    assert started.environment["CODEX_HOME"] == str(spec.home / ".codex")
    assert not Path(started.environment["CODEX_HOME"]).is_relative_to(started.environment["TMPDIR"])


def test_without_an_endpoint_the_users_own_login_is_left_alone(spec: SessionSpec) -> None:
    started = launch(replace(spec, endpoint=None, home=None))
    assert started.environment == spec.environment
    assert "model_provider" not in " ".join(started.argv)
    _, params = opening(replace(spec, endpoint=None, home=None))
    assert params.model is None
    assert params.model_provider is None


@pytest.mark.parametrize(
    ("home", "environment"),
    [
        ("workspace", {}),
        ("workspace/below", {}),
        (None, {"HOME": "workspace"}),
        (None, {"HOME": "elsewhere", "CODEX_HOME": "workspace/codex"}),
    ],
)
def test_a_workspace_that_holds_home_or_configuration_is_refused(
    spec: SessionSpec, tmp_path: Path, home: str | None, environment: Mapping[str, str]
) -> None:
    inside = replace(
        spec,
        home=tmp_path / home if home else None,
        environment={name: str(tmp_path / value) for name, value in environment.items()},
    )
    with pytest.raises(BadRequest):
        launch(inside)


@pytest.mark.parametrize("origin", list(Origin))
def test_every_opening_carries_every_override(spec: SessionSpec, origin: Origin) -> None:
    method, params = opening(replace(spec, origin=origin))
    sent = msgspec.json.decode(msgspec.json.encode(params))
    assert method == {"new": "thread/start", "resume": "thread/resume", "fork": "thread/fork"}[origin.value]
    assert sent["approvalPolicy"] == "untrusted"
    assert sent["sandbox"] == "danger-full-access"
    assert sent["approvalsReviewer"] == "user"
    assert sent["config"] == {
        "projects": {str(spec.cwd): {"trust_level": "untrusted"}},
        "skills.include_instructions": False,
    }
    assert (sent["model"], sent["modelProvider"]) == ("gpt-5.5", "checkrein")


def test_auto_never_asks_and_is_never_reviewed_by_another(spec: SessionSpec) -> None:
    asked = policy_asked(replace(spec, policy=Policy.AUTO))
    assert asked["approvalPolicy"] == "never"
    assert asked["approvalsReviewer"] == "user"
    assert "instructionSources" not in asked


def test_the_limits_of_an_endpoint_are_told_to_the_harness(spec: SessionSpec) -> None:
    limited = replace(spec, endpoint=replace(ENDPOINT, retries=1, silence_seconds=2.5))
    argv = launch(limited).argv
    assert "model_providers.checkrein.request_max_retries=1" in argv
    assert "model_providers.checkrein.stream_idle_timeout_ms=2500" in argv
    assert not any("stream_idle_timeout_ms" in word for word in launch(spec).argv)
