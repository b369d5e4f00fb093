"""The tools: a shell, and files to read, write and edit. What they were given is checked before anybody is asked."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import msgspec

from checkrein.conformance.reference.cancellation import Cancellation
from checkrein.conformance.reference.model import Call

#: How long a command may run when the model does not say, in seconds.
COMMAND_SECONDS = 600.0

#: How much of an output, and of a file, the model is shown, in characters: both ends of it.
SHOWN_CHARACTERS = 64_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a call.

    Args:
        text: what the model is told.
        failed: it did not do what it was to do.
        shown: what a person is shown, when that is less than `text`.
        exit_status: of a command.
    """

    text: str
    failed: bool = False
    shown: str | None = None
    exit_status: int | None = None


class BadCall(Exception):
    """Raised when the model calls a tool that is not there, or with arguments that it does not take."""


class Tool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call of one tool; its fields are the arguments."""

    name: ClassVar[str]
    does: ClassVar[str]
    #: the word of ACP
    kind: ClassVar[str]

    @property
    def title(self) -> str:
        """One line for a person."""
        raise NotImplementedError

    @property
    def place(self) -> str | None:
        """The file that it is about."""
        return None

    def asks(self, cwd: Path) -> bool:
        """Whether a person has to allow it."""
        return True

    def content(self) -> list[object]:
        """What it would change, as content of ACP."""
        return []

    def real_place(self, cwd: Path) -> str | None:
        """Where that file really is, links resolved."""
        return None if self.place is None else os.path.realpath(cwd / self.place)

    def run(self, cwd: Path, cancellation: Cancellation) -> Result:
        """Do it.

        Raises:
            Cancelled: the turn was cancelled; nothing of the call runs on.
        """
        raise NotImplementedError


class Shell(Tool, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Runs a shell line in a process group of its own, which ends with a cancelled turn."""

    name: ClassVar[str] = "shell"
    does: ClassVar[str] = "Run a shell command in the workspace and wait for its end."
    kind: ClassVar[str] = "execute"
    command: str
    timeout_seconds: float = COMMAND_SECONDS

    @property
    def title(self) -> str:
        """See `Tool.title`."""
        return self.command

    def run(self, cwd: Path, cancellation: Cancellation) -> Result:
        """See `Tool.run`. The output goes to a file: a process left in the background may keep it open."""
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                ["/bin/sh", "-c", self.command],
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

            def kill() -> None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

            status = None
            try:
                with cancellation.stopping(kill), suppress(subprocess.TimeoutExpired):
                    status = process.wait(self.timeout_seconds)
            finally:
                if process.poll() is None:
                    kill()
                    process.wait()
            output.seek(0)
            shown = _ends(output.read().decode("utf-8", "replace"))
        if status is None:
            told = f"{shown}\n[timed out after {self.timeout_seconds:g} s, and was killed]"
            return Result(text=told, failed=True, shown=shown)
        told = shown if status == 0 else f"{shown}\n[exit status {status}]"
        return Result(text=told, failed=status != 0, shown=shown, exit_status=status)


class _OfFile(Tool, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str

    @property
    def title(self) -> str:
        """See `Tool.title`."""
        return f"{self.name} {self.path}"

    @property
    def place(self) -> str:
        """See `Tool.place`."""
        return self.path

    def run(self, cwd: Path, cancellation: Cancellation) -> Result:
        """See `Tool.run`."""
        try:
            return self._done(cwd / self.path)
        except (OSError, UnicodeError) as fault:
            return Result(text=f"{self.name} failed: {fault}", failed=True)

    def _done(self, path: Path) -> Result:
        raise NotImplementedError


class ReadFile(_OfFile, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shows a file to the model; within the workspace without a question."""

    name: ClassVar[str] = "read_file"
    does: ClassVar[str] = "Show a file."
    kind: ClassVar[str] = "read"

    def asks(self, cwd: Path) -> bool:
        """See `Tool.asks`."""
        return not Path(os.path.realpath(cwd / self.path)).is_relative_to(os.path.realpath(cwd))

    def _done(self, path: Path) -> Result:
        return Result(text=_ends(path.read_text(encoding="utf-8")))


class WriteFile(_OfFile, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Makes a file hold a text."""

    name: ClassVar[str] = "write_file"
    does: ClassVar[str] = "Make a file hold this text, whether it exists or not."
    kind: ClassVar[str] = "edit"
    text: str

    def content(self) -> list[object]:
        """See `Tool.content`."""
        return [{"type": "diff", "path": self.path, "oldText": None, "newText": self.text}]

    def _done(self, path: Path) -> Result:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text, encoding="utf-8")
        return Result(text=f"{self.path} holds the text.")


class EditFile(_OfFile, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Replaces a text in a file."""

    name: ClassVar[str] = "edit_file"
    does: ClassVar[str] = "Replace a text, which must be in the file exactly once."
    kind: ClassVar[str] = "edit"
    old: str
    new: str

    def content(self) -> list[object]:
        """See `Tool.content`."""
        return [{"type": "diff", "path": self.path, "oldText": self.old, "newText": self.new}]

    def _done(self, path: Path) -> Result:
        text = path.read_text(encoding="utf-8")
        if (times := text.count(self.old)) != 1:
            return Result(text=f"The old text is {times} time(s) in {self.path}.", failed=True)
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")
        return Result(text=f"{self.path} was changed.")


TOOLS: Mapping[str, type[Tool]] = {tool.name: tool for tool in (Shell, ReadFile, WriteFile, EditFile)}


def offered() -> list[object]:
    """The tools as the model is told of them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.does,
                "parameters": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        field.name: {"type": "number" if field.type is float else "string"}
                        for field in msgspec.structs.fields(tool)
                    },
                    "required": [field.name for field in msgspec.structs.fields(tool) if field.required],
                },
            },
        }
        for tool in TOOLS.values()
    ]


def tool_of(call: Call) -> Tool:
    """The call as a tool's.

    Raises:
        BadCall: there is no such tool, or it does not take these arguments.
    """
    kind = TOOLS.get(call.name)
    if kind is None:
        raise BadCall(f"There is no tool {call.name!r}; the tools are {', '.join(TOOLS)}.")
    try:
        return msgspec.json.decode(call.arguments or "{}", type=kind)
    except msgspec.DecodeError as fault:
        raise BadCall(f"These arguments of {call.name} are not valid: {fault}.") from None


def _ends(text: str) -> str:
    """Both ends of a long text."""
    cut = len(text) - SHOWN_CHARACTERS
    half = SHOWN_CHARACTERS // 2
    return text if cut <= 0 else f"{text[:half]}\n[…{cut} characters not shown…]\n{text[-half:]}"
