"""From the name of a harness to those of its package, folder and classes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.registry import harness_names

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterNames:
    """What the parts of an adapter package are called.

    Args:
        harness: the name on the command line, such as `my-agent`.
        distribution: what pip calls it, and its folder: `checkrein-my-agent`.
        package: what Python imports: `checkrein_my_agent`.
        prefix: of its classes: `MyAgent`.
        title: the name for people, until its author says better: `My Agent`.
    """

    harness: str
    distribution: str
    package: str
    prefix: str
    title: str


def adapter_names(harness: str) -> AdapterNames:
    """The names for a new adapter.

    Raises:
        BadRequest: the name is none, or an installed adapter has it.
    """
    if not _NAME.fullmatch(harness) or len(harness) > _LONGEST:
        raise BadRequest(
            f"{harness!r} is no name for a harness",
            where="NAME",
            advice=f"use small letters, digits and single dashes, a letter first, at most {_LONGEST}, such as my-agent",
        )
    if harness in harness_names():
        raise BadRequest(
            f"there is an adapter for {harness!r} already", where="NAME", advice="choose another name"
        )
    words = harness.split("-")
    return AdapterNames(
        harness=harness,
        distribution=f"checkrein-{harness}",
        package=f"checkrein_{'_'.join(words)}",
        prefix="".join(word.capitalize() for word in words),
        title=" ".join(word.capitalize() for word in words),
    )
