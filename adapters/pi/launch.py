"""How pi is started, and the policy that each conversation asks for.

Observed on 1.6.0 and 1.3.0:

* Trusted project files change what an approved call does: an extension of the project rewrites its input after the
  approval, `shellCommandPrefix` of its settings runs first. So none is trusted (`-na`) and nothing is discovered
  (`-ne`, `-ns`, `-np`, `-nc`), whatever the policy; an extension named with `-e` is loaded all the same, and pi exits
  with status 1 if it cannot be.
* `set_steering_mode` writes settings.json; the mode is in a settings.json of our own instead.
* `--session` takes a prefix of an id as well, so a conversation is named by its file.
* `sessionDir` of a project's settings is read before trust is asked for; `--session-dir` wins over it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import msgspec

from checkrein.adapters.errors import BadRequest, SessionNotFound
from checkrein.adapters.interface import Launch, ModelEndpoint, Origin, SessionSpec
from checkrein.adapters.policy import Policy

#: the extension that is loaded into pi
GATE = Path(__file__).with_name("gate.ts")

#: the provider that stands for `SessionSpec.endpoint`
PROVIDER = "checkrein"
DEFAULT_MODEL = "scripted"
DEFAULT_DIALECT = "openai-chat"
#: retries of a failed request, after 0.5 s, 1 s, 2 s and so on
RETRIES = 3
RETRY_DELAY_MS = 500

TOKEN_VARIABLE = "CHECKREIN_PI_TOKEN"
KEY_VARIABLE = "CHECKREIN_PI_KEY"
PROVIDER_VARIABLE = "CHECKREIN_PI_PROVIDER"
DIRECTORY_VARIABLE = "PI_CODING_AGENT_DIR"

NOT_TRUSTING = "-na"
TRUSTING = "-a"
#: no extensions, skills, prompt templates, context files (`AGENTS.md`) or themes but those that are named
DISCOVERING_NOTHING = frozenset({"-ne", "-ns", "-np", "-nc", "--no-themes"})

#: of this driver; the tokens of its processes are made with it
_SECRET = secrets.token_bytes(32)

#: our dialects: pi's word for each, and what follows the endpoint's address
_APIS = {
    "openai-chat": ("openai-completions", "/v1"),
    "openai-responses": ("openai-responses", "/v1"),
    "anthropic-messages": ("anthropic-messages", ""),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedRecipe:
    """What every pi of ours gets, whatever its mode.

    Args:
        environment: the whole of it.
        options: words of the command line.
        sessions: where the conversations of the workspace are kept.
    """

    environment: dict[str, str]
    options: tuple[str, ...]
    sessions: Path


def launch(spec: SessionSpec) -> Launch:
    """Return command line and environment of a pi for that spec.

    Raises:
        BadRequest: the workspace holds HOME or pi's directory, so that its files would be the user's configuration.
        SessionNotFound: there is no conversation of that id in this workspace.
    """
    recipe = closed_recipe(spec)
    argv = (
        *spec.binary.command,
        *("--mode", "rpc"),
        *_conversation(spec, recipe.sessions),
        # The copy, not the file in the workspace.
        *(("--append-system-prompt", str(spec.memory.copy)) if spec.memory is not None else ()),
        *recipe.options,
    )
    return Launch(argv=argv, environment=recipe.environment, cwd=spec.cwd)


def closed_recipe(spec: SessionSpec) -> ClosedRecipe:
    """Return what closes a pi for that spec; writes its settings.

    Raises:
        BadRequest: the workspace holds HOME or pi's directory, so that its files would be the user's configuration.
    """
    directory = _directory(spec)
    for name, holder in (("HOME", _home(spec)), (DIRECTORY_VARIABLE, directory)):
        if holder.resolve().is_relative_to(spec.cwd):
            raise BadRequest(
                f"the workspace holds the harness's {name}: what lies in it would be the user's own configuration",
                where=f"{name}={holder}, workspace {spec.cwd}",
                advice="choose a directory below it as the workspace, or another home",
            )
    sessions = _sessions(directory, spec.cwd)
    environment = dict(spec.environment)
    if spec.home is not None:
        temporary = spec.home / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        environment |= {"HOME": str(spec.home), "TMPDIR": str(temporary)}
    if spec.endpoint is not None:
        provider = msgspec.json.encode(_provider(spec.endpoint)).decode()
        environment |= {PROVIDER_VARIABLE: provider, KEY_VARIABLE: spec.endpoint.api_key}
        settings = _settings(spec.endpoint)
        directory = directory / f"settings-{hashlib.sha256(settings).hexdigest()[:12]}"
        directory.mkdir(parents=True, exist_ok=True)
        _write_once(directory / "settings.json", settings)
    environment |= {
        DIRECTORY_VARIABLE: str(directory),
        TOKEN_VARIABLE: token_of(spec),
        "PI_SKIP_VERSION_CHECK": "1",
        "PI_TELEMETRY": "0",
    }
    options = (
        *("--offline", NOT_TRUSTING, *sorted(DISCOVERING_NOTHING)),
        *("-e", str(GATE), "--checkrein-policy", policy_word(spec.policy)),
        *("--session-dir", str(sessions)),
        *(("--model", f"{PROVIDER}/{_model(spec.endpoint)}") if spec.endpoint is not None else ()),
    )
    return ClosedRecipe(environment=environment, options=options, sessions=sessions)


def policy_word(policy: Policy) -> str:
    """Return the policy as the gate takes and says it."""
    return "auto" if policy is Policy.AUTO else "ask"


def policy_asked(spec: SessionSpec) -> dict[str, str]:
    """Return what the gate must say when the conversation opens, by its own field names."""
    return {
        "policy": policy_word(spec.policy),
        "projectTrusted": "false",
        "mode": "rpc",
        "answers": "true",
        "cwd": str(spec.cwd),
    }


def token_of(spec: SessionSpec) -> str:
    """Return what only this driver and the gate of that conversation's process know."""
    subject = f"{spec.origin.value} {spec.session_id}".encode()
    return hmac.new(_SECRET, subject, hashlib.sha256).hexdigest()[:32]


