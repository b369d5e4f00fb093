"""Where a harness keeps its configuration, and why that may not be the workspace: what launches share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.interface import SessionSpec


def home_of(spec: SessionSpec) -> Path:
    """HOME of the harness: that of the spec, else the one in its environment."""
    return spec.home if spec.home is not None else Path(spec.environment.get("HOME") or Path.home())


def refuse_inside_workspace(spec: SessionSpec, places: Mapping[str, Path]) -> None:
    """Go on only if the workspace does not hold the harness's own places.

    Args:
        places: by the name of the variable that names each, such as HOME.

    Raises:
        BadRequest: one lies in the workspace, so that files of the workspace would be the user's configuration.
    """
    for name, place in places.items():
        if place.resolve().is_relative_to(spec.cwd):
            raise BadRequest(
                f"the workspace holds the harness's {name}: what lies in it would be the user's own configuration",
                where=f"{name}={place}, workspace {spec.cwd}",
                advice="choose a directory below it as the workspace, or another home",
            )
