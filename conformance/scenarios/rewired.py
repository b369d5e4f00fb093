"""A real harness whose wire is tampered with on purpose, between its own adapter and its process."""

from __future__ import annotations

from collections.abc import Callable

from checkrein.adapters.interface import Connection, HarnessAdapter, SessionSpec
from checkrein.adapters.transport import HarnessProcess
from checkrein.adapters.wrapped import WrappedAdapter


class Rewired(WrappedAdapter):
    """The harness's own adapter; each connection that it makes is handed to `tamper` before its first use.

    Args:
        adapter: the honest one.
        tamper: replaces methods of the connection, or of its process.
    """

    def __init__(self, adapter: HarnessAdapter, tamper: Callable[[Connection], None]) -> None:
        super().__init__(adapter)
        self._tamper = tamper

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        connection = self._adapter.connect(spec, process)
        self._tamper(connection)
        return connection
