"""Which variables of the surrounding environment a harness gets to see.

The harness's environment is an allow-list: what no rule keeps is not passed on. A driver often runs inside another
coding agent, whose marks and keys would change how the harness behaves, or would be readable by its tools. What the
harness needs beyond the list is given by its adapter in `extra`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentRule:
    """Names of variables (shell patterns, case matters) and why they are kept or dropped."""

    names: tuple[str, ...]
    reason: str


KEPT: tuple[EnvironmentRule, ...] = (
    EnvironmentRule(names=("PATH",), reason="programs that the tools run"),
    EnvironmentRule(
        names=("HOME", "USER", "LOGNAME", "SHELL"), reason="who the user is; adapters may replace HOME"
    ),
    EnvironmentRule(
        names=("LANG", "LANGUAGE", "LC_*", "TZ"), reason="encoding and dates of the tools' output"
    ),
    EnvironmentRule(names=("TERM", "COLORTERM", "NO_COLOR"), reason="tools choose their output by it"),
    EnvironmentRule(names=("TMPDIR",), reason="where temporary files may go"),
    EnvironmentRule(names=("XDG_*",), reason="the user's directories; adapters may replace them"),
    EnvironmentRule(
        names=(
            *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
            *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
        ),
        reason="without them there is no network in some places",
    ),
    EnvironmentRule(
        names=(
            *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
            *("GIT_SSL_CAINFO", "NIX_SSL_CERT_FILE"),
        ),
        reason="which certificates are trusted",
    ),
    EnvironmentRule(names=("SSH_AUTH_SOCK",), reason="git over ssh with the user's agent"),
)

#: These win over `KEPT`, so that a wider rule there never lets one of them through.
DROPPED: tuple[EnvironmentRule, ...] = (
    EnvironmentRule(
        names=("CLAUDECODE", "AI_AGENT", "CURSOR_*", "IS_SANDBOX", "CHECKREIN_*"),
        reason="marks of a surrounding agent or driver: a harness that sees them behaves as if nested",
    ),
    EnvironmentRule(
        names=("CLAUDE_*", "CODEX_*", "PI_*", "GEMINI_*", "OPENCODE_*", "MCP_*"),
        reason="configuration of a surrounding agent: endpoints, sessions, switches",
    ),
    EnvironmentRule(
        names=("ANTHROPIC_*", "OPENAI_*", "AWS_*", "AZURE_*", "GOOGLE_*", "*_API_KEY", "*_TOKEN", "*_SECRET"),
        reason="keys and endpoints of models and clouds: only the adapter decides which the harness gets",
    ),
    EnvironmentRule(
        names=(
            "NODE_OPTIONS",
            "BASH_ENV",
            "ENV",
            "LD_PRELOAD",
            "LD_AUDIT",
            "DYLD_*",
            "PYTHONSTARTUP",
            "PERL5OPT",
        ),
        reason="code that would run inside the harness or in front of each of its tools",
    ),
    EnvironmentRule(
        names=("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG*", "GIT_EXTERNAL_DIFF", "GIT_SSH*"),
        reason="a driver that runs in a git hook would point the harness's git at another repository",
    ),
)


def _matches(name: str, rules: tuple[EnvironmentRule, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for rule in rules for pattern in rule.names)


def clean_environment(base: Mapping[str, str], *, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what a harness gets of `base`, and all of `extra`.

    Args:
        base: the surrounding environment, usually `os.environ`.
        extra: what the adapter adds or replaces; passed on whatever its names are.
    """
    kept = {
        name: value for name, value in base.items() if _matches(name, KEPT) and not _matches(name, DROPPED)
    }
    return {**kept, **(extra or {})}
