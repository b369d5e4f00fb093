"""Results on disk: JSON Lines, written whole and read strictly."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from checkrein.adapters.errors import CheckreinError
from checkrein.conformance.result_places import found_check, found_in, found_scenario, written_for
from checkrein.conformance.results import FORMAT, Check, Footer, Header, Record, Results, ScenarioRun, count
from checkrein.conformance.scrubbing import scrubber_of_this_machine

if TYPE_CHECKING:
    import jsonschema

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
    """Write a file that is there whole or not at all; keys, home folders and the user's name are left out of it.

    Raises:
        BadResults: the file cannot be written.
    """
    results = written_for(results, path, scrubber_of_this_machine())
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
    """Read a results file; the places in it become whole paths.

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
                where=f"{path}, line {len(records)}, the last one",
                advice="run it again",
            )
        case _:
            raise MissingHeader("the file does not begin with a header", where=f"{path}, line 1")
    checks: dict[int, Check] = {}
    scenarios: list[ScenarioRun] = []
    for number, record in enumerate(body, start=2):
        match record:
            case Check():
                checks[number] = record
            case ScenarioRun():
                scenarios.append(record)
            case Header() | Footer():
                raise MisplacedRecord(
                    "there is a header or a footer in the middle", where=f"{path}, line {number}"
                )
    _examine(header, checks, footer, path)
    header = found_in(header, path)
    return Results(
        header=header,
        checks=tuple(found_check(check, header.run_folder) for check in checks.values()),
        scenarios=tuple(found_scenario(run, header.run_folder) for run in scenarios),
        footer=footer,
    )


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
    import jsonschema  # only here: every worker of a run imports this module, and none of them validates

    text = files("checkrein.fixtures").joinpath(SCHEMA).read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def _examine(header: Header, checks: Mapping[int, Check], footer: Footer, path: Path) -> None:
    """Compare what the lines say of each other; `checks` are by the number of their line."""
    named = {(harness.name, harness.version) for harness in header.harnesses}
    seen: dict[tuple[str, str, str], int] = {}
    for number, check in checks.items():
        where = f"{path}, line {number}"
        if (check.harness, check.version) not in named:
            raise UnknownHarnessInCheck(
                f"the header does not name {check.harness}@{check.version}", where=where
            )
        key = (check.harness, check.version, check.clause)
        if key in seen:
            raise DuplicateCheck(
                f"{check.clause} has a check on {check.harness}@{check.version} already, in line {seen[key]}",
                where=where,
            )
        seen[key] = number
    exit_status = int(any(check.is_red for check in checks.values()))
    # A verdict that came later than the file is not counted in it.
    counted = {verdict: number for verdict, number in count(tuple(checks.values())).items() if number}
    if {
        verdict: number for verdict, number in footer.counts.items() if number
    } != counted or footer.exit_status != exit_status:
        raise WrongCounts(
            "the footer does not agree with the checks",
            where=f"{path}, the last line",
            advice="run it again",
        )
