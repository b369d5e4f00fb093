"""Laying attacks down: the workspace as a clone would bring it, then what only a prepared directory can hold."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import msgspec

from checkrein.conformance.hostile.attacks import Attack, Call, LaidFile
from checkrein.conformance.hostile.bait import Bait, Caught
from checkrein.conformance.judgements import KitMistake, PrerequisiteUnmet
from checkrein.conformance.plain_git import run_git


class HostileWorkspace:
    """One workspace with attacks in it, all of one layout.

    Args:
        attacks: what is laid.
        place: an empty folder for the workspace and what lies around it.
        home: HOME of the harness.
    """

    def __init__(self, attacks: Sequence[Attack], *, place: Path, home: Path) -> None:
        if len({(attack.layout, attack.cwd) for attack in attacks}) != 1:
            raise KitMistake("attacks of several layouts cannot lie in one workspace")
        self.attacks = tuple(attacks)
        self._place = place
        self._home = home
        self._baits = {attack.id: Bait() for attack in attacks}
        self.workspace = place / "parent" / "workspace"
        self._lay()

    @property
    def cwd(self) -> Path:
        """Where the session works."""
        attack = self.attacks[0]
        return Path(self.filled(attack, attack.cwd))

    def close(self) -> None:
        """Take the baits away; what they caught stays."""
        for bait in self._baits.values():
            bait.close()

    def marker(self, attack: Attack) -> Path:
        """The path that the effect of an attack makes, or where the names of several such paths begin."""
        if attack.marker is not None:
            return Path(self._placed(attack, attack.marker))
        return self._place / "markers" / attack.id

    def token(self, attack: Attack) -> str:
        """A word that is nowhere else."""
        return f"token-of-{attack.id}-7c1f"

    def marks(self, attack: Attack) -> tuple[str, ...]:
        """The names of the markers that are there."""
        marker = self.marker(attack)
        return tuple(sorted(path.name for path in marker.parent.glob(f"{marker.name}*")))

    def caught(self, attack: Attack) -> tuple[Caught, ...]:
        """Who came to the attack's bait."""
        return self._baits[attack.id].caught

    def filled(self, attack: Attack, text: str) -> str:
        """A text of the attack with its own marker, token, bait and the places in it."""
        return self._placed(attack, text.replace("{marker}", str(self.marker(attack))))

    def call_of(self, attack: Attack, call: Call) -> Call:
        """The call with everything filled in."""
        filled = _mapped(msgspec.to_builtins(call), partial(self.filled, attack))
        return msgspec.convert(filled, Call)

    def _placed(self, attack: Attack, text: str) -> str:
        bait = self._baits[attack.id]
        for name, value in {
            "token": self.token(attack),
            "bait": bait.url,
            "bait_port": str(bait.port),
            "workspace": str(self.workspace),
            "parent": str(self.workspace.parent),
            "outside": str(self._place / "outside"),
            "home": str(self._home),
        }.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def _lay(self) -> None:
        for folder in (self.workspace, self._place / "outside", self._place / "markers"):
            folder.mkdir(parents=True)
        self._git("init", "-q", "-b", "main")
        (self.workspace / "README.md").write_text("A workspace that an attacker has prepared.\n")
        laid = [(attack, file) for attack in self.attacks for file in attack.files]
        self._write([(attack, file) for attack, file in laid if not file.untracked])
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "The state before the scenario")
        self._write([(attack, file) for attack, file in laid if file.untracked])
        for attack in self.attacks:
            for words in attack.git:
                self._git(*(self.filled(attack, word) for word in words))

    def _write(self, laid: Iterable[tuple[Attack, LaidFile]]) -> None:
        contents: dict[Path, str | dict[str, object]] = {}
        for attack, file in laid:
            path = self.workspace / self.filled(attack, file.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            if file.link is not None:
                if not path.is_symlink():
                    path.symlink_to(self.filled(attack, file.link))
                continue
            before = contents.get(path)
            if file.data is not None:
                data = _mapped(file.data, partial(self.filled, attack))
                contents[path] = _merged(before if isinstance(before, dict) else {}, data, path)
            else:
                text = self.filled(attack, file.text or "")
                contents[path] = text if before in (None, text) else f"{before}{text}"
            content = contents[path]
            path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
            if file.executable:
                path.chmod(0o755)

    def _git(self, *words: str) -> None:
        try:
            run_git(*words, workspace=self.workspace, home=self._place, author="Attacker")
        except FileNotFoundError:
            raise PrerequisiteUnmet("git is not installed, and a hostile workspace is a repository") from None
        except subprocess.CalledProcessError as fault:
            raise KitMistake(f"git {' '.join(words)}: {fault.stderr.decode(errors='replace')}") from fault


def _mapped(value: object, fill: Callable[[str], str]) -> object:
    """The value with each text in it filled, the names in objects too."""
    match value:
        case str():
            return fill(value)
        case dict():
            entries = cast("dict[str, object]", value).items()
            return {fill(name): _mapped(entry, fill) for name, entry in entries}
        case list():
            return [_mapped(entry, fill) for entry in cast("list[object]", value)]
        case _:
            return value


def _merged(one: object, other: object, path: Path) -> dict[str, object]:
    """Two objects as one; lists are put one behind the other.

    Raises:
        KitMistake: the two say different things in one place.
    """
    merged = dict(cast("dict[str, object]", one))
    for name, value in cast("dict[str, object]", other).items():
        before = merged.get(name, value)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[name] = _merged(cast("object", before), cast("object", value), path)
        elif isinstance(before, list) and isinstance(value, list) and before is not value:
            merged[name] = [*cast("list[object]", before), *cast("list[object]", value)]
        elif before == value:
            merged[name] = value
        else:
            raise KitMistake(f"two attacks in one workspace want different things of {name!r} in {path}")
    return merged
