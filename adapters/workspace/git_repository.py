"""What of a repository's own files runs something as soon as git is called in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from checkrein.adapters.workspace.finding import Severity
from checkrein.adapters.workspace.settings_files import git_settings
from checkrein.adapters.workspace.tree_reading import Unreadable, directories_of_repository, read_text


class GitKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keys of git's configuration that do something.

    Args:
        key: dotted, lower case, with `*` for subsections.
        effect: what it does.
        severity: how bad that is.
        value: only a value with this pattern counts.
    """

    key: str
    effect: str
    severity: Severity
    value: str = ""


class _GitRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    config: tuple[GitKey, ...]
    reading_hooks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GitFact:
    """One thing that git would do, or could not be looked at."""

    file: Path
    key: str
    line: int | None
    effect: str
    severity: Severity


@cache
def _rules() -> _GitRules:
    return msgspec.toml.decode(
        files("checkrein.adapters.workspace").joinpath("git_rules.toml").read_bytes(), type=_GitRules
    )


def git_facts(workspace: Path) -> Iterator[GitFact]:
    """Everything of the workspace's repository that git would run or obey."""
    holder = list(directories_of_repository(workspace))[-1]
    git = holder / ".git"
    if not os.path.lexists(git):
        return
    if not git.is_dir():
        yield GitFact(
            file=git,
            key="",
            line=None,
            effect="the repository's files are elsewhere; a work tree inherits what is trusted there",
            severity=Severity.MEDIUM,
        )
    for folder in _git_directories(git):
        for name in ("config", "config.worktree"):
            if os.path.lexists(folder / name):
                yield from _config_facts(folder / name)
        yield from _hook_facts(folder / "hooks")


def _git_directories(git: Path) -> Iterator[Path]:
    """The directory of the repository, or that of the work tree and the one that it shares."""
    if git.is_dir():
        yield git
        return
    try:
        own = git.parent / read_text(git).removeprefix("gitdir:").strip()
        yield own
        yield own / read_text(own / "commondir").strip()
    except (Unreadable, OSError, ValueError):
        return


def _config_facts(file: Path) -> Iterator[GitFact]:
    try:
        text = read_text(file)
    except Unreadable as fault:
        yield GitFact(
            file=file,
            key="",
            line=None,
            effect=f"it could not be looked at: {fault}",
            severity=Severity.MEDIUM,
        )
        return
    for path, value, line in git_settings(text):
        key = ".".join(path)
        for rule in _rules().config:
            if fnmatchcase(key, rule.key) and re.search(rule.value, value):
                yield GitFact(file=file, key=key, line=line, effect=rule.effect, severity=rule.severity)
                break


def _hook_facts(folder: Path) -> Iterator[GitFact]:
    try:
        hooks = sorted(folder.iterdir())
    except OSError:
        return
    for hook in hooks:
        if hook.suffix != ".sample" and os.access(hook, os.X_OK) and hook.is_file():
            reading = hook.name in _rules().reading_hooks
            when = "already when it only reads" if reading else "when it is asked to write"
            yield GitFact(
                file=hook,
                key="",
                line=None,
                effect=f"git runs it, {when}",
                severity=Severity.HIGH if reading else Severity.MEDIUM,
            )
