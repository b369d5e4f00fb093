"""Markdown for pull requests: one screen, and nothing in it takes effect."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checkrein.conformance.clauses import Contract
from checkrein.conformance.reports.markdown import MOST_RED, render_markdown
from checkrein.conformance.reports.markdown_text import code, plain
from checkrein.conformance.results import Evidence
from checkrein.conformance.scrubbing import Scrubber
from checkrein.conformance.verdicts import Verdict
from tests.conformance.reports.example_results import CODEX, NASTY, check, every_verdict, results_of

SCRUBBER = Scrubber(home=Path("/home/jane"), user="jane")


def test_the_matrix_by_area_comes_first_then_what_is_red_with_expected_observed_and_evidence(
    contract: Contract,
) -> None:
    evidence = Evidence(
        run_folder="/runs/1/codex@0.171.0/it",
        transcript="/runs/1/codex@0.171.0/it/transcript.jsonl",
        wire_rows=(3, 4),
        model_requests=(1,),
    )
    results = results_of(
        contract,
        check("steer.idle.rejected", CODEX, Verdict.FAIL, evidence=evidence),
        check("steer.order.kept", CODEX, Verdict.PASS),
        harnesses=(CODEX,),
    )

    lines = render_markdown(results, contract, SCRUBBER).splitlines()

    assert lines[:5] == [
        "### Checkrein: ❌ 1 red on `codex@0.171.0`",
        "",
        "| area | `codex@0.171.0` |",
        "| --- | --- |",
        "| steer | ✅ 1 ❌ 1 |",
    ]
    text = contract.by_id["steer.idle.rejected"].text
    assert lines[6:10] == [
        f"**`steer.idle.rejected`** on `codex@0.171.0`: **fail** · {plain(text)}",
        "- expected: one thing",
        "- observed: another thing",
        "- evidence: `codex@0.171.0/it`, rows 3, 4 of `transcript.jsonl`, model requests 1",
    ]


def test_without_a_red_check_it_says_so_and_keeps_the_matrix(contract: Contract) -> None:
    results = results_of(contract, check("steer.idle.rejected", CODEX, Verdict.PASS), harnesses=(CODEX,))

    text = render_markdown(results, contract, SCRUBBER)

    assert text.startswith("### Checkrein: ✅ nothing red on `codex@0.171.0`\n")
    assert "| `steer.idle.rejected` | ✅ pass |" in text


def test_only_red_checks_are_told_in_full(contract: Contract) -> None:
    told = re.findall(
        r"^\*\*`(.+?)`\*\* on", render_markdown(every_verdict(contract), contract, SCRUBBER), re.M
    )

    assert told == ["steer.idle.rejected", "interrupt.mid-text.quiet", "native.codex.turn-start"]


def test_more_red_checks_than_fit_on_a_screen_are_counted(contract: Contract) -> None:
    clauses = contract.ids[: MOST_RED + 3]
    results = results_of(
        contract,
        *(check(clause, CODEX, Verdict.FAIL) for clause in clauses),
        harnesses=(CODEX,),
    )

    text = render_markdown(results, contract, SCRUBBER)

    assert text.count("- observed: ") == MOST_RED
    assert "… and 3 more that are red" in text


def test_what_a_harness_says_is_neither_html_nor_a_mention_nor_a_link(contract: Contract) -> None:
    text = render_markdown(every_verdict(contract), contract, SCRUBBER)

    outside = re.sub(r"`[^`\n]*`", "", text).replace("<details><summary>", "").replace("</summary>", "")
    assert "<" not in outside.replace("</details>", "")
    assert "@" not in outside
    assert r"\[link\](http://x)" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb", "a b"),
        ("a|b <c> & d", "a&#124;b &lt;c&gt; &amp; d"),
        ("x" * 20, r"xx\[…16 characters not shown…\]xx"),
        ("\x1b[1m", r"⟨U+001B⟩\[1m"),
    ],
)
def test_text_is_shown_on_one_line_as_it_is(text: str, expected: str) -> None:
    assert plain(text, limit=4 if text.startswith("x") else 300) == expected


def test_code_with_ticks_gets_a_longer_fence() -> None:
    assert code("a `b` c") == "`` a `b` c ``"
    assert NASTY.count("`") == 2
    assert code(NASTY).startswith("`` ")
