"""Results: written whole, read strictly, and shown from the file alone."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import jsonschema
import msgspec
import pytest
from rich.console import Console, RenderableType

from checkrein.conformance.arena import DUMMY_KEY
from checkrein.conformance.clauses import Contract, Level
from checkrein.conformance.failure_screen import render_failure
from checkrein.conformance.matrix import render_matrix
from checkrein.conformance.offline import OfflineMeans, OfflineStatus
from checkrein.conformance.results import (
    Check,
    Evidence,
    HarnessUnderTest,
    Header,
    Results,
    ScenarioRun,
    finish,
)
from checkrein.conformance.results_files import (
    BadResults,
    DuplicateCheck,
    InvalidRecord,
    MisplacedRecord,
    MissingFooter,
    MissingHeader,
    UnknownFormat,
    UnknownHarnessInCheck,
    WrongCounts,
    read_results,
    write_results,
)
from checkrein.conformance.verdicts import EnforcedBy, Verdict, is_red, verdict_of

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = REPOSITORY / "fixtures" / "golden"

HARNESSES = (
    HarnessUnderTest(name="codex", version="0.171.0", binary_sha256="a" * 64),
    HarnessUnderTest(name="claude-code", version="2.1.332", binary_sha256="b" * 64),
)


def check(clause: str, harness: int, verdict: Verdict, **more: object) -> Check:
    fields: dict[str, object] = {
        "level": Level.MUST,
        "enforced_by": None,
        "expected": "something",
        "observed": "something else",
        "scenario": "test_it",
        "evidence": Evidence(),
        **more,
    }
    tested = HARNESSES[harness]
    return Check(harness=tested.name, version=tested.version, clause=clause, verdict=verdict, **fields)  # pyright: ignore[reportArgumentType] the fields of a check


def results_of(contract: Contract, *checks: Check) -> Results:
    header = Header(
        kit_version="0.1.0",
        edition="2026.11",
        contract_sha256="c" * 64,
        harnesses=HARNESSES,
        os="Linux 6.1 x86_64",
        python="CPython 3.11.7 (linux)",
        offline=OfflineStatus(enforced=True, means=OfflineMeans.NAMESPACE),
        started_at="2026-11-29T12:00:00+00:00",
        command=("checkrein", "run"),
        run_folder="/runs/1",
    )
    runs = [
        ScenarioRun(
            harness=tested.name,
            version=tested.version,
            name="test_it",
            seconds=4.0,
            startup_seconds=1.0,
            starts=1,
            run_folder="/runs/1/it",
        )
        for tested in reversed(HARNESSES)
    ]
    return finish(header, checks, runs, contract=contract, seconds=5.0)


@pytest.fixture
def results(contract: Contract) -> Results:
    return results_of(
        contract,
        check("interrupt.mark.visible", 1, Verdict.WARN, level=Level.SHOULD),
        check("interrupt.mid-text.quiet", 0, Verdict.PASS, enforced_by=EnforcedBy.ADAPTER),
        check("steer.idle.rejected", 1, Verdict.FAIL),
        check("steer.idle.rejected", 0, Verdict.PASS, enforced_by=EnforcedBy.HARNESS),
        check("interrupt.mid-text.quiet", 1, Verdict.NOT_TESTABLE),
        check("session.fork.original-untouched", 0, Verdict.NOT_APPLICABLE),
        check("session.fork.original-untouched", 1, Verdict.EXPECTED_FAIL),
        check("native.codex.turn-start", 0, Verdict.KIT_ERROR),
    )


@pytest.fixture
def written(results: Results, tmp_path: Path) -> Path:
    path = tmp_path / "results.jsonl"
    write_results(results, path)
    return path


def shown(renderable: RenderableType, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False, highlight=False)
    console.print(renderable, soft_wrap=True)
    text = console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] a StringIO
    return "\n".join(line.rstrip() for line in str(text).splitlines()) + "\n"  # pyright: ignore[reportUnknownArgumentType] a StringIO


def test_the_order_is_that_of_the_contract_then_of_the_harnesses(results: Results) -> None:
    assert [(one.clause, one.harness) for one in results.checks] == [
        ("session.fork.original-untouched", "codex"),
        ("session.fork.original-untouched", "claude-code"),
        ("steer.idle.rejected", "codex"),
        ("steer.idle.rejected", "claude-code"),
        ("interrupt.mid-text.quiet", "codex"),
        ("interrupt.mid-text.quiet", "claude-code"),
        ("interrupt.mark.visible", "claude-code"),
        ("native.codex.turn-start", "codex"),
    ]
    assert [run.harness for run in results.scenarios] == ["codex", "claude-code"]


def test_what_is_written_is_what_is_read(results: Results, written: Path) -> None:
    assert read_results(written) == results


@pytest.fixture
def kept_beside(results: Results, tmp_path: Path) -> Results:
    """A run whose folder, and one scenario in it, lie where the results file does."""
    folder = tmp_path / "run" / "codex@0.171.0" / "it"
    evidence = Evidence(run_folder=str(folder), transcript=str(folder / "transcript.jsonl"))
    return msgspec.structs.replace(
        results,
        header=msgspec.structs.replace(results.header, run_folder=str(tmp_path / "run")),
        checks=tuple(msgspec.structs.replace(one, evidence=evidence) for one in results.checks),
        scenarios=tuple(msgspec.structs.replace(one, run_folder=str(folder)) for one in results.scenarios),
    )


@pytest.mark.parametrize("name", ["run/results.jsonl", "results.jsonl"])
def test_places_beside_the_file_are_relative_to_it_and_move_with_it(
    kept_beside: Results, tmp_path: Path, name: str
) -> None:
    write_results(kept_beside, tmp_path / name)
    assert str(tmp_path) not in (tmp_path / name).read_text()
    assert read_results(tmp_path / name) == kept_beside

    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / name).parent.mkdir(exist_ok=True)
    (moved / name).write_bytes((tmp_path / name).read_bytes())
    found = read_results(moved / name)
    assert found.header.run_folder == str(moved / "run")
    assert found.checks[0].evidence.transcript == str(moved / "run/codex@0.171.0/it/transcript.jsonl")


def test_no_home_folder_and_no_key_is_written(results: Results, tmp_path: Path) -> None:
    home = str(Path.home())
    telling = msgspec.structs.replace(
        results,
        header=msgspec.structs.replace(
            results.header,
            command=("checkrein", "run", f"codex={home}/bin/codex"),
            run_folder=f"{home}/runs/1",
        ),
        checks=tuple(
            msgspec.structs.replace(
                one,
                observed=f"it wrote {home}/x with {DUMMY_KEY}",
                evidence=Evidence(
                    run_folder=f"{home}/runs/1/it", transcript=f"{home}/other/transcript.jsonl"
                ),
            )
            for one in results.checks
        ),
    )
    path = tmp_path / "results.jsonl"
    write_results(telling, path)

    text = path.read_text()
    assert home not in text
    assert DUMMY_KEY not in text
    assert "it wrote ~/x with [key]" in text
    found = read_results(path)
    assert found.header.run_folder == f"{home}/runs/1"
    assert found.checks[0].evidence == telling.checks[0].evidence


def test_a_verdict_that_is_newer_than_the_file_is_not_missed_in_its_counts(
    results: Results, tmp_path: Path
) -> None:
    counts = {verdict: number for verdict, number in results.footer.counts.items() if number}
    older = msgspec.structs.replace(results, footer=msgspec.structs.replace(results.footer, counts=counts))
    path = tmp_path / "results.jsonl"
    write_results(older, path)
    assert read_results(path).checks == results.checks


def test_every_line_fits_the_published_schema(written: Path) -> None:
    schema = json.loads((REPOSITORY / "fixtures/schemas/results.schema.json").read_text())
    lines = written.read_text().splitlines()
    assert len(lines) == 12
    for line in lines:
        jsonschema.validate(json.loads(line), schema)


def drop_last(lines: list[str]) -> list[str]:
    return lines[:-1]


def cut_last_line(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1][:20]]


def drop_first(lines: list[str]) -> list[str]:
    return lines[1:]


def empty(_: list[str]) -> list[str]:
    return []


def double_header(lines: list[str]) -> list[str]:
    return [lines[0], *lines]


def double_check(lines: list[str]) -> list[str]:
    return [lines[0], lines[1], *lines[1:]]


def drop_check(lines: list[str]) -> list[str]:
    return [lines[0], *lines[2:]]


def other_harness(lines: list[str]) -> list[str]:
    return [lines[0].replace('"codex"', '"kodex"'), *lines[1:]]


def unknown_field(lines: list[str]) -> list[str]:
    return [lines[0], lines[1].replace("{", '{"colour":"red",', 1), *lines[2:]]


def unknown_verdict(lines: list[str]) -> list[str]:
    return [lines[0], lines[1].replace('"not_applicable"', '"fine"'), *lines[2:]]


def next_format(lines: list[str]) -> list[str]:
    return [lines[0].replace('"format":1', '"format":2'), *lines[1:]]


def whitewash(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1].replace('"exit_status":1', '"exit_status":0')]


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (drop_last, MissingFooter),
        (cut_last_line, InvalidRecord),
        (drop_first, MissingHeader),
        (empty, MissingHeader),
        (double_header, MisplacedRecord),
        (double_check, DuplicateCheck),
        (drop_check, WrongCounts),
        (other_harness, UnknownHarnessInCheck),
        (unknown_field, InvalidRecord),
        (unknown_verdict, InvalidRecord),
        (next_format, UnknownFormat),
        (whitewash, WrongCounts),
    ],
)
def test_a_file_that_is_not_whole_is_refused(
    written: Path, damage: Callable[[list[str]], list[str]], error: type[BadResults]
) -> None:
    written.write_text("".join(f"{line}\n" for line in damage(written.read_text().splitlines())))
    with pytest.raises(error) as refusal:
        read_results(written)
    assert str(written) in refusal.value.where
    assert "line" in refusal.value.where


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadResults, match="cannot be read"):
        read_results(tmp_path / "nothing.jsonl")


def test_only_reds_make_the_exit_status_1(contract: Contract) -> None:
    good = [
        check("steer.idle.rejected", 0, Verdict.PASS),
        check("steer.idle.rejected", 1, Verdict.EXPECTED_FAIL),
    ]
    assert results_of(contract, *good).footer.exit_status == 0
    for verdict in (Verdict.FAIL, Verdict.NOT_TESTABLE, Verdict.KIT_ERROR):
        assert results_of(contract, good[0], check("steer.idle.rejected", 1, verdict)).footer.exit_status == 1


@pytest.mark.parametrize("verdict", list(Verdict))
def test_an_info_is_never_red(verdict: Verdict) -> None:
    assert not is_red(verdict, Level.INFO)


@pytest.mark.parametrize(
    ("level", "holds", "declared", "verdict"),
    [
        (Level.MUST, True, True, Verdict.PASS),
        (Level.MUST, False, True, Verdict.FAIL),
        (Level.SHOULD, False, True, Verdict.WARN),
        (Level.INFO, False, True, Verdict.WARN),
        (Level.MUST, True, False, Verdict.DRIFT),
        (Level.MUST, False, False, Verdict.WARN),
    ],
)
def test_level_and_declaration_decide_what_a_verdict_is(
    level: Level, holds: bool, declared: bool, verdict: Verdict
) -> None:
    assert verdict_of(level, holds=holds, declared=declared) is verdict


def test_the_matrix_looks_like_the_golden_one(written: Path) -> None:
    assert shown(render_matrix(read_results(written))) == (GOLDEN / "matrix.txt").read_text()


@pytest.mark.parametrize("versions", [1, 2])
def test_on_eighty_columns_no_clause_and_no_verdict_is_cut(contract: Contract, versions: int) -> None:
    many = tuple(
        msgspec.structs.replace(harness, version=f"{harness.version}{number}")
        for harness in HARNESSES
        for number in range(versions)
    )
    checks = tuple(
        msgspec.structs.replace(
            check(clause.id, 0, verdict, enforced_by=EnforcedBy.ADAPTER, level=clause.level),
            harness=harness.name,
            version=harness.version,
        )
        for verdict, clause in zip(cycle(Verdict), contract, strict=False)
        for harness in many
    )
    results = results_of(contract)
    header = msgspec.structs.replace(results.header, harnesses=many)
    text = shown(render_matrix(msgspec.structs.replace(results, header=header, checks=checks)), width=80)
    table = text[: text.index("clauses without a level")].splitlines()
    assert all(len(line) <= 80 and "…" not in line for line in table)
    assert all(any(line.split()[0] == clause for line in table if line.strip()) for clause in contract.ids)
    assert "* the harness alone does not keep it" in text
    assert "kit err: kit error" in text
    assert all(harness.label in text or harness.version in table[1] for harness in many)


def test_the_screen_of_a_failure_looks_like_the_golden_one(contract: Contract, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"n": 1, "at_ms": 0.5, "source": "note", "kind": "session_open", "data": {}},
        {
            "n": 2,
            "at_ms": 1.5,
            "source": "driver",
            "kind": "to_harness",
            "data": {"message": {"do": "start"}},
        },
        {"n": 3, "at_ms": 2.5, "source": "harness", "kind": "stderr", "data": {"text": "oh\u202eno"}},
        {"n": 4, "at_ms": 3.5, "source": "harness", "kind": "from_harness", "data": {"text": "x" * 400}},
    ]
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "requests").mkdir()
    (tmp_path / "requests" / "001.json").write_text(json.dumps({"lane": "main", "news": "do it"}))
    failed = check(
        "steer.idle.rejected",
        0,
        Verdict.FAIL,
        observed="the text was in request 2",
        evidence=Evidence(
            run_folder=str(tmp_path), transcript=str(transcript), wire_rows=(2, 3, 4), model_requests=(1, 2)
        ),
    )
    text = shown(render_failure(failed, contract)).replace(str(tmp_path), "RUN")
    assert text == (GOLDEN / "failure-screen.txt").read_text()
