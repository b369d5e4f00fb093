"""The model: OpenAI Chat Completions, streamed. A request that fails in passing is tried again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import msgspec

from checkrein.conformance.reference import exchange
from checkrein.conformance.reference.cancellation import Cancellation
from checkrein.conformance.reference.exchange import Exchange

#: One message of the conversation, as this API has it.
Message = dict[str, object]

#: How long to wait before the first retry, in seconds; twice as long before each further one.
FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0

#: Statuses that may pass, besides those from 500 on.
PASSING = frozenset({408, 409, 429})


class ModelFailed(Exception):
    """Raised when there is no answer and trying again would not help, or has not."""


class _Passing(Exception):
    """Raised when a request failed in a way that may pass.

    Args:
        what: in words.
        later: when the model says to come back, in seconds.
    """

    def __init__(self, what: str, *, later: float | None = None) -> None:
        super().__init__(what)
        self.later = later


@dataclass(slots=True, kw_only=True)
class Call:
    """A tool call; `arguments` is JSON text."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True, kw_only=True)
class Tokens:
    """What requests have used; `input` includes `cached`."""

    input: int = 0
    cached: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer.

    Args:
        cut_short: it ended at the longest that an answer may be.
    """

    text: str
    calls: tuple[Call, ...]
    tokens: Tokens
    cut_short: bool


class _Function(msgspec.Struct, frozen=True):
    name: str | None = None
    arguments: str | None = None


class _CallPiece(msgspec.Struct, frozen=True):
    index: int
    id: str | None = None
    function: _Function = _Function()


class _Delta(msgspec.Struct, frozen=True):
    content: str | None = None
    tool_calls: tuple[_CallPiece, ...] | None = None


class _Choice(msgspec.Struct, frozen=True):
    delta: _Delta = _Delta()
    finish_reason: str | None = None


class _Cached(msgspec.Struct, frozen=True):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Cached | None = None


class _Fault(msgspec.Struct, frozen=True):
    message: str = ""


class _Chunk(msgspec.Struct, frozen=True):
    choices: tuple[_Choice, ...] = ()
    usage: _Usage | None = None
    error: _Fault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """What a turn wants to know while the model is asked.

    Args:
        sent: a request is with the model, whole; called for every try.
        text: a piece of the answer's text.
        retrying: the answer so far is void, and the request is tried again; told why.
    """

    sent: Callable[[], None]
    text: Callable[[str], None]
    retrying: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Where the model is, and how patient we are.

    Args:
        url: without a trailing slash; `/chat/completions` follows.
        key: sent as bearer token.
        retries: how often a failed request is tried again.
        silence: how long it may send nothing, in seconds.
    """

    url: str
    key: str
    name: str
    retries: int
    silence: float

    def ask(
        self,
        conversation: str,
        messages: Sequence[Message],
        tools: Sequence[object],
        cancellation: Cancellation,
        listener: Listener,
    ) -> Answer:
        """Ask for the next answer.

        Args:
            conversation: its id, so that the model's cache works.

        Raises:
            ModelFailed: there is none.
            Cancelled: the turn was cancelled; the connection is closed.
        """
        body = msgspec.json.encode(
            {
                "model": self.name,
                "messages": messages,
                "tools": tools,
                "stream": True,
                "stream_options": {"include_usage": True},
                "prompt_cache_key": conversation,
            }
        )
        for attempt in range(self.retries + 1):
            try:
                return self._try(body, cancellation, listener)
            except _Passing as fault:
                if attempt == self.retries:
                    raise ModelFailed(f"{fault}, {attempt + 1} time(s)") from None
                delay = min(FIRST_DELAY * 2**attempt, LONGEST_DELAY) if fault.later is None else fault.later
                listener.retrying(f"{fault}; tried again in {delay:g} s")
                cancellation.wait(delay)
        raise AssertionError("the last attempt returns or raises")

    def _try(self, body: bytes, cancellation: Cancellation, listener: Listener) -> Answer:
        with self._connection(cancellation) as connection:
            try:
                connection.ask(
                    "/chat/completions",
                    {"authorization": f"Bearer {self.key}", "content-type": "application/json"},
                    body,
                )
                listener.sent()
                response = connection.answer()
                if response.status != 200:
                    raise _refusal(response)
                return _read(response, listener.text)
            except TimeoutError:
                raise _Passing(f"the model sent nothing for {self.silence:g} s") from None
            except OSError as fault:
                raise _Passing(f"the connection to the model broke: {fault!r}") from None

    @contextmanager
    def _connection(self, cancellation: Cancellation) -> Generator[Exchange]:
        """A connection of its own for one request; a cancellation hangs up."""
        try:
            connection = Exchange(self.url, seconds=self.silence)
        except OSError as fault:
            raise _Passing(f"the model cannot be reached: {fault}") from None
        try:
            with cancellation.stopping(connection.hang_up):
                yield connection
        finally:
            connection.close()


def _refusal(response: exchange.Answer) -> ModelFailed | _Passing:
    text = response.read().decode("utf-8", "replace")
    with suppress(msgspec.DecodeError):
        fault = msgspec.json.decode(text, type=_Chunk).error
        text = text if fault is None else fault.message
    what = f"the model answered {response.status}: {text}"
    if response.status not in PASSING and response.status < 500:
        return ModelFailed(what)
    later = response.headers.get("retry-after", "")
    return _Passing(what, later=float(later) if later.isdigit() else None)


def _events(response: exchange.Answer) -> Iterator[bytes]:
    for line in response:
        if line.startswith(b"data:"):
            yield line[5:].strip()


def _read(response: exchange.Answer, told: Callable[[str], None]) -> Answer:
    texts: list[str] = []
    calls: dict[int, Call] = {}
    tokens = Tokens()
    finished: str | None = None
    for event in _events(response):
        if event == b"[DONE]":
            break
        try:
            chunk = msgspec.json.decode(event, type=_Chunk)
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            raise _Passing(f"the model's stream cannot be read: {fault}") from None
        if chunk.error is not None:
            raise _Passing(f"the model broke off: {chunk.error.message}")
        if (used := chunk.usage) is not None:
            cached = used.prompt_tokens_details.cached_tokens if used.prompt_tokens_details else 0
            tokens = Tokens(input=used.prompt_tokens, cached=cached or 0, output=used.completion_tokens)
        for choice in chunk.choices:
            finished = choice.finish_reason or finished
            if choice.delta.content:
                texts.append(choice.delta.content)
                told(choice.delta.content)
            for piece in choice.delta.tool_calls or ():
                call = calls.setdefault(piece.index, Call())
                call.id += piece.id or ""
                call.name += piece.function.name or ""
                call.arguments += piece.function.arguments or ""
    else:
        raise _Passing("the model's stream ended before the answer did")
    if finished is None:
        raise _Passing("the model's stream ended without a finish reason")
    return Answer(
        text="".join(texts), calls=tuple(calls.values()), tokens=tokens, cut_short=finished == "length"
    )
