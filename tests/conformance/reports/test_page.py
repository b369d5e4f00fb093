"""The HTML page as text: whole in itself, and nothing from a harness takes effect in it."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from checkrein.adapters.acts import ActKind
from checkrein.conformance.clauses import Contract, Level
from checkrein.conformance.reports.junit import render_junit
from checkrein.conformance.reports.markdown import render_markdown
from checkrein.conformance.reports.report_page import render_page
from checkrein.conformance.results import Results
from checkrein.conformance.scrubbing import Scrubber
from checkrein.conformance.verdicts import Verdict
from tests.conformance.reports.example_results import CODEX, ROWS, check, every_verdict, kept_run, results_of

SCRUBBER = Scrubber(home=Path("/home/jane"), user="jane")


class Embedded(msgspec.Struct):
    """A timeline in the page: each row is its number, milliseconds, lane, title and text."""

    total: int
    missing: str
    rows: list[tuple[int, int, str, str, str]]


def timelines(page: str) -> list[Embedded]:
    found = re.search(r'<script type="application/json" id="timelines">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert "<" not in found[1], "it could end the element, or begin a comment"
    return msgspec.json.decode(found[1], type=list[Embedded])


def of_one_failure(contract: Contract, folder: Path, rows: list[dict[str, object]]) -> Results:
    return results_of(
        contract,
        check("steer.idle.rejected", CODEX, Verdict.FAIL, evidence=kept_run(folder, rows)),
        harnesses=(CODEX,),
        run_folder=str(folder),
    )


def test_every_check_is_on_the_page_and_in_the_matrix(contract: Contract) -> None:
    results = every_verdict(contract)
    page = render_page(results, contract, SCRUBBER, out=None)
    for number, one in enumerate(results.checks, start=1):
        assert page.count(f'id="c{number}" data-verdict="{one.verdict.value}"') == 1
        assert page.count(f'href="#c{number}"') == 1
    assert page.count('data-red="yes"') == len(results.red) == 3


def test_the_page_names_no_address_outside_and_no_handler(contract: Contract, tmp_path: Path) -> None:
    page = render_page(of_one_failure(contract, tmp_path, ROWS), contract, SCRUBBER, out=tmp_path / "r.html")
    markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert re.findall(r'(?:src|href|action)="(?!#|codex%40|codex@)[^"]*"', markup) == []
    assert re.search(r"<[^>]*\son\w+=", markup) is None
    assert "default-src 'none'" in page


def test_texts_of_a_harness_are_escaped(contract: Contract) -> None:
    page = render_page(every_verdict(contract), contract, SCRUBBER, out=None)
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert page.count("</script>") == 2


def test_the_timeline_is_embedded_scrubbed_and_in_lanes(contract: Contract, tmp_path: Path) -> None:
    page = render_page(of_one_failure(contract, tmp_path, ROWS), contract, SCRUBBER, out=None)
    (timeline,) = timelines(page)
    rows = timeline.rows
    assert [row[2] for row in rows] == ["person", "driver", "harness", "harness", "model", "harness"]
    assert [row[3] for row in rows][:3] == ["steers", "turn/steer", "system init"]
    assert "jane" not in page
    assert "sk-ant" not in page


def test_what_the_person_did_is_told_in_words(contract: Contract, tmp_path: Path) -> None:
    acts: list[tuple[str, dict[str, str]]] = [
        ("open", {"about": "policy ask"}),
        ("start", {"text": "build it"}),
        ("deny", {"about": "rm -rf build", "text": "not on main"}),
        ("allow_always", {"about": "make"}),
        ("interrupt", {}),
    ]
    rows: list[dict[str, object]] = [{"source": "person", "kind": kind, "data": data} for kind, data in acts]
    (timeline,) = timelines(
        render_page(of_one_failure(contract, tmp_path, rows), contract, SCRUBBER, out=None)
    )
    assert [row[2:] for row in timeline.rows] == [
        ("person", "opens a session", "policy ask"),
        ("person", "gives a prompt", "build it"),
        ("person", "denies", "rm -rf build, with: not on main"),
        ("person", "always allows", "make"),
        ("person", "interrupts", ""),
    ]


def test_of_a_long_timeline_what_the_person_did_is_shown(contract: Contract, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"kind": f"row {number}"} for number in range(1, 3001)]
    rows[1499] = {"source": "person", "kind": "interrupt"}
    results = results_of(
        contract,
        check("steer.idle.rejected", CODEX, Verdict.PASS, evidence=kept_run(tmp_path, rows)),
        harnesses=(CODEX,),
        run_folder=str(tmp_path),
    )
    (timeline,) = timelines(render_page(results, contract, SCRUBBER, out=None))
    assert [(row[0], row[3]) for row in timeline.rows if row[2] == "person"] == [(1500, "interrupts")]
    assert len(timeline.rows) == 40


@pytest.mark.parametrize("kind", ActKind)
def test_every_act_has_words_of_its_own(contract: Contract, tmp_path: Path, kind: ActKind) -> None:
    rows: list[dict[str, object]] = [{"source": "person", "kind": kind.value}]
    (timeline,) = timelines(
        render_page(of_one_failure(contract, tmp_path, rows), contract, SCRUBBER, out=None)
    )
    assert timeline.rows[0][3] != kind.value.replace("_", " ")


def test_files_beside_the_page_are_linked_and_others_are_not(contract: Contract, tmp_path: Path) -> None:
    results = of_one_failure(contract, tmp_path, ROWS)
    beside = render_page(results, contract, SCRUBBER, out=tmp_path / "report.html")
    links = re.findall(r'<a href="(codex[^"]*)">([^<]*)</a>', beside)
    assert links == [
        ("codex%400.171.0/it/transcript.jsonl", "transcript"),
        ("codex%400.171.0/it/requests/001.json", "model request 1"),
    ]
    assert "transcript.jsonl" not in render_page(results, contract, SCRUBBER, out=None)


def test_a_link_that_would_tell_where_a_home_is_is_left_out(contract: Contract, tmp_path: Path) -> None:
    results = of_one_failure(contract, tmp_path, ROWS)
    telling = Scrubber(home=tmp_path, user="")
    page = render_page(results, contract, telling, out=tmp_path.parent / "elsewhere" / "deep" / "report.html")
    assert tmp_path.name not in page
    assert ">transcript</a>" not in page


def test_a_transcript_that_is_gone_is_said_to_be_gone(contract: Contract, tmp_path: Path) -> None:
    results = of_one_failure(contract, tmp_path, ROWS)
    Path(results.checks[0].evidence.transcript).unlink()
    (timeline,) = timelines(render_page(results, contract, SCRUBBER, out=tmp_path / "r.html"))
    missing = "the transcript cannot be read: No such file or directory"
    assert timeline == Embedded(total=0, missing=missing, rows=[])


def test_of_a_long_timeline_the_ends_and_the_evidence_are_shown(contract: Contract, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"kind": f"row {number}"} for number in range(1, 3001)]
    results = results_of(
        contract,
        check("steer.idle.rejected", CODEX, Verdict.PASS, evidence=kept_run(tmp_path, rows)),
        harnesses=(CODEX,),
        run_folder=str(tmp_path),
    )
    (timeline,) = timelines(render_page(results, contract, SCRUBBER, out=None))
    numbers = [row[0] for row in timeline.rows]
    assert timeline.total == 3000
    assert len(numbers) == 40
    assert {1, 2, 3000} <= set(numbers)
    assert numbers == sorted(numbers)


def test_results_of_another_contract_are_told_to_be(contract: Contract) -> None:

    results = every_verdict(contract)
    other = msgspec.structs.replace(
        results, header=msgspec.structs.replace(results.header, contract_sha256="c" * 64)
    )
    notice = "judged by another contract"
    assert notice in render_page(other, contract, SCRUBBER, out=None)
    assert notice not in render_page(results, contract, SCRUBBER, out=None)


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("level", list(Level))
def test_every_verdict_can_be_shown_everywhere(contract: Contract, verdict: Verdict, level: Level) -> None:
    one = check("steer.idle.rejected", CODEX, verdict, level=level)
    results = results_of(contract, one, harnesses=(CODEX,))
    assert f"</span> 1 {verdict.words}" in render_page(results, contract, SCRUBBER, out=None)
    assert f" {verdict.words} |" in render_markdown(results, contract, SCRUBBER)
    assert ("<failure" in render_junit(results, contract, SCRUBBER)) is (
        one.is_red and verdict is Verdict.FAIL
    )
