"""File trees as values: what was there before, what is there after, and where they differ."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path


class EntryKind(StrEnum):
    """What one entry of a tree is."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a tree. Times are left out: a file that is rewritten with the same content is the same."""

    kind: EntryKind
    mode: int
    size: int = 0
    sha256: str = ""
    target: str = ""

    def __str__(self) -> str:
        words = [self.kind.value, f"mode {self.mode:o}"]
        if self.kind is EntryKind.FILE:
            words.append(f"{self.size} bytes")
        if self.target:
            words.append(f"to {self.target}")
        return ", ".join(words)


class ChangeKind(StrEnum):
    """How two trees differ at one path."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference between two trees."""

    path: Path
    kind: ChangeKind
    before: Entry | None
    after: Entry | None

    def __str__(self) -> str:
        return f"{self.kind.value} {self.path} ({self.after or self.before})"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTree:
    """The state of some folders: every entry below them, by absolute path."""

    roots: tuple[Path, ...]
    entries: Mapping[Path, Entry]


def snapshot(*roots: Path) -> FileTree:
    """Read the state of these folders. Links are not followed; what vanishes meanwhile is left out."""
    entries: dict[Path, Entry] = {}
    for root in roots:
        for folder, folders, names in os.walk(root):
            for name in (*folders, *names):
                path = Path(folder, name)
                if (entry := _read(path)) is not None:
                    entries[path] = entry
    return FileTree(roots=roots, entries=entries)


def files_below(*roots: Path) -> Iterator[Path]:
    """Every regular file below these folders. Links are not followed, and a folder that vanishes meanwhile is left out;
    a file may still have vanished when it is read."""
    for root in roots:
        for folder, _, names in os.walk(root):
            for path in (Path(folder, name) for name in names):
                if path.is_file() and not path.is_symlink():
                    yield path


def difference(before: FileTree, after: FileTree, *, ignore: Iterable[str] = ()) -> tuple[Change, ...]:
    """Where two states differ, in the order of the paths.

    Args:
        ignore: shell patterns of paths relative to one of the roots; `*` also matches `/`. A folder that is only
            there because something ignored lies in it is ignored too.
    """
    patterns = tuple(ignore)
    changes: list[Change] = []
    for path in sorted({*before.entries, *after.entries}):
        old, new = before.entries.get(path), after.entries.get(path)
        if old == new or _ignored(path, before.roots, patterns):
            continue
        entry = new or old
        assert entry is not None
        if entry.kind is EntryKind.FOLDER and (old is None or new is None):
            side = after if old is None else before
            below = [other for other in side.entries if other != path and other.is_relative_to(path)]
            files = [other for other in below if side.entries[other].kind is not EntryKind.FOLDER]
            if files and all(_ignored(other, before.roots, patterns) for other in files):
                continue
        kind = ChangeKind.ADDED if old is None else ChangeKind.REMOVED if new is None else ChangeKind.CHANGED
        changes.append(Change(path=path, kind=kind, before=old, after=new))
    return tuple(changes)


def _ignored(path: Path, roots: Iterable[Path], patterns: Iterable[str]) -> bool:
    names = [path.relative_to(root).as_posix() for root in roots if path.is_relative_to(root)]
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _read(path: Path) -> Entry | None:
    try:
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(status.st_mode):
            return Entry(kind=EntryKind.LINK, mode=mode, target=str(path.readlink()))
        if stat.S_ISDIR(status.st_mode):
            return Entry(kind=EntryKind.FOLDER, mode=mode)
        if not stat.S_ISREG(status.st_mode):
            return Entry(kind=EntryKind.OTHER, mode=mode)
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return Entry(kind=EntryKind.FILE, mode=mode, size=status.st_size, sha256=digest)
    except OSError:
        return None  # gone between the listing and the reading: it belongs to neither state
