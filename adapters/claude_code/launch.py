"""How Claude Code is started: command line and environment.

The closed recipe is that of the hostile-workspace experiments on 2.1.332: with it none of some forty prepared
workspaces could answer, rewrite, start or redirect anything. Without it a `.claude/settings.json` in the workspace
alone sends the model key to another host.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path

import msgspec

from checkrein.adapters.errors import BadRequest, SessionNotFound
from checkrein.adapters.interface import Launch, ModelEndpoint, Origin, SessionSpec
from checkrein.adapters.policy import Policy

#: `default` (which the help text of 2.1.332 calls `manual`) asks for everything that is not read-only. 2.1.296 starts
#: in `auto`, without questions, when no mode is given.
PERMISSION_MODE = "default"

#: Asked although Claude Code would run them unasked: git runs what the workspace's `.git/config` names, and
#: EnterWorktree makes a branch and changes the directory of the conversation.
ASK_RULES = ("Bash(git:*)", "EnterWorktree")

#: Tools that open a turn later, by themselves.
DISALLOWED_TOOLS = ("ScheduleWakeup",)

#: How long the model may be silent, in milliseconds.
SILENCE_VARIABLES = (
    "API_TIMEOUT_MS",
    "CLAUDE_STREAM_FIRST_BYTE_TIMEOUT_MS",
    "CLAUDE_STREAM_IDLE_TIMEOUT_MS",
    "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS",
)

SPEAKING = (
    *("-p", "--input-format", "stream-json", "--output-format", "stream-json"),
    *("--verbose", "--include-partial-messages"),
    *("--permission-prompt-tool", "stdio", "--permission-mode", PERMISSION_MODE),
)


def is_closed(spec: SessionSpec) -> bool:
    """Whether the workspace has no say: always, unless everything is allowed anyway."""
    return spec.policy is not Policy.AUTO


def launch_of(spec: SessionSpec, session_id: str) -> Launch:
    """The command line and environment of one process.

    Args:
        spec: what to run.
        session_id: the id that the conversation will have (for a fork, the new one).

    Raises:
        BadRequest: the workspace holds the harness's home or configuration.
        SessionNotFound: the id to resume or fork is no UUID (Claude Code would look for a title of that name).
    """
    environment = environment_of(spec)
    argv = [*spec.binary.command, *SPEAKING, *_closing(spec), *_conversation(spec, session_id)]
    if spec.memory is not None:
        # The copy, not the file in the workspace: the harness reads it again at each start.
        argv += ["--append-system-prompt-file", str(spec.memory.copy)]
    return Launch(argv=(*argv, *model_of(spec)), environment=environment, cwd=spec.cwd)


def model_of(spec: SessionSpec) -> tuple[str, ...]:
    """The words that choose the model; none where the harness chooses."""
    if spec.endpoint is None or spec.endpoint.model is None:
        return ()
    return "--model", spec.endpoint.model


def environment_of(spec: SessionSpec) -> dict[str, str]:
    """The environment of one process; makes the temporary folder of a home of its own.

    Raises:
        BadRequest: the workspace holds the harness's home or configuration.
    """
    environment = _environment(spec)
    _refuse_own_state_in_workspace(spec, environment)
    if spec.home is not None:
        _temporary(spec.home).mkdir(parents=True, exist_ok=True)
    return environment


def configuration_directory(environment: Mapping[str, str]) -> Path | None:
    """Where the harness keeps settings, credentials and conversations; None when it cannot be told."""
    if own := environment.get("CLAUDE_CONFIG_DIR"):
        return Path(own)
    home = environment.get("HOME")
    return Path(home, ".claude") if home else None


def _closing(spec: SessionSpec) -> list[str]:
    if not is_closed(spec):
        return []
    settings = msgspec.json.encode({"permissions": {"ask": ASK_RULES}}).decode()
    return [
        *("--setting-sources", "", "--strict-mcp-config", "--settings", settings),
        *("--disallowedTools", ",".join(DISALLOWED_TOOLS)),
    ]


def _conversation(spec: SessionSpec, session_id: str) -> list[str]:
    if spec.origin is Origin.NEW:
        return ["--session-id", session_id]
    if not _is_uuid(spec.session_id):
        raise SessionNotFound(
            "there is no conversation of that id: Claude Code's ids are UUIDs",
            where=repr(spec.session_id),
            advice="use the id that the session had when it was opened",
        )
    if spec.origin is Origin.RESUME:
        return ["--resume", spec.session_id]
    return ["--resume", spec.session_id, "--fork-session", "--session-id", session_id]


def _environment(spec: SessionSpec) -> dict[str, str]:
    environment = {**spec.environment, "DISABLE_AUTOUPDATER": "1"}
    if spec.home is not None:
        environment |= {"HOME": str(spec.home), "CLAUDE_CONFIG_DIR": str(spec.home / ".claude")}
        environment["TMPDIR"] = str(_temporary(spec.home))
    if is_closed(spec):
        environment["CLAUDE_CODE_DISABLE_CRON"] = "1"
    if spec.endpoint is not None:
        environment |= _endpoint_environment(spec.endpoint)
    return environment


def _temporary(home: Path) -> Path:
    """Where a process with a home of its own keeps its sockets and the output of its commands.

    2.1.332 leaves folders `claude-UID` and `cc-socks` in TMPDIR. Where the path of a socket there would be longer than
    103 bytes, it takes `/tmp/cc-socks-UID` instead, and leaves that, empty.
    """
    return home / "tmp"


def _endpoint_environment(endpoint: ModelEndpoint) -> dict[str, str]:
    limits: dict[str, str] = {}
    if endpoint.retries is not None:
        limits["CLAUDE_CODE_MAX_RETRIES"] = str(endpoint.retries)
    if endpoint.silence_seconds is not None:
        limits |= dict.fromkeys(SILENCE_VARIABLES, str(round(endpoint.silence_seconds * 1000)))
    return {
        **limits,
        "ANTHROPIC_BASE_URL": endpoint.base_url,
        "ANTHROPIC_API_KEY": endpoint.api_key,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }


def _refuse_own_state_in_workspace(spec: SessionSpec, environment: Mapping[str, str]) -> None:
    """With the configuration in the workspace, what lies there is the user's own word, and no flag closes that."""
    home = environment.get("HOME")
    workspace = Path(os.path.realpath(spec.cwd))
    for what, place in (
        ("home directory", Path(home) if home else None),
        ("configuration directory", configuration_directory(environment)),
    ):
        if place is not None and Path(os.path.realpath(place)).is_relative_to(workspace):
            raise BadRequest(
                f"the workspace holds the {what} of Claude Code",
                where=str(place),
                advice="use a workspace below it or beside it, or give another home",
            )


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
