"""Reading files that somebody else may have prepared: bounded, without waiting, and only what is a regular file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

#: How much of one file is read, in bytes; the harnesses' settings have a few thousand.
FILE_BYTES = 1_048_576

#: How many entries of a tree are looked at.
ENTRIES = 50_000

_NOT_ENTERED = frozenset({".git", "node_modules", ".venv", "__pycache__"})


class Unreadable(Exception):
    """Raised when a file cannot be read as it has to be; the text says why."""


def read_text(path: Path) -> str:
    """The text of a regular file.

    Raises:
        Unreadable: it is none, it is too long, or it is no UTF-8 text.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        raise Unreadable(f"it cannot be opened: {fault.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("it is no regular file")
        parts: list[bytes] = []
        left = FILE_BYTES + 1
        while left and (part := os.read(descriptor, left)):
            parts.append(part)
            left -= len(part)
    except OSError as fault:
        raise Unreadable(f"it cannot be read: {fault.strerror}") from None
    finally:
        os.close(descriptor)
    if not left:
        raise Unreadable(f"it is longer than {FILE_BYTES:,} bytes")
    try:
        return b"".join(parts).decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise Unreadable(f"it is no UTF-8 text: {fault.reason} at byte {fault.start}") from None


def real_place(path: Path) -> Path | None:
    """Where a path really leads; None when that is the path itself, or nowhere."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return None
    return None if real == path else real


def directories_below(root: Path) -> Iterator[Path]:
    """The directory and all below it, links not followed, up to `ENTRIES` entries."""
    seen = 0
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in _NOT_ENTERED)
        yield Path(folder)
        seen += len(names) + len(files)
        if seen > ENTRIES:
            return


def directories_above(root: Path) -> Iterator[Path]:
    """The directory and all above it."""
    yield root
    yield from root.parents


def directories_of_repository(root: Path) -> Iterator[Path]:
    """The directory and those above it, up to the one that holds `.git`; the directory alone outside a repository."""
    above = list(directories_above(root))
    for number, folder in enumerate(above):
        if os.path.lexists(folder / ".git"):
            yield from above[: number + 1]
            return
    yield root
