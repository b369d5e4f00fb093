"""`HARNESS[@VERSION]`, as people write it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checkrein.adapters.errors import BadRequest

#: What npm takes as a version or a tag; it also becomes the name of a folder, so neither `/` nor a leading dot.
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,99}")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessRequest:
    """A harness and the version that was asked for.

    Args:
        name: name of the harness.
        version: an exact version or a tag of npm (`latest`); None for the pinned one.
    """

    name: str
    version: str | None

    @property
    def is_tag(self) -> bool:
        """Whether the version is a tag, which only npm can resolve."""
        return self.version is not None and not self.version[0].isdigit()


def parse_request(text: str) -> HarnessRequest:
    """Read `claude-code`, `claude-code@2.1.332` or `codex@latest`.

    Raises:
        BadRequest: the text is neither.
    """
    name, at, version = text.partition("@")
    if not _NAME.fullmatch(name) or (at and not _VERSION.fullmatch(version)):
        raise BadRequest(
            f"{text!r} is not a harness", advice="write HARNESS or HARNESS@VERSION, such as codex@0.171.0"
        )
    return HarnessRequest(name=name, version=version if at else None)
