"""A run in parts: the jobs judge every clause once, and their results make one file."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec
import pytest

from checkrein.conformance.clauses import Contract
from checkrein.conformance.job_plan import plan_jobs
from checkrein.conformance.offline import OfflineMeans, OfflineStatus
from checkrein.conformance.results import Results
from checkrein.conformance.results_files import read_results, write_results
from checkrein.conformance.results_merging import ContradictingChecks, Part, UnlikeResults, merge_results
from checkrein.conformance.selection import select_clauses
from checkrein.conformance.target import TargetRequest
from checkrein.conformance.verdicts import Verdict
from tests.conformance.reports.example_results import CLAUDE_CODE, CODEX, check, results_of

TARGETS = (
    TargetRequest(harness="codex", version="0.171.0", path=None),
    TargetRequest(harness="pi", version=None, path=None),
)
COMMAND = ("checkrein", "merge")


@pytest.mark.parametrize("groups", [None, 1, 3, 50])
def test_the_jobs_of_a_harness_judge_each_clause_about_it_once(
    contract: Contract, groups: int | None
) -> None:
    jobs = plan_jobs(TARGETS, contract, groups=groups)
    for target in TARGETS:
        judged = [
            clause
            for job in jobs
            if job.harness == target.harness
            for clause in select_clauses(job.only, contract)
            if contract.by_id[clause].is_about(target.harness)
        ]
        assert sorted(judged) == sorted(one.id for one in contract if one.is_about(target.harness))
    assert len({job.name for job in jobs}) == len(jobs)


def test_there_are_as_many_groups_as_are_asked_for_and_none_is_much_larger(contract: Contract) -> None:
    jobs = plan_jobs(TARGETS[:1], contract, groups=3)
    sizes = [len(select_clauses(job.only, contract)) for job in jobs]
    assert len(jobs) == 3
    assert max(sizes) <= 2 * min(sizes)


def test_a_job_is_texts_only_and_names_the_arguments_of_a_run(contract: Contract) -> None:
    codex, *_, pi = (job.as_json() for job in plan_jobs(TARGETS, contract, groups=1))
    areas = codex["group"].split("+")
    assert shlex.split(codex["arguments"]) == [
        "codex@0.171.0",
        *(word for area in areas for word in ("--only", area)),
    ]
    assert codex["name"].startswith("codex-0.171.0-session-steer")
    assert shlex.split(pi["arguments"])[0] == "pi"


def part(name: str, results: Results) -> Part:
    return Part(file=Path(name), results=results)


def test_the_parts_of_a_run_become_one_file_in_the_order_of_the_contract(
    contract: Contract, tmp_path: Path
) -> None:
    steer = results_of(
        contract,
        check("steer.idle.rejected", CODEX, Verdict.PASS),
        harnesses=(CODEX,),
        run_folder=str(tmp_path / "a"),
        only=("steer",),
    )
    session = results_of(
        contract,
        check("session.env.clean", CODEX, Verdict.FAIL),
        check("session.env.clean", CLAUDE_CODE, Verdict.PASS),
        run_folder=str(tmp_path / "b"),
        only=("session",),
    )

    merged = merge_results([part("a", steer), part("b", session)], contract, command=COMMAND)

    assert [(one.clause, one.harness) for one in merged.checks] == [
        ("session.env.clean", "codex"),
        ("session.env.clean", "claude-code"),
        ("steer.idle.rejected", "codex"),
    ]
    assert merged.header.harnesses == (CODEX, CLAUDE_CODE)
    assert merged.header.only == ("steer", "session")
    assert merged.header.run_folder == str(tmp_path)
    assert merged.footer.exit_status == 1
    assert merged.footer.seconds == 10.0
    assert len(merged.scenarios) == 3
    write_results(merged, tmp_path / "merged.jsonl")
    assert read_results(tmp_path / "merged.jsonl") == merged


def one(contract: Contract, verdict: Verdict) -> Results:
    return results_of(contract, check("steer.idle.rejected", CODEX, verdict), harnesses=(CODEX,))


def with_header(results: Results, **changes: object) -> Results:
    return msgspec.structs.replace(results, header=msgspec.structs.replace(results.header, **changes))


def test_a_check_that_two_parts_have_is_kept_once(contract: Contract) -> None:
    both = [part("a", one(contract, Verdict.PASS)), part("b", one(contract, Verdict.PASS))]
    assert len(merge_results(both, contract, command=COMMAND).checks) == 1


def test_a_check_with_two_verdicts_is_refused(contract: Contract) -> None:
    both = [part("a.jsonl", one(contract, Verdict.PASS)), part("b.jsonl", one(contract, Verdict.FAIL))]
    told = r"steer\.idle\.rejected on codex@0\.171\.0 is pass in a\.jsonl and fail in b\.jsonl"
    with pytest.raises(ContradictingChecks, match=told):
        merge_results(both, contract, command=COMMAND)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"contract_sha256": "c" * 64}, "the contract is .* in a and c{16} in b"),
        ({"kit_version": "0.2.0"}, r"the version of checkrein is 0\.1\.0 in a and 0\.2\.0 in b"),
        (
            {"harnesses": (msgspec.structs.replace(CODEX, binary_sha256="e" * 64),)},
            r"codex@0\.171\.0 is another program",
        ),
    ],
)
def test_parts_of_different_runs_are_refused(
    contract: Contract, changes: dict[str, object], told: str
) -> None:
    results = one(contract, Verdict.PASS)
    with pytest.raises(UnlikeResults, match=told):
        merge_results(
            [part("a", results), part("b", with_header(results, **changes))], contract, command=COMMAND
        )


def test_offline_is_enforced_only_if_it_was_in_every_part(contract: Contract) -> None:
    loose = OfflineStatus(enforced=False, means=OfflineMeans.PROXY, reason="no namespaces here")
    results = one(contract, Verdict.PASS)
    both = [part("a", results), part("b", with_header(results, offline=loose))]
    assert merge_results(both, contract, command=COMMAND).header.offline == loose


def test_a_part_that_was_not_limited_is_told_in_what_the_whole_was_limited_to(contract: Contract) -> None:
    results = one(contract, Verdict.PASS)
    limited = with_header(results, only=("steer",))
    assert merge_results([part("a", results)], contract, command=COMMAND).header.only == ()
    mixed = [part("a", results), part("b", limited)]
    assert merge_results(mixed, contract, command=COMMAND).header.only == ("*", "steer")
