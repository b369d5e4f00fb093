"""Where a call really goes: links resolved, and whether that is outside the workspace."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def leading_elsewhere(paths: Iterable[str], directory: Path) -> tuple[str, ...]:
    """Where those paths really lead that a link leads elsewhere, each once.

    Args:
        paths: as the call gives them.
        directory: what relative ones are relative to; itself resolved.
    """
    found: dict[str, None] = {}
    for path in paths:
        given = directory / path
        real = os.path.realpath(given)
        if real != os.path.normpath(given):
            found[real] = None
    return tuple(found)


def is_outside(path: str, workspace: Path) -> bool:
    """Whether a path, links resolved, is not in the workspace.

    Args:
        path: as the call gives it.
        workspace: resolved.
    """
    return not Path(os.path.realpath(workspace / path)).is_relative_to(workspace)
