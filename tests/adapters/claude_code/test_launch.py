"""The command line and environment, and the workspaces that are refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from checkrein.adapters.claude_code import HARNESS
from checkrein.adapters.claude_code.launch import SILENCE_VARIABLES
from checkrein.adapters.errors import BadRequest, SessionNotFound
from checkrein.adapters.interface import ModelEndpoint, Origin, SessionSpec
from checkrein.adapters.manifest import Capability, Support
from checkrein.adapters.policy import Policy
from checkrein.adapters.transport import HarnessProcess
from tests.adapters.claude_code.recordings import Pipe, spec

ENDPOINT = ModelEndpoint(base_url="http://127.0.0.1:1/s/x", api_key="secret", model="some-model")


@pytest.fixture
def asked(tmp_path: Path) -> SessionSpec:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return replace(spec(), cwd=workspace, home=tmp_path / "home", endpoint=ENDPOINT)


def after(argv: Sequence[str], flag: str) -> str:
    return argv[argv.index(flag) + 1]


def test_the_permission_mode_is_always_stated(asked: SessionSpec) -> None:
    for policy in (Policy.ASK, Policy.AUTO):
        argv = HARNESS.launch(replace(asked, policy=policy)).argv
        assert after(argv, "--permission-mode") == "default"
        assert after(argv, "--permission-prompt-tool") == "stdio"


def test_the_workspace_has_no_say_unless_everything_is_allowed(asked: SessionSpec) -> None:
    closed = HARNESS.launch(asked)
    assert after(closed.argv, "--setting-sources") == ""
    assert "--strict-mcp-config" in closed.argv
    assert json.loads(after(closed.argv, "--settings")) == {
        "permissions": {"ask": ["Bash(git:*)", "EnterWorktree"]}
    }
    assert after(closed.argv, "--disallowedTools") == "ScheduleWakeup"
    assert closed.environment["CLAUDE_CODE_DISABLE_CRON"] == "1"
    opened = HARNESS.launch(replace(asked, policy=Policy.AUTO))
    assert not {"--setting-sources", "--settings", "--disallowedTools"} & set(opened.argv)
    assert "CLAUDE_CODE_DISABLE_CRON" not in opened.environment


def test_an_endpoint_sets_address_key_and_model_and_silences_everything_else(asked: SessionSpec) -> None:
    launch = HARNESS.launch(asked)
    assert launch.environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1/s/x"
    assert launch.environment["ANTHROPIC_API_KEY"] == "secret"
    assert launch.environment["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
    assert after(launch.argv, "--model") == "some-model"
    assert not any("secret" in argument for argument in launch.argv), "every process can read a command line"


def test_without_an_endpoint_the_login_of_the_user_is_left_alone(asked: SessionSpec) -> None:
    environment = {"HOME": "/home/someone", "PATH": "/bin"}
    launch = HARNESS.launch(replace(asked, home=None, endpoint=None, environment=environment))
    added = set(launch.environment) - set(environment)
    assert added == {"DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_CRON"}
    assert "--model" not in launch.argv


def test_a_home_of_its_own_holds_the_configuration_too(asked: SessionSpec) -> None:
    environment = HARNESS.launch(asked).environment
    assert environment["HOME"] == str(asked.home)
    assert environment["CLAUDE_CONFIG_DIR"] == f"{asked.home}/.claude"


def test_a_home_of_its_own_holds_what_is_temporary_too(asked: SessionSpec) -> None:
    environment = HARNESS.launch(asked).environment
    assert environment["TMPDIR"] == f"{asked.home}/tmp"
    assert Path(environment["TMPDIR"]).is_dir()


def test_new_resumed_and_forked_conversations_have_the_id_that_was_said(asked: SessionSpec) -> None:
    known = asked.session_id
    assert after(HARNESS.launch(asked).argv, "--session-id") == known
    resumed = HARNESS.launch(replace(asked, origin=Origin.RESUME)).argv
    assert after(resumed, "--resume") == known
    assert "--session-id" not in resumed


def test_two_forks_of_one_conversation_have_two_ids(asked: SessionSpec) -> None:
    specs = [replace(asked, origin=Origin.FORK) for _ in range(2)]
    ids = [after(HARNESS.launch(one).argv, "--session-id") for one in specs]
    assert len({*ids, asked.session_id}) == 3
    for one in specs:
        argv = HARNESS.launch(one).argv
        assert "--fork-session" in argv
        assert after(argv, "--resume") == asked.session_id
        HARNESS.connect(one, cast("HarnessProcess", Pipe()))


@pytest.mark.parametrize("title", ["last tuesday", "", "../../etc/passwd", "--dangerously-skip-permissions"])
def test_an_id_that_is_no_uuid_is_not_looked_up_as_a_title(asked: SessionSpec, title: str) -> None:
    for origin in (Origin.RESUME, Origin.FORK):
        with pytest.raises(SessionNotFound):
            HARNESS.launch(replace(asked, origin=origin, session_id=title))


def test_a_workspace_that_holds_home_or_configuration_is_refused(asked: SessionSpec, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(asked.cwd, target_is_directory=True)
    below = asked.cwd / "config"
    user = {"HOME": "/home/someone"}
    for refused in (
        replace(asked, home=asked.cwd),
        replace(asked, home=asked.cwd / "home"),
        replace(asked, home=link),
        replace(asked, home=None, environment={"HOME": str(asked.cwd)}),
        replace(asked, home=None, environment={**user, "CLAUDE_CONFIG_DIR": str(below)}),
        replace(asked, home=asked.cwd, policy=Policy.AUTO),
    ):
        with pytest.raises(BadRequest):
            HARNESS.launch(refused)
    HARNESS.launch(replace(asked, home=None, environment=user))


def test_the_manifest_claims_what_the_contract_asks(asked: SessionSpec) -> None:
    manifest = HARNESS.manifest
    assert (manifest.name, manifest.dialects) == ("claude-code", ("anthropic-messages",))
    assert {capability for capability in Capability if manifest.support(capability) is Support.YES} == set(
        Capability
    )


def test_the_limits_of_an_endpoint_are_told_to_the_harness(asked: SessionSpec) -> None:
    limited = replace(asked, endpoint=replace(ENDPOINT, retries=1, silence_seconds=2.5))
    environment = HARNESS.launch(limited).environment
    assert environment["CLAUDE_CODE_MAX_RETRIES"] == "1"
    assert {environment[name] for name in SILENCE_VARIABLES} == {"2500"}
    assert not set(SILENCE_VARIABLES) & set(HARNESS.launch(asked).environment)
