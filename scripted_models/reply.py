"""The verbs of a reply: what a scripted model says and does, and how its answer goes wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from checkrein.scripted_models.errors import ScriptError
from checkrein.scripted_models.gates import Gate
from checkrein.scripted_models.held_tools import HeldTool


class CutKind(StrEnum):
    """How an answer is cut off."""

    #: The HTTP body ends in good order, but the stream lacks its end.
    CLEAN = "clean"
    #: The connection is reset (TCP RST).
    RESET = "reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts that the answer reports. `cached` is part of `input`, `reasoning` part of `output`."""

    input: int = 100
    output: int = 20
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Think:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A call in the harness's own terms."""

    id: str | None
    name: str
    input: Mapping[str, object] | str
    hold_in_arguments: Gate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    id: str | None
    command: str
    hold_in_arguments: Gate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFile:
    id: str | None
    path: str
    text: str
    hold_in_arguments: Gate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditFile:
    id: str | None
    path: str
    old: str
    new: str
    hold_in_arguments: Gate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    id: str | None
    path: str
    hold_in_arguments: Gate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    gate: Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    status: int
    message: str
    times: int = 1
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    until: Gate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    how: CutKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    data: bytes
    content_type: str = "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    pass


Call = Tool | Shell | WriteFile | EditFile | ReadFile
Element = Say | Think | Call | Hold | Pause | Fail | Cut | Raw | Silence


def say(text: str) -> Say:
    """Say `text`, word by word. Neighbouring says are one text, also with a hold between them."""
    return Say(text=text)


def think(text: str) -> Think:
    """Think `text` aloud (a thinking block, or a reasoning summary)."""
    return Think(text=text)


def tool(
    name: str,
    input: Mapping[str, object] | str,
    *,
    id: str | None = None,
    hold_in_arguments: Gate | None = None,
) -> Tool:
    """Call the harness's tool `name` with its own `input`; a text makes it a custom (free text) tool.

    `hold_in_arguments` holds the answer when half of the call's input has been sent.
    """
    return Tool(id=id, name=name, input=input, hold_in_arguments=hold_in_arguments)


def shell(
    command: "str | HeldTool", *, id: str | None = None, hold_in_arguments: Gate | None = None
) -> Shell:
    """Run `command` (a shell line, or a held tool) with the harness's shell tool."""
    line = command.command if isinstance(command, HeldTool) else command
    return Shell(id=id, command=line, hold_in_arguments=hold_in_arguments)


def write_file(
    path: str, text: str, *, id: str | None = None, hold_in_arguments: Gate | None = None
) -> WriteFile:
    """Write `text` to the file `path` with the harness's own tool."""
    return WriteFile(id=id, path=path, text=text, hold_in_arguments=hold_in_arguments)


def edit_file(
    path: str, old: str, new: str, *, id: str | None = None, hold_in_arguments: Gate | None = None
) -> EditFile:
    """Replace `old` by `new` in the file `path` with the harness's own tool."""
    return EditFile(id=id, path=path, old=old, new=new, hold_in_arguments=hold_in_arguments)


def read_file(path: str, *, id: str | None = None, hold_in_arguments: Gate | None = None) -> ReadFile:
    """Read the file `path` with the harness's own tool."""
    return ReadFile(id=id, path=path, hold_in_arguments=hold_in_arguments)


def hold(gate: Gate) -> Hold:
    """Send what has been said so far, then hold until `gate` is opened.

    As the first verb it holds back even the headers; `say("")` before it sends the stream's head.
    """
    return Hold(gate=gate)


def pause(seconds: float) -> Pause:
    """Send what has been said so far, then wait for `seconds`."""
    return Pause(seconds=seconds)


def fail(
    status: int,
    *,
    headers: Mapping[str, str] | None = None,
    times: int = 1,
    message: str = "scripted failure",
    until: Gate | None = None,
) -> Fail:
    """Answer `times` requests with HTTP `status` and an error in the dialect's shape.

    With `until`, every request is answered so until that gate is opened, however often the harness tries again.

    After something has been said it is an error event within the stream instead (an `error` event, or
    `response.failed`), because the status is already sent; `status` then chooses the error's type.
    """
    return Fail(status=status, message=message, times=times, headers=dict(headers or {}), until=until)


def cut(how: str = "clean") -> Cut:
    """End the answer here: `clean` (the body ends, the stream lacks its end) or `reset` (connection reset)."""
    try:
        return Cut(how=CutKind(how))
    except ValueError:
        raise ScriptError(f"unknown cut {how!r}; allowed: clean, reset") from None


def raw(data: bytes | str, *, content_type: str = "text/event-stream") -> Raw:
    """Send these bytes as they are. No event of this step is checked.

    A step of nothing but raw verbs sends nothing else; otherwise the stream is also ended as usual.
    """
    return Raw(data=data.encode() if isinstance(data, str) else data, content_type=content_type)


def silence() -> Silence:
    """Take the request and send nothing until the client hangs up."""
    return Silence()
