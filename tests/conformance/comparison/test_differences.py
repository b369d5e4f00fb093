"""What is a regression, and what is only different."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from checkrein.adapters.errors import BadRequest
from checkrein.conformance.clauses import Contract, Level, RetiredClause
from checkrein.conformance.comparison.differences import Comparison, Kind, compare_runs
from checkrein.conformance.comparison.markdown import comparison_markdown
from checkrein.conformance.results import Check, HarnessUnderTest, Results
from checkrein.conformance.scrubbing import Scrubber
from checkrein.conformance.verdicts import EnforcedBy, Verdict
from tests.conformance.reports.example_results import CLAUDE_CODE, CODEX, check, results_of

OLDER = msgspec.structs.replace(CODEX, version="0.162.1")
CLAUSE = "steer.order.kept"


def judged(contract: Contract, harness: HarnessUnderTest, *checks: Check) -> Results:
    return results_of(contract, *checks, harnesses=(harness,))


def kinds(comparison: Comparison) -> list[tuple[Kind, str]]:
    return [(one.kind, one.clause) for pair in comparison.pairs for one in pair.differences]


def compared(contract: Contract, old: Check | None, new: Check | None) -> Comparison:
    return compare_runs(
        judged(contract, OLDER, *([old] if old else [])),
        judged(contract, CODEX, *([new] if new else [])),
        contract,
    )


@pytest.mark.parametrize(
    ("before", "now", "kind", "worse"),
    [
        (Verdict.PASS, Verdict.FAIL, Kind.NEW_FAILURE, True),
        (Verdict.PASS, Verdict.NOT_TESTABLE, Kind.NEW_FAILURE, True),
        (Verdict.EXPECTED_FAIL, Verdict.KIT_ERROR, Kind.NEW_FAILURE, True),
        (None, Verdict.FAIL, Kind.NEW_FAILURE, True),
        (Verdict.PASS, None, Kind.MISSING, True),
        (Verdict.FAIL, None, Kind.MISSING, True),
        (Verdict.FAIL, Verdict.PASS, Kind.FIXED, False),
        (Verdict.FAIL, Verdict.EXPECTED_FAIL, Kind.FIXED, False),
        (None, Verdict.PASS, Kind.ADDED, False),
        (Verdict.PASS, Verdict.WARN, Kind.VERDICT, False),
        (Verdict.PASS, Verdict.NOT_APPLICABLE, Kind.VERDICT, False),
        (Verdict.FAIL, Verdict.KIT_ERROR, Kind.VERDICT, False),
    ],
)
def test_each_change_of_a_verdict_has_its_kind(
    contract: Contract, before: Verdict | None, now: Verdict | None, kind: Kind, worse: bool
) -> None:
    found = compared(
        contract,
        None if before is None else check(CLAUSE, OLDER, before),
        None if now is None else check(CLAUSE, CODEX, now),
    )
    assert kinds(found) == [(kind, CLAUSE)]
    assert found.has_regressed is worse


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_same_verdict_is_no_difference(contract: Contract, verdict: Verdict) -> None:
    found = compared(contract, check(CLAUSE, OLDER, verdict, observed="a"), check(CLAUSE, CODEX, verdict))
    assert kinds(found) == []
    assert (found.pairs[0].same, found.pairs[0].still_red) == (
        1,
        int(verdict in (Verdict.FAIL, Verdict.NOT_TESTABLE, Verdict.KIT_ERROR)),
    )


def test_figures_of_an_info_are_told_and_are_no_regression(contract: Contract) -> None:
    found = compared(
        contract,
        check("interrupt.latency", OLDER, Verdict.PASS, level=Level.INFO, observed="80 ms"),
        check("interrupt.latency", CODEX, Verdict.PASS, level=Level.INFO, observed="90 ms"),
    )
    assert kinds(found) == [(Kind.FIGURES, "interrupt.latency")]
    assert not found.has_regressed


def test_an_info_never_is_a_regression(contract: Contract) -> None:
    found = compared(
        contract,
        check("interrupt.latency", OLDER, Verdict.PASS, level=Level.INFO),
        check("interrupt.latency", CODEX, Verdict.FAIL, level=Level.INFO),
    )
    assert kinds(found) == [(Kind.VERDICT, "interrupt.latency")]
    assert not found.has_regressed


def test_that_somebody_else_sees_to_it_is_told_and_is_no_regression(contract: Contract) -> None:
    found = compared(
        contract,
        check(CLAUSE, OLDER, Verdict.PASS, enforced_by=EnforcedBy.HARNESS),
        check(CLAUSE, CODEX, Verdict.PASS, enforced_by=EnforcedBy.ADAPTER),
    )
    assert kinds(found) == [(Kind.ENFORCER, CLAUSE)]
    assert not found.has_regressed


def test_a_clause_that_the_contract_gave_up_is_not_missed(contract: Contract) -> None:
    given_up = RetiredClause(id="steer.sideways", until="2026.10", why="nobody steers sideways")
    newer = Contract(edition=contract.edition, areas=contract.areas, retired=(given_up,))
    old = judged(contract, OLDER, check("steer.sideways", OLDER, Verdict.PASS))
    assert kinds(compare_runs(old, judged(contract, CODEX), newer)) == [(Kind.RETIRED, "steer.sideways")]


def test_the_gravest_comes_first_then_the_order_of_the_contract(contract: Contract) -> None:
    order = [(Verdict.FAIL, Verdict.PASS), (Verdict.PASS, Verdict.FAIL), (Verdict.PASS, Verdict.FAIL)]
    clauses = ("steer.mid-tool.delivered", "steer.idle.rejected", "interrupt.mid-text.quiet")
    old = [check(one, OLDER, before) for one, (before, _) in zip(clauses, order, strict=True)]
    new = [check(one, CODEX, now) for one, (_, now) in zip(clauses, order, strict=True)]
    found = compare_runs(judged(contract, OLDER, *old), judged(contract, CODEX, *new), contract)
    assert [clause for _, clause in kinds(found)] == [clauses[1], clauses[2], clauses[0]]


def titles(old: Results, new: Results, contract: Contract) -> list[str]:
    return [pair.title for pair in compare_runs(old, new, contract).pairs]


def test_one_version_of_a_harness_is_compared_with_the_one_of_the_other_run(contract: Contract) -> None:
    old = results_of(contract, harnesses=(OLDER, CLAUDE_CODE))
    new = results_of(contract, harnesses=(CODEX,))
    assert titles(old, new, contract) == ["codex 0.162.1 → 0.171.0", "claude-code@2.1.332 (old only)"]
    assert titles(new, old, contract) == ["codex 0.171.0 → 0.162.1", "claude-code@2.1.332 (new only)"]


def test_the_same_versions_are_compared_with_each_other(contract: Contract) -> None:
    both = results_of(contract, harnesses=(OLDER, CODEX))
    assert titles(both, both, contract) == ["codex@0.162.1", "codex@0.171.0"]


def test_versions_of_which_nobody_knows_the_partner_are_refused(contract: Contract) -> None:
    newest = msgspec.structs.replace(CODEX, version="0.172.0")
    both = results_of(contract, harnesses=(OLDER, CODEX))
    with pytest.raises(BadRequest, match=r"which versions of codex.*0\.162\.1, 0\.171\.0 with 0\.172\.0"):
        compare_runs(both, results_of(contract, harnesses=(newest,)), contract)


def test_a_harness_that_is_not_run_any_more_is_missed(contract: Contract) -> None:
    old = results_of(contract, check(CLAUSE, CLAUDE_CODE, Verdict.PASS), harnesses=(CODEX, CLAUDE_CODE))
    new = results_of(contract, harnesses=(CODEX,))
    assert compare_runs(old, new, contract).has_regressed


def test_the_markdown_tells_regressions_in_full_and_folds_what_is_only_different(contract: Contract) -> None:
    old = judged(
        contract,
        OLDER,
        check("steer.order.kept", OLDER, Verdict.PASS, observed="1, 2, 3"),
        check("interrupt.latency", OLDER, Verdict.PASS, level=Level.INFO, observed="80 ms"),
    )
    new = judged(
        contract,
        CODEX,
        check("steer.order.kept", CODEX, Verdict.FAIL, expected="1, 2, 3", observed="3, 2 in /home/jane/x"),
        check("interrupt.latency", CODEX, Verdict.PASS, level=Level.INFO, observed="90 ms"),
    )
    text = comparison_markdown(
        compare_runs(old, new, contract), contract, Scrubber(home=Path("/home/jane"), user="jane")
    )
    assert text.splitlines()[:10] == [
        "### Checkrein: codex 0.162.1 → 0.171.0: ❌ 1 regression",
        "",
        "1 new failures, 1 recorded figures differ, 0 as before.",
        "",
        "**New failures (1)**",
        "",
        f"- `steer.order.kept`: pass → fail · {contract.by_id['steer.order.kept'].text}",
        "  - expected: 1, 2, 3",
        "  - observed: 3, 2 in \\~/x",
        "  - observed before: 1, 2, 3",
    ]
    folded = text.partition("<details>")[2]
    assert "- `interrupt.latency` INFO: pass\n  - before: 80 ms\n  - now: 90 ms\n" in folded


def test_different_contracts_are_told(contract: Contract) -> None:
    old = judged(contract, CODEX, check(CLAUSE, CODEX, Verdict.PASS))
    other = msgspec.structs.replace(old, header=msgspec.structs.replace(old.header, contract_sha256="c" * 64))
    text = comparison_markdown(compare_runs(old, other, contract), contract, Scrubber(home=None, user=""))
    assert f"`2026.11 ({'c' * 16})`" in text
