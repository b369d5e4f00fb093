"""ACP, the Agent Client Protocol, over standard input and output: one adapter for every agent that speaks it.

A package that brings an agent declares it in two files, `manifest.toml` and `acp.toml`, and makes its adapter of them:

    HARNESS = AcpAdapter(__name__)

What an agent does where the protocol leaves the choice is read from `acp.toml`, never assumed; the keys, and what was
seen of real agents, are in docs/harnesses/acp.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from checkrein.adapters.acp.connection import AcpConnection
from checkrein.adapters.acp.declaration import AcpDeclaration, load_declaration
from checkrein.adapters.acp.launch import launch
from checkrein.adapters.interface import Connection, HarnessAdapter, Launch, SessionSpec
from checkrein.adapters.manifest import Manifest, load_manifest
from checkrein.adapters.transport import HarnessProcess
from checkrein.adapters.workspace import WorkspaceFinding, load_workspace_rules

__all__ = ["AcpAdapter", "AcpDeclaration"]


class AcpAdapter(HarnessAdapter):
    """An agent that speaks ACP.

    Args:
        package: import name of the package that holds `manifest.toml` and `acp.toml`, and where it is known what of a
            workspace the agent obeys, `workspace_rules.toml`.

    Raises:
        BadRequest: one of them is missing, or does not hold what it must.
    """

    def __init__(self, package: str) -> None:
        self._manifest = load_manifest(package)
        self._declaration = load_declaration(package)
        known = files(package).joinpath("workspace_rules.toml").is_file()
        self._rules = load_workspace_rules(package, self._manifest.name) if known else None

    @property
    def manifest(self) -> Manifest:
        """See `HarnessAdapter.manifest`."""
        return self._manifest

    @property
    def declaration(self) -> AcpDeclaration:
        """What the agent does where the protocol leaves the choice."""
        return self._declaration

    def launch(self, spec: SessionSpec) -> Launch:
        """See `HarnessAdapter.launch`."""
        return launch(spec, self._declaration, self._manifest)

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        """See `HarnessAdapter.connect`."""
        return AcpConnection(spec, process, self._declaration, self._manifest)

    def workspace_findings(self, workspace: Path) -> Sequence[WorkspaceFinding] | None:
        """See `HarnessAdapter.workspace_findings`."""
        return None if self._rules is None else self._rules.examine(workspace)
