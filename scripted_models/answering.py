"""Plays one step as the answer to one request."""

import asyncio
import json
import re

from checkrein.scripted_models.dialect import Dialect, Event, Grammar, encode
from checkrein.scripted_models.errors import ScriptError, ViolationKind
from checkrein.scripted_models.gates import Gate
from checkrein.scripted_models.http_connection import HttpResponse
from checkrein.scripted_models.profile import NativeCall, Toolset
from checkrein.scripted_models.progress import HangUp, StepProgress
from checkrein.scripted_models.reply import (
    Call,
    Cut,
    CutKind,
    EditFile,
    Element,
    Fail,
    Hold,
    Pause,
    Raw,
    ReadFile,
    Say,
    Shell,
    Silence,
    Think,
    Tool,
    WriteFile,
)
from checkrein.scripted_models.requests import ModelRequest
from checkrein.scripted_models.session import Admission, ModelSession

#: Size of the pieces in which a call's input is streamed, in characters.
INPUT_PIECE = 32
EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


async def answer(session: ModelSession, admission: Admission, response: HttpResponse) -> None:
    """Answer an admitted request; records whether the answer was sent whole or the client hung up on it."""
    request, progress = admission.request, admission.progress
    if progress is None:
        message = f"checkrein: nothing in the script answers this request of lane {request.lane}"
        await response.plain(500, encode(session.dialect.error(500, message)))
        return
    player = _Player(session, request, progress, response)
    try:
        await player.play()
    except asyncio.CancelledError:
        if response.client_gone:
            at_ms = session.timeline.now_ms()
            hang_up = HangUp(after_events=player.sent_events, at_ms=at_ms, request=request.number)
            with session.stage.watch:
                progress.hang_ups.append(hang_up)
                session.stage.record("hung_up", number=request.number, after_events=player.sent_events)
                session.stage.watch.changed()
        raise
    with session.stage.watch:
        progress.answered += 1
        session.stage.record("answered", number=request.number, events=player.sent_events)
        session.stage.watch.changed()


def pieces_of(text: str) -> list[str]:
    """Return `text` word by word, each with the white space before it, as models stream it."""
    return re.findall(r"\s*\S+|\s+", text)


def native_call(toolset: Toolset, call: Call) -> NativeCall:
    """Return a neutral call in the harness's own terms."""
    match call:
        case Tool(name=name, input=input):
            return NativeCall(name=name, input=input, custom=isinstance(input, str))
        case Shell(command=command):
            return toolset.shell(command)
        case WriteFile(path=path, text=text):
            return toolset.write_file(path, text)
        case EditFile(path=path, old=old, new=new):
            return toolset.edit_file(path, old, new)
        case ReadFile(path=path):
            return toolset.read_file(path)


