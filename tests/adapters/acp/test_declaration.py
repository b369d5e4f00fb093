"""What an `acp.toml` may hold, and how an agent is launched by it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from checkrein.adapters.acp import AcpAdapter
from checkrein.adapters.acp.declaration import (
    AcpDeclaration,
    Deny,
    PromptWhileRunning,
    load_declaration,
    read_declaration,
)
from checkrein.adapters.acp.launch import launch
from checkrein.adapters.errors import BadRequest, Unsupported
from checkrein.adapters.interface import ModelEndpoint, SessionSpec
from checkrein.adapters.policy import Policy
from checkrein.adapters.project_memory import ProjectMemory
from tests.adapters.acp.played_agent import DECLARED, MANIFEST, Message, spec

ENDPOINT = ModelEndpoint(base_url="http://127.0.0.1:1", api_key="token", model="m")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of an agent, which holds nothing yet."""
    folder = tmp_path / "outside_agent"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "outside_agent", raising=False)
    return folder


def asked(tmp_path: Path, **more: object) -> SessionSpec:
    return replace(spec(), cwd=tmp_path / "workspace", home=tmp_path / "home", **more)  # type: ignore[arg-type]  # of a spec


def declared(**more: object) -> AcpDeclaration:
    return read_declaration({**DECLARED, **more})


def test_an_adapter_is_made_of_the_two_files_of_a_package() -> None:
    adapter = AcpAdapter("checkrein.conformance.reference")
    assert adapter.manifest.name == "reference"
    assert adapter.declaration.prompt_while_running is PromptWhileRunning.REJECT
    assert adapter.declaration.deny is Deny.GOES_ON
    assert adapter.workspace_findings(Path()) == []


def test_what_an_agent_obeys_is_not_known_where_its_package_does_not_say(package: Path) -> None:
    (package / "acp.toml").write_text('prompt_while_running = "queue"\ndeny = "goes_on"\n[policies.ask]\n')
    text = 'name = "x"\ntitle = "X"\nvendor = "tests"\ndialects = ["openai-chat"]\n[capabilities]\n'
    (package / "manifest.toml").write_text(text)
    assert AcpAdapter("outside_agent").workspace_findings(package) is None


def test_a_package_without_a_declaration_is_refused_with_the_place(package: Path) -> None:
    with pytest.raises(BadRequest, match="does not say what its agent does") as refused:
        load_declaration("outside_agent")
    assert str(package) in refused.value.where


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('deny = "goes_on"\n[policies.ask]\n', "missing required field `prompt_while_running`"),
        ('prompt_while_running = "reject"\n[policies.ask]\n', "missing required field `deny`"),
        ('prompt_while_running = "wait"\ndeny = "goes_on"\n[policies.ask]\n', "'wait'"),
        (
            'prompt_while_running = "queue"\ndeny = "goes_on"\n[policies.ask]\ncolour = 1\n',
            "unknown field `colour`",
        ),
        ('prompt_while_running = "queue"\ndeny = "goes_on"\n[policies.always]\n', "'always'"),
        ("deny = \n", "Invalid value"),
    ],
)
def test_a_declaration_that_cannot_be_used_names_file_and_field(package: Path, text: str, words: str) -> None:
    (package / "acp.toml").write_text(text)
    with pytest.raises(BadRequest) as refused:
        load_declaration("outside_agent")
    assert words in refused.value.what
    assert "acp.toml" in refused.value.where


def test_nothing_of_a_declaration_is_assumed() -> None:
    required = {field.name for field in msgspec.structs.fields(AcpDeclaration) if field.required}
    assert required == {"prompt_while_running", "deny", "policies"}


def test_words_and_environment_are_filled_in(tmp_path: Path) -> None:
    declaration = declared(
        arguments=["--acp", "--cwd={cwd}"],
        policies={"ask": {"arguments": ["--careful"]}},
        environment={"URL": "{base_url}/v1", "KEY": "{api_key}", "RETRIES": "{retries}", "PLAIN": "1"},
    )
    launched = launch(asked(tmp_path, endpoint=ENDPOINT), declaration, MANIFEST)
    workspace = tmp_path / "workspace"
    assert launched.argv == ("/opt/played/agent", "--acp", f"--cwd={workspace}", "--careful")
    assert launched.cwd == workspace
    assert dict(launched.environment) == {
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "home" / "tmp"),
        "URL": "http://127.0.0.1:1/v1",
        "KEY": "token",
        "PLAIN": "1",
    }


def test_a_word_of_the_command_line_must_be_complete(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="needs what the session has not"):
        launch(asked(tmp_path), declared(arguments=["--url={base_url}"]), MANIFEST)


def test_a_workspace_that_holds_the_home_is_refused(tmp_path: Path) -> None:
    inside = replace(spec(), cwd=tmp_path, home=tmp_path / "home")
    with pytest.raises(BadRequest, match="holds the harness's HOME"):
        launch(inside, declared(), MANIFEST)


def test_a_policy_that_is_not_declared_launches_nothing(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="auto"):
        launch(asked(tmp_path, policy=Policy.AUTO), declared(policies={"ask": {}}), MANIFEST)


@pytest.mark.parametrize("more", [{}, {"memory_arguments": ["--read", "{memory_file}"]}])
def test_the_projects_memory_is_told_or_refused(tmp_path: Path, more: Message) -> None:
    copy = tmp_path / "copy"
    with_memory = asked(tmp_path, memory=ProjectMemory(name="AGENTS.md", text="words", copy=copy))
    if not more:
        with pytest.raises(Unsupported, match="memory"):
            launch(with_memory, declared(), MANIFEST)
        return
    assert launch(with_memory, declared(**more), MANIFEST).argv[1:] == ("--read", str(copy))
