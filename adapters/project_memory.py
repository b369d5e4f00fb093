"""Project memory: the file in a workspace that is written for agents, read here and only when it is asked for.

The harnesses would read it by themselves, with whatever it imports and wherever a link leads. They are launched so that
they do not; where the person wants it, it is read once, as the bytes of one regular file of the tree, and passed on as
text. What it says is still what the author of the workspace says to the model: it can persuade, and nothing else.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from checkrein.adapters.errors import BadRequest

#: How long a memory may be, in bytes. Codex 0.171.0 itself reads 32 KiB of such a file.
MEMORY_BYTES = 65_536

#: A folder of the tree whose files are not the project's words: a remote's address in it may hold a password.
_NOT_THE_PROJECTS = ".git"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectMemory:
    """What was read.

    Args:
        name: of the file, relative to the workspace, as it was looked for.
        text: what it holds.
        copy: a file outside the workspace with the same text, readable for this user only, while the session is open.
    """

    name: str
    text: str
    copy: Path


@asynccontextmanager
async def project_memory(workspace: Path, names: Sequence[str]) -> AsyncGenerator[ProjectMemory | None]:
    """Read the memory of a workspace; None where there is none.

    Args:
        workspace: absolute and resolved.
        names: relative paths that a memory may have; the first that exists counts.

    Raises:
        BadRequest: it leads out of the workspace, is no regular file, is too long, or is no UTF-8 text.
    """
    name = _first(workspace, names)
    if name is None:
        yield None
        return
    text = _read(workspace, name)
    with tempfile.TemporaryDirectory(prefix="checkrein-memory-") as folder:
        yield _copied(name, text, Path(folder, "memory.md"))


def _first(workspace: Path, names: Sequence[str]) -> str | None:
    return next((each for each in names if os.path.lexists(workspace / each)), None)


def _copied(name: str, text: str, copy: Path) -> ProjectMemory:
    copy.write_text(text, encoding="utf-8")
    return ProjectMemory(name=name, text=text, copy=copy)


def _read(workspace: Path, name: str) -> str:
    try:
        place = (workspace / name).resolve(strict=True)
    except (OSError, RuntimeError) as fault:
        raise _refused(name, f"it leads to nothing that can be read: {fault}") from None
    if not place.is_relative_to(workspace):
        raise _refused(name, f"it leads out of the workspace, to {place}")
    parts = place.relative_to(workspace).parts
    if _NOT_THE_PROJECTS in parts:
        raise _refused(name, f"it leads into {_NOT_THE_PROJECTS}, to {place}")
    try:
        descriptor = _open_below(workspace, parts)
    except OSError as fault:
        raise _refused(name, f"it cannot be read: {fault.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _refused(name, "it is no regular file")
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(MEMORY_BYTES + 1)
    if len(data) > MEMORY_BYTES:
        raise _refused(name, f"it is longer than {MEMORY_BYTES:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as fault:
        raise _refused(name, f"it is no UTF-8 text: byte {fault.start} is {data[fault.start]:#04x}") from None


def _open_below(workspace: Path, parts: Sequence[str]) -> int:
    """Open a file step by step and follow no link: the place was resolved before, and may have been changed since."""
    folder = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = below
        # Not blocking: a pipe would wait for its writer.
        return os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)


def _refused(name: str, why: str) -> BadRequest:
    return BadRequest(
        f"the project's memory cannot be used: {why}",
        where=name,
        advice="correct the file, or leave the project's memory out",
    )
