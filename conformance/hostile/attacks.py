"""Attacks as data: the files that are laid down, the calls that provoke them, and where their effect shows."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from checkrein.conformance.yaml_reading import BadDataFile, read_yaml

ATTACK_FILE = "attack.yaml"

#: The layout of attacks that need no workspace of a shape of their own.
PLAIN = "plain"


class Threat(StrEnum):
    """What it takes to bring the files in."""

    #: A plain `git clone` carries them: they are committed.
    CLONE = "T1"
    #: A prepared directory: untracked files, `.git/config`, a `.git` file. An archive, a shared volume, or an earlier
    #: turn of an agent can leave one.
    PREPARED = "T2"


class Shows(StrEnum):
    """Where the effect of an attack is seen. Each attack has its own marker, token and bait."""

    #: A file `{marker}`, or one whose name begins so, is there.
    MARKER = "marker"
    #: `{token}` is in a model request, in its body or its headers.
    TOKEN = "token"
    #: A turn has begun that the host did not open.
    TURN = "turn"
    #: Something has connected to `{bait}`.
    BAIT = "bait"


class Answer(StrEnum):
    """What the person says to the calls of an attack."""

    ALLOW = "allow"
    DENY = "deny"


class LaidFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file that the attacker lays down.

    Args:
        path: relative to the workspace, or beginning with a place (`{parent}`, `{outside}`, `{home}`).
        text: its content. Of several attacks in one workspace the texts of one path are put one below the other.
        data: its content as JSON, instead. Of several attacks the objects of one path are merged.
        link: where a symbolic link points to, instead.
        executable: whether it can be run.
        untracked: it is laid after the commit, so that git does not know it.
    """

    path: str
    text: str | None = None
    data: dict[str, object] | None = None
    link: str | None = None
    executable: bool = False
    untracked: bool = False


class ToolCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A call in the harness's own terms."""

    name: str
    input: dict[str, object] | str


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the model does to provoke the attack: one of the first four.

    Args:
        answer: what the person says to this call, when not what they say to the others.
    """

    shell: str | None = None
    read_file: str | None = None
    write_file: str | None = None
    tool: ToolCall | None = None
    answer: Answer | None = None


class AttackFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`attack.yaml`. The fields are those of `Attack`."""

    title: str
    clause: str
    threat: Threat
    open: str
    seen: str
    shows: Shows
    files: tuple[LaidFile, ...] = ()
    git: tuple[tuple[str, ...], ...] = ()
    calls: tuple[Call, ...] = ()
    answer: Answer = Answer.DENY
    delayed: bool = False
    unbidden: bool = False
    layout: str = PLAIN
    cwd: str = "{workspace}"
    marker: str | None = None
    recipe: str = "usual"
    alone: bool = False
    reviewer: str | None = None


class Attack(msgspec.Struct, frozen=True, kw_only=True):
    """One attack on one harness.

    Args:
        harness: that it is made for.
        id: name of its folder.
        folder: where it is described.
        title: what the workspace holds.
        clause: of the contract, that it tries to break.
        threat: what it takes to bring the files in.
        open: what happens with the open launch recipe, as observed.
        seen: the version that this was observed on.
        shows: where the effect is seen.
        files: that are laid down, in this order.
        git: calls of git in the workspace, after the files.
        calls: of the model, one request each.
        answer: what the person says to them.
        delayed: the attack wins only against a person who takes a while to answer.
        unbidden: the effect is a turn that nobody asked for: some time must pass after the turn.
        layout: attacks of another layout need a workspace of another shape.
        cwd: where the session works.
        marker: another path for the marker than one outside everything.
        recipe: the open launch recipe that lets it through, by its name in `KitFacts.open_recipes`.
        reviewer: what the model's endpoint says when it is asked to answer in the person's place.
        alone: with the open recipe, it hides what others do, or others hide it: then it gets a session of its own.
    """

    harness: str
    id: str
    folder: Path
    title: str
    clause: str
    threat: Threat
    open: str
    seen: str
    shows: Shows
    files: tuple[LaidFile, ...]
    git: tuple[tuple[str, ...], ...]
    calls: tuple[Call, ...]
    answer: Answer
    delayed: bool
    unbidden: bool
    layout: str
    cwd: str
    marker: str | None
    recipe: str
    alone: bool
    reviewer: str | None

    def __str__(self) -> str:
        return f"{self.harness}/{self.id}"


def hostile_folder() -> Path:
    """Where the attacks are: a folder per harness."""
    return Path(str(files("checkrein.fixtures"))) / "hostile"


@cache
def attacks_on(harness: str, clause: str | None = None) -> tuple[Attack, ...]:
    """The attacks on a harness, in the order of their ids; on one clause, or on all.

    Raises:
        BadDataFile: a file does not describe an attack; names the file and the place.
    """
    folder = hostile_folder() / harness
    found = (load_attack(path) for path in sorted(folder.glob(f"*/{ATTACK_FILE}")))
    return tuple(attack for attack in found if clause is None or attack.clause == clause)


def load_attack(path: Path) -> Attack:
    """The attack that a file describes.

    Raises:
        BadDataFile: the file does not describe one; names the place.
    """
    data = read_yaml(path, AttackFile)
    if fault := next(_faults(data), ""):
        raise BadDataFile(fault, where=str(path), advice="correct that field")
    fields = msgspec.structs.asdict(data)
    return Attack(harness=path.parent.parent.name, id=path.parent.name, folder=path.parent, **fields)


def _faults(data: AttackFile) -> Iterator[str]:
    for file in data.files:
        if sum(part is not None for part in (file.text, file.data, file.link)) != 1:
            yield f"the file {file.path} needs a text, data or a link, and only one of these"
        if file.untracked and data.threat is Threat.CLONE:
            yield f"the file {file.path} is untracked, which a clone cannot bring"
    for call in data.calls:
        if sum(part is not None for part in (call.shell, call.read_file, call.write_file, call.tool)) != 1:
            yield "a call is a shell line, a file to read, a file to write, or a tool, and only one of these"
    if data.delayed and not data.calls:
        yield "an answer cannot be delayed where nothing is called"
