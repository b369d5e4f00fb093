"""A proxy on loopback that lets nothing out and writes down who asked: the stand-in where no namespace is allowed."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import msgspec

from checkrein.conformance.offline.status import Attempt

#: Seconds that a client may take for its first line.
_FIRST_LINE_SECONDS = 5.0
_REFUSAL = b"checkrein: this run is offline\n"


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, record: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Refuse)
        self._record = record
        self._writing = threading.Lock()

    def write_down(self, attempt: Attempt) -> None:
        with self._writing, self._record.open("ab") as stream:
            stream.write(msgspec.json.encode(attempt) + b"\n")


class _Refuse(socketserver.StreamRequestHandler):
    timeout = _FIRST_LINE_SECONDS

    def handle(self) -> None:
        try:
            line = self.rfile.readline(8192).decode("latin-1").strip()
        except OSError:
            line = "(nothing was asked)"
        cast(_Server, self.server).write_down(
            Attempt(at=datetime.now(UTC).isoformat(timespec="milliseconds"), request=line)
        )
        head = f"HTTP/1.1 403 Offline\r\nContent-Length: {len(_REFUSAL)}\r\nConnection: close\r\n\r\n"
        try:
            self.wfile.write(head.encode("ascii") + _REFUSAL)
        except OSError:
            return


@contextmanager
def refusing_proxy(record: Path) -> Generator[dict[str, str]]:
    """Serve while the block runs.

    Args:
        record: each attempt becomes one line of JSON at the end of this file.

    Yields:
        The environment variables that send a program's HTTP requests to the proxy, loopback excepted.
    """
    with _Server(record) as server:
        thread = threading.Thread(target=server.serve_forever, name="refusing-proxy", daemon=True)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}"
            variables = {
                "HTTP_PROXY": url,
                "HTTPS_PROXY": url,
                "ALL_PROXY": url,
                "NO_PROXY": "127.0.0.1,localhost,::1",
            }
            yield variables | {name.lower(): value for name, value in variables.items()}
        finally:
            server.shutdown()
            thread.join()