def _home(spec: SessionSpec) -> Path:
    return spec.home if spec.home is not None else Path(spec.environment.get("HOME") or Path.home())


def _directory(spec: SessionSpec) -> Path:
    """The user's own directory, with the login in it; one of ours where the endpoint is given."""
    own = _home(spec) / ".pi"
    if spec.endpoint is not None:
        return own / "checkrein"
    given = None if spec.home is not None else spec.environment.get(DIRECTORY_VARIABLE)
    return Path(given) if given else own / "agent"


def _sessions(directory: Path, cwd: Path) -> Path:
    """Where pi keeps the conversations of a workspace by itself (1.6.0)."""
    return directory / "sessions" / f"--{str(cwd).strip(os.sep).replace(os.sep, '-')}--"


def _conversation(spec: SessionSpec, sessions: Path) -> tuple[str, str]:
    if spec.origin is Origin.NEW:
        return "--session-id", spec.session_id
    found = [path for path in sessions.glob("*.jsonl") if path.stem.partition("_")[2] == spec.session_id]
    if len(found) != 1:
        raise SessionNotFound(
            f"pi has no conversation {spec.session_id}",
            where=str(sessions),
            advice="a conversation is on disk from its first answer on; check the id, the workspace and the home",
        )
    return "--fork" if spec.origin is Origin.FORK else "--session", str(found[0])


def _model(endpoint: ModelEndpoint) -> str:
    return endpoint.model or DEFAULT_MODEL


def _provider(endpoint: ModelEndpoint) -> dict[str, object]:
    dialect = endpoint.dialect or DEFAULT_DIALECT
    api, path = _APIS[dialect]
    model: dict[str, object] = {
        "id": _model(endpoint),
        "name": _model(endpoint),
        "reasoning": False,
        "input": ["text"],
        "contextWindow": 200_000,
        "maxTokens": 16_384,
        # Nobody has told a price: a cost of nothing is reported as unknown.
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        # Sends the conversation's id along, as it is sent to OpenAI and Anthropic themselves.
        "compat": {"sendSessionAffinityHeaders": True} if dialect != "openai-responses" else {},
    }
    return {"baseUrl": f"{endpoint.base_url}{path}", "api": api, "models": [model]}


def _settings(endpoint: ModelEndpoint) -> bytes:
    retries = RETRIES if endpoint.retries is None else endpoint.retries
    return msgspec.json.format(
        msgspec.json.encode(
            {
                "steeringMode": "all",
                "enableInstallTelemetry": False,
                "quietStartup": True,
                "httpIdleTimeoutMs": _silence(endpoint),
                "retry": {"enabled": retries > 0, "maxRetries": retries, "baseDelayMs": RETRY_DELAY_MS},
            }
        )
    )


def _silence(endpoint: ModelEndpoint) -> int:
    """The default is pi's own (1.6.0)."""
    return 300_000 if endpoint.silence_seconds is None else round(endpoint.silence_seconds * 1000)


def _write_once(path: Path, content: bytes) -> None:
    """Put a file there, whole, unless it is; the directory is named after the content."""
    if path.exists():
        return
    partial = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    partial.write_bytes(content)
    partial.replace(path)
