"""The adapter of a harness that runs one prompt and ends, described by data."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path

from checkrein.adapters.errors import BadRequest, SessionNotFound, Unsupported
from checkrein.adapters.interface import Connection, HarnessAdapter, Launch, Origin, SessionSpec
from checkrein.adapters.manifest import Manifest, load_manifest
from checkrein.adapters.oneshot import starter
from checkrein.adapters.oneshot.connection import OneShotConnection, UsageSoFar
from checkrein.adapters.oneshot.description import Commands, load_description
from checkrein.adapters.oneshot.templates import fill, fill_words
from checkrein.adapters.policy import Policy
from checkrein.adapters.transport import HarnessProcess

#: What runs the starter; Python would set LC_CTYPE by itself where the environment names no locale.
_STARTER = (sys.executable, "-I", "-S", "-X", "utf8", str(Path(starter.__file__)))
_SET_BY_PYTHON = "LC_CTYPE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a run gets beside its prompt.

    Args:
        environment: the complete environment, but for the description's own variables.
        options: the words that `{options}` stands for.
        configuration: the harness's own directory, for `{configuration}`; None where it cannot be told.
    """

    environment: dict[str, str]
    options: tuple[str, ...] = ()
    configuration: Path | None = None


class OneShotAdapter(HarnessAdapter):
    """A harness of which each turn is a process of its own.

    Args:
        package: import name of the package that holds `oneshot.toml` and `manifest.toml`.

    Raises:
        BadRequest: one of the two cannot be used.
    """

    def __init__(self, package: str) -> None:
        self._manifest = load_manifest(package)
        self._description = load_description(package)
        self._so_far = UsageSoFar()

    @property
    def manifest(self) -> Manifest:
        """See `HarnessAdapter.manifest`."""
        return self._manifest

    def surroundings(self, spec: SessionSpec) -> Surroundings:
        """The environment of a run, and options that need more than a template; to be overridden for these.

        Raises:
            BadRequest: the spec cannot be launched safely.
        """
        environment = dict(spec.environment)
        if spec.home is not None:
            temporary = spec.home / "tmp"
            temporary.mkdir(parents=True, exist_ok=True)
            environment |= {"HOME": str(spec.home), "TMPDIR": str(temporary)}
        return Surroundings(environment=environment)

    def launch(self, spec: SessionSpec) -> Launch:
        """See `HarnessAdapter.launch`: of the starter, which becomes the harness's program with the prompt.

        Raises:
            Unsupported: the policy is not `auto`; nobody would be asked.
            SessionNotFound: there is no conversation of that id.
        """
        if spec.policy is not Policy.AUTO:
            raise Unsupported(
                f"{self._manifest.title} asks nobody, so it can only run with the policy auto",
                where=f"policy {spec.policy.value}",
            )
        surroundings = self.surroundings(spec)
        if spec.origin is not Origin.NEW:
            self._words(spec)  # there must be a way to resume it
            self._conversation_file(spec, surroundings)
        values = self._values(spec, surroundings)
        environment = surroundings.environment | {
            name: text
            for name, template in self._description.environment.items()
            if (text := fill(template, values)) is not None
        }
        removed = () if _SET_BY_PYTHON in environment else (_SET_BY_PYTHON,)
        return Launch(argv=(*_STARTER, *removed), environment=environment, cwd=spec.cwd)

    def command_line(self, spec: SessionSpec, prompt: str) -> tuple[str, ...]:
        """The whole command line that runs a prompt.

        Raises:
            SessionNotFound: there is no conversation of that id.
            BadRequest: a word of it needs a value that the session does not have.
        """
        surroundings = self.surroundings(spec)
        values = self._values(spec, surroundings) | {"prompt": prompt}
        if spec.origin is not Origin.NEW:
            values["conversation"] = self._conversation_file(spec, surroundings)
        try:
            words = fill_words(self._words(spec), values, surroundings.options)
        except KeyError as missing:
            raise BadRequest(
                f"the command line has no value for {missing.args[0]}",
                where=self._manifest.name,
                advice="give the session one, or make that word optional in oneshot.toml",
            ) from None
        return (*spec.binary.command, *words)

    def bare_run(self, spec: SessionSpec, prompt: str) -> Launch:
        """The run of a prompt without the starter and without anybody who follows it."""
        return replace(self.launch(spec), argv=self.command_line(spec, prompt))

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        """See `HarnessAdapter.connect`."""
        return OneShotConnection(
            spec,
            process,
            description=self._description,
            command_line=lambda prompt: self.command_line(spec, prompt),
            continued=spec.origin is not Origin.NEW,
            so_far=self._so_far,
        )

    def _words(self, spec: SessionSpec) -> Sequence[str | tuple[str, ...]]:
        commands: Commands = self._description.commands
        if spec.origin is Origin.NEW:
            return commands.prompt
        if spec.origin is Origin.FORK or commands.resume is None:
            raise Unsupported(f"{self._manifest.title} cannot {spec.origin.value} a conversation")
        return commands.resume

    def _values(self, spec: SessionSpec, surroundings: Surroundings) -> dict[str, str | None]:
        endpoint = spec.endpoint
        configuration = surroundings.configuration
        return {
            "session_id": spec.session_id,
            "conversation": None,
            "configuration": None if configuration is None else str(configuration),
            "home": surroundings.environment.get("HOME"),
            "cwd": str(spec.cwd),
            "model": None if endpoint is None else endpoint.model,
            "base_url": None if endpoint is None else endpoint.base_url,
            "api_key": None if endpoint is None else endpoint.api_key,
        }

    def _conversation_file(self, spec: SessionSpec, surroundings: Surroundings) -> str | None:
        """The file that keeps the conversation; None where the description does not say where that is.

        Raises:
            SessionNotFound: the harness has kept nothing that it could go on with.
        """
        kept = self._description.conversation
        if kept is None:
            return None
        values = {
            name: None if value is None else _escaped(value)
            for name, value in self._values(spec, surroundings).items()
        }
        pattern = fill(kept.file, values) or ""
        for path in sorted(glob(pattern, recursive=True)):  # noqa: PTH207  # the pattern is absolute
            if kept.holds is None or re.search(kept.holds.encode(), Path(path).read_bytes()):
                return path
        raise SessionNotFound(
            f"{self._manifest.title} has no conversation {spec.session_id} that can be resumed",
            where=pattern,
            advice="check the id, the workspace and the home",
        )


def _escaped(text: str) -> str:
    """The text as a part of a shell pattern that fits only itself."""
    return re.sub(r"([*?[])", r"[\1]", text)
