"""Known failures: strict to read, and what a run writes into them excuses nothing until a person has said why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checkrein.adapters.errors import BadRequest
from checkrein.conformance.baseline_writing import update_baseline
from checkrein.conformance.clauses import Contract, Level
from checkrein.conformance.known_failures import (
    KnownFailure,
    baseline_files,
    load_baseline,
    load_baseline_from,
)
from checkrein.conformance.results import Check, Results
from checkrein.conformance.verdicts import Verdict
from checkrein.conformance.yaml_reading import BadDataFile
from tests.conformance.reports.example_results import CLAUDE_CODE, CODEX, check, results_of

CLAUSE = "steer.order.kept"


def entry(*, clause: str = CLAUSE, versions: str = '["0.171.0"]', reason: str = "it is so") -> str:
    return f"harness: codex\nknown_failures:\n  - clause: {clause}\n    versions: {versions}\n    reason: '{reason}'\n"


def write(folder: Path, text: str, name: str = "codex.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (entry(clause="steer.sideways"), "no clause 'steer.sideways' is about codex"),
        (entry().replace("harness: codex", "harness: codexx"), "there is no harness 'codexx'"),
        (entry(reason=""), "'steer.order.kept' has no reason yet"),
        (entry(reason="TODO: say why"), "'steer.order.kept' has no reason yet"),
        (entry(versions="[]"), "'steer.order.kept' names no version"),
        (entry(versions="[newest]"), "names 'newest', which is no version"),
        (entry(versions="['2..1']"), "names a range that ends before it begins"),
        (entry() + "    since: never\n", "unknown field"),
    ],
)
def test_an_entry_that_says_too_little_or_something_unknown_is_refused_with_its_file(
    tmp_path: Path, contract: Contract, text: str, what: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(BadDataFile, match=re.escape(what)) as refusal:
        load_baseline_from([path], contract)
    assert str(path) in refusal.value.where
    assert "\n" not in refusal.value.what


def test_two_files_about_one_harness_are_refused(tmp_path: Path, contract: Contract) -> None:
    paths = [write(tmp_path, entry()), write(tmp_path, entry(), "other.yaml")]
    with pytest.raises(BadDataFile, match=r"codex\.yaml is about codex, too"):
        load_baseline_from(paths, contract)


@pytest.mark.parametrize(
    ("version", "covered"),
    [
        ("0.162.1", True),
        ("0.165.0", True),
        ("0.165.0-alpha.1", True),
        ("0.171.0", True),
        ("0.171.1", False),
        ("0.99.0", False),
        ("0.180.0", True),
        ("local", False),
    ],
)
def test_versions_are_named_one_by_one_or_as_a_range_with_both_ends(version: str, covered: bool) -> None:
    known = KnownFailure(clause=CLAUSE, versions=("0.162.1..0.171.0", "0.180.0"), reason="so")
    assert known.covers(version) is covered


def test_the_users_own_baseline_counts_beside_that_of_the_kit(tmp_path: Path) -> None:
    own = load_baseline(write(tmp_path, entry()))
    assert own.find("codex", "0.171.0", CLAUSE) is not None
    assert set(load_baseline().failures) <= set(own.failures)
    assert load_baseline().find("codex", "0.171.0", CLAUSE) is None
    assert load_baseline(tmp_path).find("codex", "0.171.0", CLAUSE) is not None


def test_a_baseline_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadDataFile, match="no such baseline"):
        baseline_files(tmp_path / "nothing.yaml")


def of_codex(contract: Contract, *checks: Check) -> Results:
    return results_of(contract, *checks, harnesses=(CODEX,))


def failed(clause: str = CLAUSE, observed: str = "not in order") -> Check:
    return check(clause, CODEX, Verdict.FAIL, observed=observed)


def test_new_failures_are_written_with_a_reason_that_is_still_to_be_written(
    tmp_path: Path, contract: Contract
) -> None:
    observed = "it said: 'a', \"b\" # c\n  and {d}: " + "word " * 60
    (update,) = update_baseline(of_codex(contract, failed(observed=observed)), tmp_path)

    assert (update.file, update.added, update.removed) == (tmp_path / "codex.yaml", (CLAUSE,), ())
    with pytest.raises(BadDataFile, match="has no reason yet"):
        load_baseline_from([update.file], contract)

    text = update.file.read_text()
    assert max(map(len, text.splitlines())) <= 120
    update.file.write_text(text.replace("TODO: ", "The harness sorts them: "))
    known = load_baseline_from([update.file], contract).find("codex", "0.171.0", CLAUSE)
    assert known is not None
    assert known.reason == f"The harness sorts them: {' '.join(observed.split())}"


def test_only_what_a_harness_broke_is_written(tmp_path: Path, contract: Contract) -> None:
    results = of_codex(
        contract,
        check("steer.order.kept", CODEX, Verdict.KIT_ERROR),
        check("steer.idle.rejected", CODEX, Verdict.NOT_TESTABLE),
        check("interrupt.mark.visible", CODEX, Verdict.WARN, level=Level.SHOULD),
        check("interrupt.latency", CODEX, Verdict.FAIL, level=Level.INFO),
        check("interrupt.mid-text.quiet", CODEX, Verdict.EXPECTED_FAIL),
        check("steer.history.kept", CODEX, Verdict.PASS),
    )
    assert update_baseline(results, tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_stale_version_is_taken_out_and_comments_at_the_beginning_stay(
    tmp_path: Path, contract: Contract
) -> None:
    path = write(tmp_path, "# ours\n" + entry(versions='["0.162.1", "0.171.0"]'))
    stale = failed(observed="the baseline says that it fails, but it holds: remove the stale entry")
    (update,) = update_baseline(of_codex(contract, stale), path)
    assert update.removed == (CLAUSE,)
    assert path.read_text().startswith("# ours\nharness: codex\n")
    assert load_baseline_from([path], contract).failures["codex", CLAUSE].versions == ("0.162.1",)

    write(tmp_path, entry())
    update_baseline(of_codex(contract, stale), path)
    assert load_baseline_from([path], contract).failures == {}


def test_a_stale_range_is_left_to_a_person(tmp_path: Path, contract: Contract) -> None:
    path = write(tmp_path, entry(versions='["0.162.1..0.171.0"]'))
    before = path.read_text()
    assert update_baseline(of_codex(contract, failed()), path) == ()
    assert path.read_text() == before


def test_a_failure_that_is_known_of_another_version_asks_again(tmp_path: Path, contract: Contract) -> None:
    path = write(tmp_path, entry(versions='["0.162.1"]'))
    (update,) = update_baseline(of_codex(contract, failed()), path)
    assert update.added == (CLAUSE,)
    assert '["0.162.1", "0.171.0"]' in path.read_text()
    with pytest.raises(BadDataFile, match="has no reason yet"):
        load_baseline_from([path], contract)


def test_one_file_cannot_hold_two_harnesses(tmp_path: Path, contract: Contract) -> None:
    path = write(tmp_path, entry())
    results = results_of(contract, check(CLAUSE, CLAUDE_CODE, Verdict.FAIL), harnesses=(CLAUDE_CODE,))
    with pytest.raises(BadRequest, match="about codex, and claude-code was run"):
        update_baseline(results, path)
