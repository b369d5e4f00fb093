"""Which file an argv starts, and what to say when it cannot be started."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from checkrein.adapters.transport.errors import (
    ExecutableNotFound,
    NotExecutable,
    ProcessStartError,
    WorkingDirectoryMissing,
)


def find_executable(name: str, *, cwd: str, environment: Mapping[str, str]) -> str:
    """Return the absolute path of the program, found as the new process itself would find it.

    Args:
        name: a path, relative to `cwd`, or a bare name that is looked up.
        cwd: the working directory of the new process.
        environment: the environment of the new process; its PATH counts, not ours.

    Raises:
        ExecutableNotFound: there is none.
        NotExecutable: it is a directory, or lacks the permission to be run.
    """
    if os.sep in name:
        path = Path(cwd, name)
        if not path.exists():
            raise ExecutableNotFound(
                "the program to start does not exist", where=str(path), advice="check the path, or install it"
            )
        if path.is_dir() or not os.access(path, os.X_OK):
            raise NotExecutable(
                "the program to start is not an executable file",
                where=str(path),
                advice="check the path and its permissions",
            )
        return str(path)
    search_path = environment.get("PATH", os.defpath)
    found = shutil.which(name, path=search_path)
    if found is None:
        raise ExecutableNotFound(
            "the program to start is not on the PATH",
            where=f"{name}, PATH={search_path}",
            advice="install it, or give its full path",
        )
    return str(Path(cwd, found))


def check_texts(argv: Sequence[str], environment: Mapping[str, str]) -> None:
    """Raise `ProcessStartError` when an argument or a variable holds what no process can be given."""
    if any("\0" in text for text in (*argv, *environment, *environment.values())):
        raise ProcessStartError(
            "an argument or a variable holds a NUL character", advice="pass such texts over standard input"
        )


def working_directory(cwd: str | os.PathLike[str]) -> str:
    """Return the absolute path of `cwd`, links unresolved.

    Raises:
        WorkingDirectoryMissing: no process could start there.
    """
    path = Path(cwd).absolute()
    if not path.is_dir():
        raise WorkingDirectoryMissing(
            "the working directory is a file" if path.exists() else "the working directory does not exist",
            where=str(path),
            advice="create it, or choose another",
        )
    if not os.access(path, os.X_OK):
        raise WorkingDirectoryMissing(
            "the working directory may not be entered", where=str(path), advice="check its permissions"
        )
    return str(path)


def start_error(*, stage: str, number: int, executable: str, cwd: str) -> ProcessStartError:
    """Put the system's refusal into words.

    Args:
        stage: `chdir` or `exec`.
        number: the errno.
    """
    words = os.strerror(number)
    if stage == "chdir":
        return WorkingDirectoryMissing(
            f"the working directory cannot be entered: {words}",
            where=cwd,
            advice="check it and its permissions",
        )
    match number:
        case errno.ENOENT if Path(executable).exists():
            return NotExecutable(
                "the program is there, but its interpreter or loader is not",
                where=executable,
                advice="check its first line (#!), or install the build for this system (musl or glibc)",
            )
        case errno.ENOENT:
            return ExecutableNotFound(
                "the program to start does not exist",
                where=executable,
                advice="check the path, or install it",
            )
        case errno.ENOEXEC:
            return NotExecutable(
                "the program is in a format that this system does not run",
                where=executable,
                advice="a script needs a first line with #!; a binary must be built for this system",
            )
        case errno.EACCES | errno.EPERM:
            return NotExecutable(
                f"the system refuses to run the program: {words}",
                where=executable,
                advice="check its permissions, and whether its file system is mounted noexec",
            )
        case errno.E2BIG:
            return ProcessStartError(
                "the arguments and the environment are too long for this system",
                where=executable,
                advice="pass long texts by file or over standard input",
            )
        case _:
            return ProcessStartError(f"the program could not be started: {words}", where=executable)
