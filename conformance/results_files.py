"""Results on disk: JSON Lines, written whole and read strictly."""

from __future__ import annotations

import json
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

import jsonschema
import msgspec

from checkrein.adapters.errors import CheckreinError
from checkrein.conformance.results import FORMAT, Check, Footer, Header, Record, Results, ScenarioRun, count

_Json: TypeAlias = "dict[str, _Json] | list[_Json] | str | int | float | bool | None"

SCHEMA = "schemas/results.schema.json"


class BadResults(CheckreinError):
    """Raised when a results file cannot be relied on; the kinds below say why."""

    exit_status = 2


class MissingHeader(BadResults):
    """Raised when the file does not begin with a header."""


class MissingFooter(BadResults):
    """Raised when the file ends without a footer: the run was cut off, or the file was."""


class MisplacedRecord(BadResults):
    """Raised when there is a second header, or something follows the footer."""


class UnknownFormat(BadResults):
    """Raised when the file has a format that this version does not read."""


class InvalidRecord(BadResults):
    """Raised when a line is no record of the published schema."""


class DuplicateCheck(BadResults):
    """Raised when one clause has two checks on one harness."""


class UnknownHarnessInCheck(BadResults):
    """Raised when a check is about a harness that the header does not name."""


class WrongCounts(BadResults):
    """Raised when the footer does not agree with the checks."""


def write_results(results: Results, path: Path) -> None:
    """Write a file that is there whole or not at all.

    Raises:
        BadResults: the file cannot be written.
    """
    records: list[Record] = [results.header, *results.checks, *results.scenarios, results.footer]
    text = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(text)
        partial.replace(path)
    except OSError as fault:
        raise BadResults(
            f"the results cannot be written: {fault.strerror}",
            where=str(path),
            advice="name another file with --results",
        ) from fault


def read_results(path: Path) -> Results:
    """Read a results file.

    Raises:
        BadResults: one of its kinds; the file is not what a run writes.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as fault:
        raise BadResults(f"the file cannot be read: {fault.strerror}", where=str(path)) from fault
    records = [_record(line, path, number) for number, line in enumerate(lines, start=1)]
    match records:
        case [Header() as header, *body, Footer() as footer]:
            pass
        case [Header(), *_]:
            raise MissingFooter(
                "the file has no footer: it was cut off, or its run was",
                where=str(path),
                advice="run it again",
            )
        case _:
            raise MissingHeader("the file does not begin with a header", where=str(path))
    checks: list[Check] = []
    scenarios: list[ScenarioRun] = []
    for number, record in enumerate(body, start=2):
        match record:
            case Check():
                checks.append(record)
            case ScenarioRun():
                scenarios.append(record)
            case Header() | Footer():
                raise MisplacedRecord(
                    "there is a header or a footer in the middle", where=f"{path}, line {number}"
                )
    _examine(header, checks, footer, path)
    return Results(header=header, checks=tuple(checks), scenarios=tuple(scenarios), footer=footer)


def _record(line: bytes, path: Path, number: int) -> Record:
    where = f"{path}, line {number}"
    try:
        data: _Json = json.loads(line)
    except ValueError as fault:
        raise InvalidRecord(f"the line is no JSON: {fault}", where=where) from fault
    if isinstance(data, dict):
        found = data.get("format", FORMAT)
        if found != FORMAT:
            raise UnknownFormat(
                f"the format is {found!r}, and this version reads {FORMAT}",
                where=where,
                advice="read it with the version of checkrein that wrote it",
            )
    error = next(iter(_validator().iter_errors(data)), None)  # pyright: ignore[reportUnknownMemberType] untyped in the stubs
    if error is not None:
        raise InvalidRecord(
            f"the line is no record: {error.message[:300]}", where=f"{where}, {error.json_path}"
        )
    return msgspec.convert(data, Record)


@cache
def _validator() -> jsonschema.Draft202012Validator:
    text = files("checkrein.fixtures").joinpath(SCHEMA).read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def _examine(header: Header, checks: list[Check], footer: Footer, path: Path) -> None:
    named = {(harness.name, harness.version) for harness in header.harnesses}
    seen: set[tuple[str, str, str]] = set()
    for check in checks:
        if (check.harness, check.version) not in named:
            raise UnknownHarnessInCheck(
                f"the header does not name {check.harness}@{check.version}", where=str(path)
            )
        key = (check.harness, check.version, check.clause)
        if key in seen:
            raise DuplicateCheck(
                f"{check.clause} has two checks on {check.harness}@{check.version}", where=str(path)
            )
        seen.add(key)
    if footer.counts != count(checks) or footer.exit_status != int(any(check.is_red for check in checks)):
        raise WrongCounts("the footer does not agree with the checks", where=str(path), advice="run it again")
