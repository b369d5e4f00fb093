"""The harness sees what the list keeps and what its adapter adds, nothing else."""

from __future__ import annotations

import pytest

from checkrein.adapters.transport import clean_environment
from checkrein.adapters.transport.environment import DROPPED, KEPT, EnvironmentRule


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "TERM",
        "TMPDIR",
        "XDG_CONFIG_HOME",
        "https_proxy",
        "NODE_EXTRA_CA_CERTS",
    ],
)
def test_what_any_program_needs_is_kept(name: str) -> None:
    assert clean_environment({name: "value"}) == {name: "value"}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "CLAUDECODE",
            "CLAUDE_CODE_ENTRYPOINT",
            "AI_AGENT",
            "CODEX_HOME",
            "CHECKREIN_PROCESS",
            "MCP_TIMEOUT",
        ),
        *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "GEMINI_API_KEY", "GITHUB_TOKEN"),
        *("NODE_OPTIONS", "BASH_ENV", "LD_PRELOAD", "GIT_DIR", "PWD", "SOMETHING_NEW"),
    ],
)
def test_marks_keys_code_and_the_unknown_are_dropped(name: str) -> None:
    assert clean_environment({name: "value"}) == {}


def test_a_dropped_name_stays_dropped_when_a_wider_rule_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = EnvironmentRule(names=("*",), reason="a careless change")
    monkeypatch.setattr("checkrein.adapters.transport.environment.KEPT", (*KEPT, everything))
    assert clean_environment({"CODEX_HOME": "/x", "PATH": "/bin", "NEW": "1"}) == {"PATH": "/bin", "NEW": "1"}


def test_what_the_adapter_gives_wins_whatever_its_name() -> None:
    extra = {"ANTHROPIC_API_KEY": "dummy", "HOME": "/isolated"}
    assert clean_environment({"HOME": "/root", "ANTHROPIC_API_KEY": "real"}, extra=extra) == extra


def test_every_rule_says_why() -> None:
    assert all(rule.names and rule.reason for rule in (*KEPT, *DROPPED))
