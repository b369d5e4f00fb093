"""Output lines of a one-shot harness as native events, by the rules of its description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import msgspec

from checkrein.adapters.native import (
    ConversationNamed,
    NativeEvent,
    Notice,
    NoticeKind,
    TextDelta,
    TextDone,
    ToolCall,
    ToolFinished,
    ToolKind,
    ToolStarted,
    ToolStatus,
    Usage,
)
from checkrein.adapters.oneshot.description import (
    Literal,
    Output,
    OutputFormat,
    Rule,
    ToolFinishedAt,
    ToolStartedAt,
    UsageAt,
    UsageCount,
)

#: How much of a line that cannot be read is shown, in characters.
SHOWN = 400


class OutputReader:
    """Reads the output of one run.

    Args:
        output: how.

    Attributes:
        failure: why the turn has failed, as the harness said; "" when it did not.
        status: the harness's own word for the end.
        said_all: the turn is over, whatever the process still does.
        told: what it told of its usage, by what that counts over.
    """

    def __init__(self, output: Output) -> None:
        self.failure = ""
        self.status = ""
        self.said_all = False
        self.told: dict[UsageCount, Usage] = {}
        self._output = output
        self._lines: list[str] = []
        self._open: dict[str, None] = {}

    def read(self, line: bytes) -> Iterator[NativeEvent]:
        """Take in one line. Never raises on bad output: what is no JSON object becomes a notice."""
        if self._output.format is OutputFormat.TEXT:
            text = line.decode("utf-8", "replace")
            self._lines.append(text)
            yield TextDelta(text=f"{text}\n")
            return
        if not line.strip():
            return
        try:
            message: object = msgspec.json.decode(line.decode("utf-8", "replace"))
        except msgspec.DecodeError:
            message = None
        if not isinstance(message, dict):
            yield Notice(kind=NoticeKind.STRAY_OUTPUT, text=line[:SHOWN].decode("utf-8", "replace"))
            return
        yield from self._apply_rules(cast("dict[str, object]", message))

    def end(self) -> Iterator[NativeEvent]:
        """What is to be told when the output has ended: the answer, and the calls that have no result."""
        for call_id in self._open:
            yield ToolFinished(call_id=call_id, status=ToolStatus.ABORTED)
        if self._output.format is OutputFormat.TEXT and self._lines:
            yield TextDone(text="\n".join(self._lines))

    def _apply_rules(self, message: Mapping[str, object]) -> Iterator[NativeEvent]:
        taken: set[tuple[str, int]] = set()
        for rule in self._output.rules:
            if not _holds(message, rule.when):
                continue
            subjects = [message] if rule.each is None else _members(message, rule.each)
            for number, subject in enumerate(subjects):
                place = (rule.each or "", number)
                if place not in taken and _holds(subject, rule.where):
                    taken.add(place)
                    yield from self._told(rule, subject)

    def _told(self, rule: Rule, subject: Mapping[str, object]) -> Iterator[NativeEvent]:
        if rule.recovered:
            self.failure = ""
        self.said_all = self.said_all or rule.last
        if rule.failed is not None:
            self.failure = text_at(subject, rule.failed) or "the harness does not say why"
        if rule.status is not None:
            self.status = text_at(subject, rule.status)
        if rule.usage is not None:
            self._count(rule.usage, subject)
        if rule.session is not None and (session_id := text_at(subject, rule.session)):
            yield ConversationNamed(session_id=session_id)
        if rule.text_delta is not None:
            yield TextDelta(text=text_at(subject, rule.text_delta))
        if rule.text is not None and (text := text_at(subject, rule.text)):
            yield TextDone(text=text)
        if rule.tool_started is not None:
            yield self._started(rule.tool_started, subject)
        if rule.tool_finished is not None:
            yield self._finished(rule.tool_finished, subject)
        for kind, path in ((NoticeKind.RETRY, rule.retry), (NoticeKind.WARNING, rule.warning)):
            if path is not None:
                yield Notice(kind=kind, text=text_at(subject, path))

    def _started(self, at: ToolStartedAt, subject: Mapping[str, object]) -> ToolStarted:
        name = at.name[1:] if at.name.startswith("=") else text_at(subject, at.name)
        kind = self._output.kinds.get(name, ToolKind.OTHER)
        call_id = text_at(subject, at.id)
        self._open[call_id] = None
        given = None if at.input is None else value_at(subject, at.input)
        paths = [text for path in at.paths if (text := text_at(subject, path))]
        return ToolStarted(
            call=ToolCall(
                call_id=call_id,
                name=name,
                kind=kind,
                command=text_at(subject, at.command) if at.command and kind is ToolKind.COMMAND else None,
                paths=tuple(paths) if kind in (ToolKind.EDIT, ToolKind.READ) else (),
                input_json=msgspec.json.encode(given if given is not None else {}).decode(),
            )
        )

    def _finished(self, at: ToolFinishedAt, subject: Mapping[str, object]) -> ToolFinished:
        call_id = text_at(subject, at.id)
        self._open.pop(call_id, None)
        exit_status = None if at.exit_status is None else value_at(subject, at.exit_status)
        return ToolFinished(
            call_id=call_id,
            status=ToolStatus.ERROR if at.failed else ToolStatus.OK,
            output="" if at.output is None else text_at(subject, at.output),
            exit_status=exit_status if isinstance(exit_status, int) else None,
        )

    def _count(self, at: UsageAt, subject: Mapping[str, object]) -> None:
        cost = None if at.cost is None else value_at(subject, at.cost)
        told = Usage(
            input_tokens=_sum_at(subject, at.input),
            cached_tokens=_sum_at(subject, at.cached),
            output_tokens=_sum_at(subject, at.output),
            cost_usd=float(cost) if isinstance(cost, int | float) and cost else None,
        )
        before = self.told.get(at.counts)
        # Tokens of a run are told with each answer; a count over the conversation is told anew.
        self.told[at.counts] = (
            told if before is None or at.counts is UsageCount.CONVERSATION else _added(before, told)
        )


def value_at(subject: object, path: str) -> object:
    """What is at the end of a path of names with dots between; None when it leads nowhere."""
    for name in path.split("."):
        if not isinstance(subject, dict):
            return None
        subject = cast("dict[str, object]", subject).get(name)
    return subject


def text_at(subject: object, path: str) -> str:
    """The text at the end of a path. Of a list, the texts of its members; of anything else, its JSON."""
    return _text(value_at(subject, path))


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case {"text": str(text)}:
            return text
        case list():
            texts = (
                _text(one) for one in cast("list[object]", value) if isinstance(one, str) or _is_block(one)
            )
            return "\n".join(text for text in texts if text)
        case _:
            return msgspec.json.encode(value).decode()


def _is_block(value: object) -> bool:
    return isinstance(value, dict) and isinstance(cast("dict[str, object]", value).get("text"), str)


def _members(message: Mapping[str, object], path: str) -> list[Mapping[str, object]]:
    found = value_at(message, path)
    if not isinstance(found, list):
        return []
    members = cast("list[object]", found)
    return [cast("dict[str, object]", member) for member in members if isinstance(member, dict)]


def _holds(subject: object, wanted: Mapping[str, Literal | tuple[Literal, ...]]) -> bool:
    return all(
        value_at(subject, path) in (values if isinstance(values, tuple) else (values,))
        for path, values in wanted.items()
    )


def _sum_at(subject: object, paths: tuple[str, ...]) -> int | None:
    numbers = [value for path in paths if isinstance(value := value_at(subject, path), int)]
    return sum(numbers) if numbers else None


def _added(one: Usage, other: Usage) -> Usage:
    def plus(a: int | None, b: int | None) -> int | None:
        return b if a is None else a if b is None else a + b

    return Usage(
        input_tokens=plus(one.input_tokens, other.input_tokens),
        cached_tokens=plus(one.cached_tokens, other.cached_tokens),
        output_tokens=plus(one.output_tokens, other.output_tokens),
        cost_usd=one.cost_usd if other.cost_usd is None else (one.cost_usd or 0.0) + other.cost_usd,
    )
