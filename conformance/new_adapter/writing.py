"""Writes the skeleton of an adapter package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.manifest import Capability
from checkrein.conformance.new_adapter.names import AdapterNames

#: The ending of a template's name; the file that it becomes has none.
ENDING = ".jinja"

#: The template that is used only where npm has the harness.
INSTALL_TABLE = "package/install.toml"


def write_adapter(names: AdapterNames, parent: Path, *, npm: str | None = None) -> Path:
    """Write the package into a new folder.

    Args:
        parent: where the folder is made.
        npm: the npm package that holds the harness; None writes no install table.

    Returns:
        The folder.

    Raises:
        BadRequest: there is something of that name, or the folder cannot be written.
    """
    folder = parent / names.distribution
    texts = dict(_rendered(names, npm))
    try:
        folder.mkdir(parents=True)
        for place, text in texts.items():
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except FileExistsError:
        raise BadRequest(
            "there is something of that name already",
            where=str(folder),
            advice="remove it, or name another folder with --out",
        ) from None
    except OSError as fault:
        raise BadRequest(
            f"the package cannot be written: {fault.strerror}",
            where=str(fault.filename or folder),
            advice="name another folder with --out",
        ) from fault
    return folder


def _rendered(names: AdapterNames, npm: str | None) -> Iterator[tuple[str, str]]:
    # The templates are ours and their values are checked names: nothing is to be escaped in Python and TOML.
    environment = Environment(
        undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True
    )
    values = {
        **asdict(names),
        "npm": npm,
        "capabilities": tuple(Capability),
        # What the package is written for.
        "version": re.sub(r"^(\d+\.\d+).*", r"\1", version("checkrein")),
    }
    for place, template in _templates(files("checkrein.conformance.new_adapter").joinpath("templates")):
        if place == INSTALL_TABLE and npm is None:
            continue
        target = re.sub("^package/", f"{names.package}/", place).replace("NAME", names.package)
        yield target, environment.from_string(template.read_text(encoding="utf-8")).render(values)


def _templates(folder: Traversable, before: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _templates(entry, f"{before}{entry.name}/")
        elif entry.name.endswith(ENDING):
            yield f"{before}{entry.name.removesuffix(ENDING)}", entry
