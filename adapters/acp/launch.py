"""How an agent is started: its words and its environment, filled in from the declaration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from checkrein.adapters.acp.declaration import AcpDeclaration, PolicyDeclaration
from checkrein.adapters.errors import BadRequest, Unsupported
from checkrein.adapters.interface import Launch, SessionSpec
from checkrein.adapters.manifest import Manifest


def launch(spec: SessionSpec, declaration: AcpDeclaration, manifest: Manifest) -> Launch:
    """Return command line and environment of an agent for that spec.

    Raises:
        BadRequest: the workspace holds HOME, so that its files would be the user's configuration; or a word of the
            command line needs what the session has not.
        Unsupported: the agent does not declare how it is put under the policy, or told the project's memory.
    """
    home = spec.home if spec.home is not None else Path(spec.environment.get("HOME") or Path.home())
    if home.resolve().is_relative_to(spec.cwd):
        raise BadRequest(
            "the workspace holds the harness's HOME: what lies in it would be the user's own configuration",
            where=f"HOME={home}, workspace {spec.cwd}",
            advice="choose a directory below it as the workspace, or another home",
        )
    environment = dict(spec.environment)
    if spec.home is not None:
        temporary = spec.home / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        environment |= {"HOME": str(spec.home), "TMPDIR": str(temporary)}
    values = _values(spec, home)
    filled = {name: _filled(text, values) for name, text in declaration.environment.items()}
    environment |= {name: text for name, text in filled.items() if text is not None}
    words = (
        *declaration.arguments,
        *policy_declaration(spec, declaration, manifest).arguments,
        *_memory(spec, declaration, manifest),
    )
    return Launch(argv=(*spec.binary.command, *_words(words, values)), environment=environment, cwd=spec.cwd)


def policy_declaration(
    spec: SessionSpec, declaration: AcpDeclaration, manifest: Manifest
) -> PolicyDeclaration:
    """Return how the agent is put under the policy of the spec.

    Raises:
        Unsupported: it does not declare that.
    """
    declared = declaration.policies.get(spec.policy)
    if declared is None:
        raise Unsupported(f"{manifest.title} cannot be put under the policy {spec.policy.value!r}")
    return declared


def _memory(spec: SessionSpec, declaration: AcpDeclaration, manifest: Manifest) -> tuple[str, ...]:
    if spec.memory is None:
        return ()
    if not declaration.memory_arguments:
        raise Unsupported(f"{manifest.title} cannot be told the project's memory", where="memory_arguments")
    return declaration.memory_arguments


def _values(spec: SessionSpec, home: Path) -> dict[str, str]:
    """What the place holders of this session stand for."""
    values: dict[str, object] = {"home": home, "cwd": spec.cwd}
    if spec.memory is not None:
        values["memory_file"] = spec.memory.copy
    if (endpoint := spec.endpoint) is not None:
        values |= {
            "base_url": endpoint.base_url,
            "api_key": endpoint.api_key,
            "model": endpoint.model,
            "dialect": endpoint.dialect,
            "retries": endpoint.retries,
            "silence_seconds": endpoint.silence_seconds,
        }
    return {name: str(value) for name, value in values.items() if value is not None}


def _words(words: Iterable[str], values: Mapping[str, str]) -> Iterable[str]:
    for word in words:
        filled = _filled(word, values)
        if filled is None:
            raise BadRequest(
                "a word of the agent's command line needs what the session has not",
                where=word,
                advice="correct acp.toml; what may be missing belongs into its environment",
            )
        yield filled


def _filled(text: str, values: Mapping[str, str]) -> str | None:
    try:
        return text.format_map(values)
    except (KeyError, ValueError, IndexError):
        return None
