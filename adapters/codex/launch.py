"""How the app-server is started, and the policy that each conversation asks for.

The configuration is given by `-c` overrides and by the parameters of thread/start, thread/resume and thread/fork;
no file is written. Observed on 0.171.0:

* A trust level given in `config.projects` of the request keeps the app-server from writing `trust_level` into
  config.toml, which it otherwise does at thread/start.
* `approval_policy = "untrusted"` in a configuration file ends the process at once, unless a `-c` override replaces it;
  over the wire the same word works.
* `features.plugins` clones a repository at the start, `features.goals` lets the harness open turns by itself.
* `features.unbounded_connection_retries`: an endpoint that refuses connections is retried for ever.
* Without `supports_websockets = false` the first requests are websocket upgrades.
* Helper binaries are not made when CODEX_HOME lies below the temporary directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from checkrein.adapters.codex.messages import (
    ProjectTrust,
    ThreadConfig,
    ThreadFork,
    ThreadResume,
    ThreadStart,
    as_json,
)
from checkrein.adapters.codex.received import ThreadOpened
from checkrein.adapters.errors import BadRequest
from checkrein.adapters.interface import Launch, ModelEndpoint, Origin, SessionSpec
from checkrein.adapters.policy import Policy

#: the provider that stands for `SessionSpec.endpoint`
PROVIDER = "checkrein"
#: holds the endpoint's key; the name ends in KEY, so that Codex's default exclusions keep it from tools
KEY_VARIABLE = "CHECKREIN_ENDPOINT_KEY"
#: in the catalogue of 0.162.1 and 0.171.0, with the plain tools exec_command and apply_patch
DEFAULT_MODEL = "gpt-5.5"
#: retries of a request, and of a broken stream; the longest pause between two is about 2 s
RETRIES = 3

#: asks about every command and every file change, and is taken over the wire only
ASKING = "untrusted"
NEVER_ASKING = "never"
SANDBOX = "danger-full-access"
#: the same, as the app-server says it
SANDBOX_ECHO = "dangerFullAccess"
#: `auto_review` would let the model endpoint answer approvals
REVIEWER = "user"


def codex_home(spec: SessionSpec) -> Path:
    """Return the configuration directory that the harness will use."""
    if spec.home is not None:
        return spec.home / ".codex"
    if given := spec.environment.get("CODEX_HOME"):
        return Path(given)
    return _home(spec) / ".codex"


def launch(spec: SessionSpec) -> Launch:
    """Return command line and environment of an app-server for that spec.

    Raises:
        BadRequest: the workspace holds HOME or CODEX_HOME, so that its files would be the user's configuration.
    """
    environment = environment_of(spec)
    argv = [*spec.binary.command, "app-server", *as_options(overrides(spec))]
    # Not the workspace: nothing that is looked up beside the process may come from there.
    directory = codex_home(spec)
    neutral = directory if directory.is_dir() else Path("/")
    return Launch(argv=tuple(argv), environment=environment, cwd=neutral)


def environment_of(spec: SessionSpec) -> dict[str, str]:
    """Return the environment of a process for that spec; makes the folders of a home of its own.

    Raises:
        BadRequest: the workspace holds HOME or CODEX_HOME, so that its files would be the user's configuration.
    """
    directory = codex_home(spec)
    for name, holder in (("HOME", _home(spec)), ("CODEX_HOME", directory)):
        if holder.resolve().is_relative_to(spec.cwd):
            raise BadRequest(
                f"the workspace holds the harness's {name}: what lies in it would be the user's own configuration",
                where=f"{name}={holder}, workspace {spec.cwd}",
                advice="choose a directory below it as the workspace, or another home",
            )
    environment = dict(spec.environment)
    if spec.home is not None:
        temporary = spec.home / "tmp"
        for folder in (directory, temporary):
            folder.mkdir(parents=True, exist_ok=True)
        environment |= {"HOME": str(spec.home), "CODEX_HOME": str(directory), "TMPDIR": str(temporary)}
    if spec.endpoint is not None:
        environment[KEY_VARIABLE] = spec.endpoint.api_key
    return environment


def as_options(settings: Mapping[str, str | int | bool]) -> tuple[str, ...]:
    """Return settings by dotted path as words of the command line."""
    texts = (f"{name}={msgspec.json.encode(value).decode()}" for name, value in settings.items())
    return tuple(part for text in texts for part in ("-c", text))


def _home(spec: SessionSpec) -> Path:
    return spec.home if spec.home is not None else Path(spec.environment.get("HOME") or Path.home())


def overrides(spec: SessionSpec) -> dict[str, str | int | bool]:
    """Return the settings by dotted path. JSON texts and TOML texts of these types are the same."""
    settings: dict[str, str | int | bool] = {
        "approval_policy": "on-request",
        "check_for_update_on_startup": False,
        "features.goals": False,
    }
    if spec.endpoint is not None:
        retries = RETRIES if spec.endpoint.retries is None else spec.endpoint.retries
        provider = f"model_providers.{PROVIDER}"
        settings |= {
            "model": _model(spec) or DEFAULT_MODEL,
            "model_provider": PROVIDER,
            f"{provider}.name": PROVIDER,
            f"{provider}.base_url": f"{spec.endpoint.base_url}/v1",
            f"{provider}.wire_api": "responses",
            f"{provider}.env_key": KEY_VARIABLE,
            f"{provider}.supports_websockets": False,
            f"{provider}.request_max_retries": retries,
            f"{provider}.stream_max_retries": retries,
            **_patience(provider, spec.endpoint),
            "features.plugins": False,
            "features.unbounded_connection_retries": False,
            "shell_environment_policy.ignore_default_excludes": False,
            "analytics.enabled": False,
            "feedback.enabled": False,
            "otel.exporter": "none",
        }
    return settings


def _patience(provider: str, endpoint: ModelEndpoint) -> dict[str, str | int | bool]:
    if endpoint.silence_seconds is None:
        return {}
    return {f"{provider}.stream_idle_timeout_ms": round(endpoint.silence_seconds * 1000)}


def _model(spec: SessionSpec) -> str | None:
    if spec.endpoint is None:
        return None
    return spec.endpoint.model or DEFAULT_MODEL


def _approval_policy(spec: SessionSpec) -> str:
    return NEVER_ASKING if spec.policy is Policy.AUTO else ASKING


def opening(spec: SessionSpec) -> tuple[str, ThreadStart | ThreadResume | ThreadFork]:
    """Return method and parameters that open the conversation of the spec, each time with every override."""
    asks = spec.policy is not Policy.AUTO
    cwd = str(spec.cwd)
    config = ThreadConfig(
        projects={cwd: ProjectTrust(trust_level="untrusted" if asks else "trusted")},
        include_instructions=False if asks else msgspec.UNSET,
    )
    start = ThreadStart(
        cwd=cwd,
        approval_policy=_approval_policy(spec),
        sandbox=SANDBOX,
        approvals_reviewer=REVIEWER,
        config=config,
        model=_model(spec),
        developer_instructions=None if spec.memory is None else spec.memory.text,
        model_provider=None if spec.endpoint is None else PROVIDER,
    )
    overrides = msgspec.structs.asdict(start)
    match spec.origin:
        case Origin.NEW:
            return "thread/start", start
        case Origin.RESUME:
            return "thread/resume", ThreadResume(thread_id=spec.session_id, exclude_turns=True, **overrides)
        case Origin.FORK:
            return "thread/fork", ThreadFork(thread_id=spec.session_id, **overrides)


def policy_asked(spec: SessionSpec) -> dict[str, str]:
    """Return what the answer that opens the conversation must say, by its own field names."""
    asked = {
        "cwd": str(spec.cwd),
        "approvalPolicy": _approval_policy(spec),
        "sandbox": SANDBOX_ECHO,
        "approvalsReviewer": REVIEWER,
    }
    if (model := _model(spec)) is not None:
        asked |= {"modelProvider": PROVIDER, "model": model}
    if spec.policy is not Policy.AUTO:
        asked["instructionSources"] = "[]"
    return asked


def policy_said(opened: ThreadOpened) -> dict[str, str]:
    """Return what the answer that opened a conversation says, by its own field names."""
    policy = bytes(opened.approval_policy).decode()
    return {
        "cwd": opened.cwd,
        "approvalPolicy": policy.strip('"'),
        "sandbox": opened.sandbox.type,
        "approvalsReviewer": opened.approvals_reviewer,
        "modelProvider": opened.model_provider,
        "model": opened.model,
        "instructionSources": as_json(opened.instruction_sources),
    }
