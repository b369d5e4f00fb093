"""The rules of one harness: which files and keys of a tree it obeys with an ordinary launch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from enum import StrEnum
from importlib.resources import files
from pathlib import Path

import msgspec

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.workspace.finding import Severity, WorkspaceFinding
from checkrein.adapters.workspace.git_repository import git_facts
from checkrein.adapters.workspace.settings_files import KeyPath, line_of, matches, parse_settings
from checkrein.adapters.workspace.tree_reading import (
    Unreadable,
    directories_above,
    directories_below,
    directories_of_repository,
    read_text,
    real_place,
)


class Scope(StrEnum):
    """In which directories a harness looks for a file."""

    WORKSPACE = "workspace"
    #: the workspace and every directory above it
    ABOVE = "above"
    #: the workspace and those above it, up to the root of the repository
    REPOSITORY = "repository"
    #: the workspace and every directory below it
    BELOW = "below"


_DIRECTORIES: dict[Scope, Callable[[Path], Iterator[Path]]] = {
    Scope.WORKSPACE: lambda root: iter((root,)),
    Scope.ABOVE: directories_above,
    Scope.REPOSITORY: directories_of_repository,
    Scope.BELOW: directories_below,
}


class _Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Files, as patterns relative to each directory of the scope; the keys in them that count, or none for any."""

    files: tuple[str, ...]
    effect: str
    severity: Severity
    closed: bool
    scope: Scope = Scope.WORKSPACE
    keys: tuple[str, ...] = ()


class _GitRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the harness makes of a repository whose configuration runs something."""

    effect: str
    closed: bool


class _RulesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rule: tuple[_Rule, ...]
    git: _GitRule | None = None


class WorkspaceRules:
    """The rules of one harness.

    Args:
        harness: its name.
        data: what its file of rules holds.
    """

    def __init__(self, harness: str, data: _RulesFile) -> None:
        self._harness = harness
        self._data = data

    def examine(self, workspace: Path) -> list[WorkspaceFinding]:
        """What of a tree would take effect with an ordinary launch, the worst first; nothing of it is executed.

        Args:
            workspace: absolute and resolved.
        """
        found: list[WorkspaceFinding] = []
        taken: set[tuple[Path, KeyPath]] = set()
        for rule in self._data.rule:
            for file in _files(rule, workspace):
                found += self._in_file(rule, file, taken)
        if self._data.git is not None:
            found += self._in_repository(self._data.git, workspace)
        order = list(Severity)
        return sorted(found, key=lambda one: (order.index(one.severity), str(one.file), one.line or 0))

    def _in_file(
        self, rule: _Rule, file: Path, taken: set[tuple[Path, KeyPath]]
    ) -> Iterator[WorkspaceFinding]:
        places: list[tuple[KeyPath, int | None]] = [((), None)]
        effect = rule.effect
        if rule.keys:
            try:
                text = read_text(file)
                data = parse_settings(text, file.name)
            except Unreadable as fault:
                effect = f"{rule.effect}; {fault}"
            else:
                paths = [path for keys in rule.keys for path, _ in matches(data, keys.split("."))]
                places = [(path, line_of(text, path)) for path in paths]
        for path, line in places:
            if any(one == file and _overlap(other, path) for one, other in taken):
                continue  # a rule before this one has told it, or a part of it
            taken.add((file, path))
            yield WorkspaceFinding(
                harness=self._harness,
                file=file,
                leads_to=real_place(file),
                key=".".join(path),
                line=line,
                effect=effect,
                severity=rule.severity,
                closed=rule.closed,
            )

    def _in_repository(self, rule: _GitRule, workspace: Path) -> Iterator[WorkspaceFinding]:
        for fact in git_facts(workspace):
            yield WorkspaceFinding(
                harness=self._harness,
                file=fact.file,
                leads_to=real_place(fact.file),
                key=fact.key,
                line=fact.line,
                effect=f"{fact.effect}; {rule.effect}",
                severity=fact.severity,
                closed=rule.closed,
            )


def _overlap(one: KeyPath, other: KeyPath) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _files(rule: _Rule, workspace: Path) -> Iterator[Path]:
    for folder in _DIRECTORIES[rule.scope](workspace):
        for pattern in rule.files:
            if "*" in pattern:
                yield from sorted(folder.glob(pattern))
            elif os.path.lexists(folder / pattern):
                yield folder / pattern


def load_workspace_rules(package: str, harness: str) -> WorkspaceRules:
    """Read `workspace_rules.toml` of an adapter package.

    Args:
        package: import name of the package that holds the file.
        harness: name of the harness that the rules are about.

    Raises:
        BadRequest: the file is missing, or does not hold what it should; names file and field.
    """
    source = files(package).joinpath("workspace_rules.toml")
    try:
        data = msgspec.toml.decode(source.read_bytes(), type=_RulesFile)
    except FileNotFoundError:
        raise BadRequest("the adapter has no rules", where=str(source), advice="add the file") from None
    except msgspec.DecodeError as fault:
        raise BadRequest(
            f"the rules cannot be used: {fault}", where=str(source), advice="correct that field"
        ) from fault
    return WorkspaceRules(harness, data)
