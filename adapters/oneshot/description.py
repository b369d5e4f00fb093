"""A one-shot harness as data: `oneshot.toml` in the package that brings it. docs/harnesses/oneshot.md explains it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from importlib.resources import files

import msgspec

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.native import ToolKind
from checkrein.adapters.oneshot.templates import OPTIONS, PLACEHOLDERS, Word, fault_of

FILE = "oneshot.toml"

Literal = str | bool | int


class OutputFormat(StrEnum):
    """What the program writes on its standard output."""

    #: the answer, nothing else
    TEXT = "text"
    #: one JSON object per line, read by the rules
    JSON_LINES = "json-lines"


class UsageCount(StrEnum):
    """What the tokens that the program tells are counted over."""

    #: this run
    TURN = "turn"
    #: all runs of the conversation so far
    CONVERSATION = "conversation"


class ToolStartedAt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a line holds a tool call. Each is a path of names; of several paths the first that leads to something.

    Args:
        name: of the tool; a text that begins with `=` is the name itself.
    """

    id: str
    name: str
    command: str | None = None
    paths: tuple[str, ...] = ()
    input: str | None = None


class ToolFinishedAt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a line holds the result of a call.

    Args:
        failed: whether the rule is about calls that failed.
    """

    id: str
    output: str | None = None
    exit_status: str | None = None
    failed: bool = False


class UsageAt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a line holds tokens and cost; the numbers at several paths are added up. A cost of 0 is unknown."""

    input: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    cost: str | None = None
    counts: UsageCount = UsageCount.TURN


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a line means. Of the rules whose conditions hold, the first one counts.

    Args:
        when: by path: what the line must hold there, one value or one of several.
        each: path to a list in the line; the rule then is about each of its members, and the other paths begin there.
        where: as `when`, for the member.
        session: path to the id that the conversation goes by.
        text_delta, text: path to a piece of the answer, or to a finished text of the model.
        tool_started, tool_finished, usage: see there.
        failed: path to the reason for which the turn has failed.
        status: path to the harness's own word for the end of the turn.
        recovered: an earlier failure does not count any more.
        last: the turn is over with this line; the process is ended if it stays.
        retry, warning: path to a text for a person.
    """

    when: dict[str, Literal | tuple[Literal, ...]]
    each: str | None = None
    where: dict[str, Literal | tuple[Literal, ...]] = {}
    session: str | None = None
    text_delta: str | None = None
    text: str | None = None
    tool_started: ToolStartedAt | None = None
    tool_finished: ToolFinishedAt | None = None
    usage: UsageAt | None = None
    failed: str | None = None
    status: str | None = None
    recovered: bool = False
    last: bool = False
    retry: str | None = None
    warning: str | None = None


class Commands(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words that follow the program's name.

    Args:
        prompt: for the first prompt of a conversation.
        resume: for a prompt in a conversation that exists; None where that cannot be.
    """

    prompt: tuple[Word, ...]
    resume: tuple[Word, ...] | None = None


class ConversationFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file in which the harness keeps a conversation, so that it is known before a run whether there is one.

    Args:
        file: a template of a shell pattern.
        holds: a regular expression that is in the file once the conversation can be resumed.
    """

    file: str
    holds: str | None = None


class Output(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the output is read.

    Args:
        kinds: what the tools do, by their names; those that are not named do something else.
        rules: for JSON lines.
    """

    format: OutputFormat
    kinds: dict[str, ToolKind] = {}
    rules: tuple[Rule, ...] = ()


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file.

    Args:
        not_text: regular expressions: a prompt that fits one as a whole is not taken as text by the program.
        environment: by name, templates of variables; one whose placeholder has no value is not set.
    """

    commands: Commands
    output: Output
    not_text: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    conversation: ConversationFile | None = None


def load_description(package: str) -> Description:
    """Read `oneshot.toml` of an adapter package.

    Args:
        package: import name of the package that holds the file.

    Raises:
        BadRequest: the file is missing, or does not hold what a description holds; names file and field.
    """
    source = files(package).joinpath(FILE)
    try:
        text = source.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadRequest(
            "the one-shot adapter has no description", where=str(source), advice=f"add {FILE}"
        ) from None
    return read_description(text, where=str(source))


def read_description(text: str, *, where: str) -> Description:
    """Read a description.

    Args:
        where: it comes from, for the errors.

    Raises:
        BadRequest: it does not hold what a description holds.
    """
    try:
        description = msgspec.convert(tomllib.loads(text), Description)
        fault = next(_faults(description), None)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, re.error) as error:
        fault = str(error)
        raise _unusable(fault, where) from error
    if fault is not None:
        raise _unusable(fault, where)
    return description


def _unusable(fault: str, where: str) -> BadRequest:
    return BadRequest(
        f"the description of the one-shot harness cannot be used: {fault}",
        where=where,
        advice="correct that field",
    )


def _faults(description: Description) -> Iterator[str]:
    commands = description.commands
    for name, words, without in (
        ("prompt", commands.prompt, {"conversation"}),
        ("resume", commands.resume or (), set[str]()),
    ):
        allowed = PLACEHOLDERS - without | {"options"}
        parts = [part for word in words for part in ((word,) if isinstance(word, str) else word)]
        for part in parts:
            if fault := fault_of(part, allowed):
                yield f"{fault} - at `$.commands.{name}`"
        if words and sum("{prompt}" in part for part in parts) != 1:
            yield f"the prompt has to be there once, as {{prompt}} - at `$.commands.{name}`"
        if any(OPTIONS in word for word in words if not isinstance(word, str)):
            yield f"{OPTIONS} cannot be part of a group - at `$.commands.{name}`"
    for name, template in description.environment.items():
        if fault := fault_of(template, PLACEHOLDERS - {"prompt"}):
            yield f"{fault} - at `$.environment.{name}`"
    kept = description.conversation
    if kept is not None:
        if fault := fault_of(kept.file, PLACEHOLDERS - {"prompt", "conversation"}):
            yield f"{fault} - at `$.conversation.file`"
        re.compile(kept.holds or "")
    for expression in description.not_text:
        re.compile(expression)
    yield from _faults_of_output(description.output)


def _faults_of_output(output: Output) -> Iterator[str]:
    if output.format is OutputFormat.TEXT and (output.rules or output.kinds):
        yield "text has no rules and no tools - at `$.output`"
    if output.format is OutputFormat.JSON_LINES and not any(rule.text for rule in output.rules):
        yield "no rule says where the answer is: one needs `text` - at `$.output.rules`"
    for number, rule in enumerate(output.rules):
        if rule.where and rule.each is None:
            yield f"`where` is about a member of `each`, which is missing - at `$.output.rules[{number}]`"
