"""The reference harness: a small honest agent of our own, and all that an adapter package brings.

It speaks ACP over stdio, with `_session/steering`. Nothing has to be downloaded to run it. For integrators it is an
example twice: of an agent that keeps the contract (`agent.py` and what it imports), and of a package that brings an ACP
agent (`manifest.toml`, `acp.toml`, `install.toml`, `kit.py` and this file).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checkrein.adapters.interface import HarnessAdapter

    HARNESS: HarnessAdapter


def __getattr__(name: str) -> HarnessAdapter:
    """Make `HARNESS` when it is asked for: the agent's process imports this package too, and has no use for it."""
    if name != "HARNESS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from checkrein.adapters.acp import AcpAdapter

    return AcpAdapter(__name__)