class _Player:
    """One answer on its way. Events leave together at the next gate, pause, fault or end."""

    def __init__(
        self, session: ModelSession, request: ModelRequest, progress: StepProgress, response: HttpResponse
    ) -> None:
        self._session = session
        self._request = request
        self._step = progress.definition
        self._response = response
        self._stream = request.body.get("stream") is True
        dialect: Dialect = session.dialect
        self._renderer = dialect.renderer(request.body, request.number)
        raw = any(isinstance(element, Raw) for element in self._step.reply)
        self._only_raw = raw and all(
            isinstance(element, (Raw, Hold, Pause, Cut)) for element in self._step.reply
        )
        self._grammar: Grammar | None = dialect.grammar() if self._stream and not raw else None
        self._begun = False
        self._waiting: list[bytes] = []
        self._waiting_events = 0
        self.sent_events = 0

    async def play(self) -> None:
        if self._step.until is not None:
            self._step.until.arrive(lambda: None)
        for element in self._step.reply:
            if await self._one(element):
                return
        if self._only_raw:
            await self._flush()
            await self._response.end()
        elif self._stream:
            self._begin()
            self._emit(self._renderer.finish(self._step.usage))
            await self._end_stream()
        else:
            body = encode(self._renderer.plain(self._step.usage))
            await self._send_plain(body)

    async def _one(self, element: Element) -> bool:
        """Play one verb; return whether the answer ends with it."""
        match element:
            case Say(text=text):
                self._begin()
                for piece in pieces_of(text):
                    self._emit(self._renderer.text(piece))
            case Think(text=text):
                self._begin()
                for piece in pieces_of(text):
                    self._emit(self._renderer.thinking(piece))
            case Hold(gate=gate):
                await self._flush()
                await _pass(gate)
            case Pause(seconds=seconds):
                await self._flush()
                await asyncio.sleep(seconds)
            case Raw(data=data, content_type=content_type):
                await self._flush()
                await self._start({**EVENT_STREAM, "content-type": content_type})
                await self._response.send(data)
            case Silence():
                await self._flush()
                await asyncio.Event().wait()
            case Fail():
                await self._fail(element)
                return True
            case Cut(how=how):
                await self._cut(how)
                return True
            case Tool() | Shell() | WriteFile() | EditFile() | ReadFile():
                await self._call(element)
        return False

    async def _call(self, call: Call) -> None:
        native = native_call(self._session.profile.toolset, call)
        if not native.custom and isinstance(native.input, str):
            raise ScriptError(f"tool {native.name!r} is not a custom tool, so its input must be an object")
        given = native.input
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        self._begin()
        self._emit(self._renderer.call_begin(call.id or "", native))
        half = len(text) // 2 if call.hold_in_arguments is not None else 0
        for start in range(0, half, INPUT_PIECE):
            self._emit(self._renderer.call_fragment(text[start : min(start + INPUT_PIECE, half)]))
        if call.hold_in_arguments is not None:
            await self._flush()
            await _pass(call.hold_in_arguments)
        for start in range(half, len(text), INPUT_PIECE):
            self._emit(self._renderer.call_fragment(text[start : start + INPUT_PIECE]))

    async def _fail(self, fault: Fail) -> None:
        if self._stream and self._begun:
            self._emit(self._renderer.failure(fault.status, fault.message))
            await self._end_stream()
            return
        body = encode(self._session.dialect.error(fault.status, fault.message))
        await self._response.plain(fault.status, body, headers=fault.headers)

    async def _cut(self, how: CutKind) -> None:
        self._response.closing = True
        if self._stream:
            await self._flush()
            if how is CutKind.CLEAN:
                await self._start(EVENT_STREAM)
                await self._response.end()
        elif self._begun or how is CutKind.CLEAN:
            body = encode(self._renderer.plain(self._step.usage))
            await self._response.plain(200, body, sent=len(body) // 2)
        if how is CutKind.RESET:
            self._response.reset()

    async def _send_plain(self, body: bytes) -> None:
        if self._response.started:
            await self._response.send(body)
            await self._response.end()
        else:
            await self._response.plain(200, body)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._emit(self._renderer.begin())

    def _emit(self, events: list[Event]) -> None:
        """Check events and put them in line; a plain answer keeps only what the renderer remembers."""
        if not self._stream:
            return
        for event in events:
            if self._grammar is not None:
                self._complain(self._grammar.feed(event))
            self._waiting.append(self._session.dialect.frame(event))
        self._waiting_events += len(events)

    async def _flush(self) -> None:
        if not self._waiting:
            return
        data, self._waiting = b"".join(self._waiting), []
        await self._start(EVENT_STREAM)
        self.sent_events += self._waiting_events
        self._waiting_events = 0
        await self._response.send(data)

    async def _start(self, headers: dict[str, str]) -> None:
        if not self._response.started:
            await self._response.start(200, headers)

    async def _end_stream(self) -> None:
        if self._grammar is not None:
            self._complain(self._grammar.end(self._renderer.parts))
        await self._flush()
        await self._response.end()

    def _complain(self, problems: list[str]) -> None:
        for problem in problems:
            self._session.violate(
                ViolationKind.BAD_EVENT, problem, lane=self._request.lane, request=self._request.number
            )


async def _pass(gate: Gate) -> None:
    loop = asyncio.get_running_loop()
    opened = asyncio.Event()

    def notify() -> None:
        # A gate opened after the server has stopped lets nobody pass any more.
        if not loop.is_closed():
            loop.call_soon_threadsafe(opened.set)

    gate.arrive(notify)
    await opened.wait()
