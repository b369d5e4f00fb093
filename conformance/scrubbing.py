"""What must not leave a machine with a results file or a report: keys, tokens, home folders, the user's name."""

from __future__ import annotations

import getpass
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias, cast

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

#: What stands where a key, a token or a password was, and where the user's name was.
KEY, USER = "[key]", "[user]"

#: Names of accounts that many machines have, or that are words of the texts themselves: they tell nothing.
# fmt: off
_ORDINARY_NAMES = frozenset({
    "root", "admin", "administrator", "user", "users", "runner", "ubuntu", "debian", "vagrant", "node", "nobody",
    "build", "builder", "agent", "agents", "worker", "test", "tests", "dev", "checkrein", "claude", "codex", "harness",
    "driver", "model", "person", "home", "workspace",
})
# fmt: on
_SHORTEST_NAME = 3

#: Texts that are keys by their looks: model APIs, code forges, clouds, package registries, chat, JSON web tokens.
_KEYS = (
    r"sk-(?:ant-|proj-|or-|checkrein-)?[A-Za-z0-9_-]{12,}",
    r"gh[opsur]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{16,}",
    r"A(?:KIA|SIA)[0-9A-Z]{16}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"(?:npm|hf)_[A-Za-z0-9]{20,}",
    r"pypi-[A-Za-z0-9_-]{20,}",
    r"xox[abprs]-[A-Za-z0-9-]{10,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
)
_KEY = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_KEYS)})")

#: A value that is a secret by the name before it; the name stays.
_NAMED = re.compile(
    r"(?i)((?:api[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|id[_-]?token|client[_-]?secret"
    r"|password|passwd|secret|authorization)\\?[\"']?\s*[:=]\s*\\?[\"']?(?:Bearer |Basic )?)"
    r"(?!\[key\]|Bearer |Basic )([^\s\"'\\,;&<>{}()\[\]]{6,})"
)
_BEARER = re.compile(r"(?i)\b(Bearer )(?!\[key\])[A-Za-z0-9._~+/=-]{8,}")
_IN_ADDRESS = re.compile(r"(?<=://)[^\s/@:\"']+:[^\s/@\"']+(?=@)")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)

#: Anybody's home, on the systems that have them here; a folder called `home` further down in a path is none.
_ANY_HOME = r"/(?:home|Users)/[^/\s\"'\\:;,<>()\[\]{}|]+|/root(?![\w.-])"
_NOT_WITHIN_A_PATH = r"(?<![\w.~-])"


class Scrubber:
    """Takes keys, home folders and the user's name out of texts; what is scrubbed twice stays as it is.

    Args:
        home: the user's home folder, wherever it is; None for none but those that look like one.
        user: the user's name; "" for none.
    """

    def __init__(self, *, home: Path | None, user: str) -> None:
        homes = _ANY_HOME
        if home is not None and len(home.parts) > 1:
            homes = rf"{re.escape(str(home))}(?![\w.-])|{homes}"
        self._home = re.compile(_NOT_WITHIN_A_PATH + rf"(?:{homes})")
        tells = len(user) >= _SHORTEST_NAME and user.lower() not in _ORDINARY_NAMES
        self._user = re.compile(rf"(?<![A-Za-z0-9]){re.escape(user)}(?![A-Za-z0-9])") if tells else None

    def text(self, text: str) -> str:
        """The text without what must not leave the machine."""
        text = _PRIVATE_KEY.sub(KEY, text)
        text = _IN_ADDRESS.sub(KEY, text)
        text = _KEY.sub(KEY, text)
        text = _BEARER.sub(rf"\1{KEY}", text)
        text = _NAMED.sub(rf"\1{KEY}", text)
        text = self._home.sub("~", text)
        return text if self._user is None else self._user.sub(USER, text)

    def texts(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Each of the texts, scrubbed."""
        return tuple(self.text(text) for text in texts)

    def json(self, value: object) -> Json:
        """A value of JSON with every text in it scrubbed; the value of a key that names a secret, whole."""
        match value:
            case str():
                return self.text(value)
            case dict():
                pairs = cast("Mapping[str, object]", value)
                return {self.text(name): self._member(name, member) for name, member in pairs.items()}
            case list() | tuple():
                return [self.json(member) for member in cast("list[object]", value)]
            case int() | float() | None:
                return value
            case _:
                return self.text(repr(value))

    def _member(self, name: str, member: object) -> Json:
        if isinstance(member, str) and member and _NAMED.fullmatch(f"{name}: {'x' * 6}"):
            return KEY
        return self.json(member)


@cache
def scrubber_of_this_machine() -> Scrubber:
    """The scrubber that knows the home and the name of the user who runs this."""
    try:
        home, user = Path.home(), getpass.getuser()
    except (KeyError, OSError, RuntimeError):
        home, user = None, ""  # an account without an entry, as in some containers
    return Scrubber(home=home, user=user)
