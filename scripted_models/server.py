"""The model server: one thread with its own event loop, any number of sessions kept apart by path."""

import asyncio
import contextlib
import json
import secrets
import socket
import struct
import sys
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar, cast

from checkrein.scripted_models.answering import answer
from checkrein.scripted_models.dialect import Route, encode
from checkrein.scripted_models.errors import ScriptError, ViolationKind
from checkrein.scripted_models.http_connection import HttpConnection, HttpRequest, HttpResponse
from checkrein.scripted_models.json_reading import JsonObject, as_object, as_text
from checkrein.scripted_models.lanes import Lane
from checkrein.scripted_models.profile import HarnessProfile
from checkrein.scripted_models.script import Script
from checkrein.scripted_models.session import ModelSession
from checkrein.scripted_models.timeline import Source, Timeline

T = TypeVar("T")

#: How long the driver's thread waits for the server's thread to do a small thing, in seconds.
HANDSHAKE = 10.0


class ModelServer:
    """Serves scripted models on 127.0.0.1, on a port that the system chooses.

    A context manager, usable from asyncio, trio or plain code. Leaving it closes sessions that are still
    open, which verifies them unless an error is already on its way.
    """

    def __init__(self, *, timeline: Timeline | None = None) -> None:
        self.timeline = timeline if timeline is not None else Timeline()
        self._sessions: dict[str, ModelSession] = {}
        self._connections: dict[str, set[HttpConnection]] = {}
        self._all_connections: set[HttpConnection] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """The port, once the server runs."""
        return self._port

    @property
    def url(self) -> str:
        """The server's own address; a session's address is its `base_url`."""
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> "ModelServer":
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._main()), name="scripted-models", daemon=True
        )
        self._thread.start()
        if not self._ready.wait(HANDSHAKE):
            raise RuntimeError("the scripted model server did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for session in tuple(self._sessions.values()):
                session.close(verify=error is None)
        finally:
            if self._loop is not None and self._stop is not None:
                self._loop.call_soon_threadsafe(self._stop.set)
            if self._thread is not None:
                self._thread.join(HANDSHAKE)

    def open_session(self, script: Script, profile: HarnessProfile) -> ModelSession:
        """Start to serve `script` to one harness.

        Raises ScriptError if the script is already being played or the profile's dialect is unknown.
        """
        if script.stage.token:
            raise ScriptError(f"script {script.name!r} is already played by another session")
        session = ModelSession(
            script, profile, token=secrets.token_hex(8), server_url=self.url, timeline=self.timeline
        )
        links = self._call(self._serve_held_tools(session)) if script.held_tools else None
        self._sessions[session.token] = session
        self._connections[session.token] = set()
        session.attach(
            settle=lambda: self._call(_settled()), on_close=lambda: self._call(self._drop(session, links))
        )
        self.timeline.record(Source.NOTE, "session_open", session=session.token, script=script.name)
        return session

    def _call(
        self, work: Coroutine[Any, Any, T]
    ) -> T:  # Any: the send and yield types of a coroutine are unused
        if self._loop is None or not self._loop.is_running():
            work.close()
            raise RuntimeError(
                "the scripted model server is not running; use `with ModelServer() as server:`"
            )
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(HANDSHAKE)

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await self._loop.create_server(
            lambda: HttpConnection(self._handle, self._all_connections), "127.0.0.1", 0
        )
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for connection in tuple(self._all_connections):
            connection.drop()
        # One turn of the loop, so that the dropped connections are closed before it ends.
        await asyncio.sleep(0)

    async def _drop(self, session: ModelSession, links: asyncio.Server | None) -> None:
        """End a session's connections and release its held tools by hanging up on them."""
        for connection in tuple(self._connections.pop(session.token, ())):
            connection.drop()
        self._sessions.pop(session.token, None)
        if links is not None:
            links.close()
            for task in asyncio.all_tasks():
                if task.get_name() == _link_name(session.token):
                    task.cancel()
        await asyncio.sleep(0)

    async def _handle(self, request: HttpRequest, response: HttpResponse) -> None:
        token, path = _split(request.path)
        session = self._sessions.get(token)
        if session is None:
            self.timeline.record(Source.MODEL, "stray_request", method=request.method, path=request.path)
            await response.plain(
                404, encode({"error": {"message": f"no session has the path {request.path}"}})
            )
            return
        members = self._connections[token]
        connection = response.connection
        members.add(connection)
        try:
            await self._dispatch(session, request, path, response)
        except ScriptError as error:
            session.violate(ViolationKind.KIT_ERROR, str(error))
            response.closing = True
        except Exception as error:
            # A fault of the kit must never look like one of the harness, and never hang it.
            session.violate(ViolationKind.KIT_ERROR, f"{type(error).__name__}: {error}")
            response.closing = True
        finally:
            members.discard(connection)

    async def _dispatch(
        self, session: ModelSession, request: HttpRequest, path: str, response: HttpResponse
    ) -> None:
        dialect = session.dialect
        route = dialect.route(request.method, path)
        session.note_activity()
        if route is Route.OTHER or route is Route.MODELS:
            session.stage.record("other_request", method=request.method, path=path)
            found = route is Route.MODELS
            body = dialect.models() if found else dialect.error(404, f"no such path: {request.method} {path}")
            await response.plain(200 if found else 404, encode(body))
            return
        encoding = request.headers.get("content-encoding", "identity")
        if encoding != "identity":
            message = f"content-encoding {encoding!r} of a request body is not supported; turn it off"
            session.violate(ViolationKind.BAD_REQUEST, message)
            await response.plain(415, encode(dialect.error(415, message)))
            return
        body = _decoded(request.body)
        if body is None:
            message = f"the body of {request.method} {path} is not a JSON object"
            session.violate(ViolationKind.BAD_REQUEST, message)
            await response.plain(400, encode(dialect.error(400, message)))
            return
        admission = session.admit(request.method, path, request.headers, body)
        if admission.request.lane == Lane.COUNT_TOKENS:
            await response.plain(200, encode(dialect.token_count(session.script.count_tokens)))
            return
        await answer(session, admission, response)

    async def _serve_held_tools(self, session: ModelSession) -> asyncio.Server:
        async def link(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            if task is not None:
                task.set_name(_link_name(session.token))
            await self._held_tool(session, reader, writer)

        return await asyncio.start_unix_server(link, session.script.socket_path)

    async def _held_tool(
        self, session: ModelSession, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.closing(writer):
            hello = as_object(json.loads(await reader.readline() or b"{}"))
            held = session.script.held_tools.get(as_text(hello.get("name")))
            said = hello.get("pid")
            if held is None or not isinstance(said, int):
                session.violate(ViolationKind.KIT_ERROR, f"an unknown held tool says hello: {hello}")
                return
            pid = _peer_pid(writer) or said

            def release(output: str, exit_status: int) -> None:
                order = json.dumps({"output": output, "exit_status": exit_status}).encode() + b"\n"
                if not loop.is_closed():
                    loop.call_soon_threadsafe(writer.write, order)

            held.process_started(pid, release)
            try:
                await reader.read()
            except ConnectionError:
                pass
            finally:
                held.process_ended(pid)


async def _settled() -> None:
    """Let the loop look at the network twice, so that what has already arrived is seen."""
    for _ in range(3):
        await asyncio.sleep(0)


def _split(path: str) -> tuple[str, str]:
    """Return the token and the rest of `/s/<token>/rest`."""
    parts = path.split("/", 3)
    if len(parts) == 4 and parts[1] == "s":
        return parts[2], f"/{parts[3]}"
    return "", path


def _decoded(body: bytes | bytearray) -> JsonObject | None:
    try:
        value: object = json.loads(body)
    except ValueError:
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _link_name(token: str) -> str:
    return f"held-tool-{token}"


def _peer_pid(writer: asyncio.StreamWriter) -> int | None:
    """Return the process id as this system counts, also when the process lives in a PID namespace of its own."""
    if sys.platform != "linux":
        return None
    peer: socket.socket = writer.get_extra_info("socket")
    credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", credentials)[0] or None
