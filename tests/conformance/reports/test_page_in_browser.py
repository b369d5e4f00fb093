"""The HTML page in a real Chromium: it works, by keyboard too, and asks nobody for anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.reports.report_page import render_page
from checkrein.conformance.scrubbing import Scrubber
from checkrein.conformance.verdicts import Verdict
from tests.conformance.reports.browser import open_browser
from tests.conformance.reports.example_results import (
    CLAUDE_CODE,
    CODEX,
    NASTY,
    ROWS,
    check,
    kept_run,
    results_of,
)

WIDE, NARROW = (1280, 900), (360, 740)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A page and what it did beside being shown."""

    page: Page
    said: list[str]
    requests: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    contract = load_contract()
    evidence = kept_run(folder, ROWS)
    results = results_of(
        contract,
        check("steer.idle.rejected", CODEX, Verdict.FAIL, observed=NASTY, evidence=evidence),
        check("steer.idle.rejected", CLAUDE_CODE, Verdict.PASS),
        check("steer.order.kept", CODEX, Verdict.PASS),
        check("interrupt.mid-text.quiet", CLAUDE_CODE, Verdict.NOT_APPLICABLE),
        run_folder=str(folder),
    )
    page = folder / "report.html"
    page.write_text(
        render_page(results, contract, Scrubber(home=Path("/home/jane"), user="jane"), out=page),
        encoding="utf-8",
    )
    return page


@pytest.fixture(params=[WIDE, NARROW], ids=["wide", "narrow"])
def shown(browser: Browser, written: Path, request: pytest.FixtureRequest) -> Iterator[Shown]:
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    said: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda asked: requests.append(asked.url))
    page.goto(written.as_uri())
    yield Shown(page=page, said=said, requests=requests)
    assert said == []
    assert requests == [written.as_uri()]
    context.close()


def visible_checks(page: Page) -> list[str]:
    return page.locator("details.check:visible .clause").all_inner_texts()


def test_the_filter_leaves_what_fits_by_text_verdict_and_harness(shown: Shown) -> None:
    page = shown.page
    assert len(visible_checks(page)) == 4

    page.get_by_label("Text").fill("ORDER")
    assert visible_checks(page) == ["steer.order.kept"]
    assert page.locator("tr.clause-row:visible").count() == 1
    expect(page.locator("output")).to_have_text("1 of 4 checks")

    page.get_by_role("button", name="Clear").click()
    expect(page.locator("output")).to_have_text("4 of 4 checks")

    page.get_by_label("Verdict").select_option("red ones")
    assert visible_checks(page) == ["steer.idle.rejected"]

    page.get_by_label("Verdict").select_option("")
    page.get_by_label("Harness").select_option("claude-code@2.1.332")
    assert visible_checks(page) == ["steer.idle.rejected", "interrupt.mid-text.quiet"]


def test_a_failure_opens_with_its_texts_as_they_are_and_its_timeline_in_lanes(shown: Shown) -> None:
    page = shown.page
    failure = page.locator("#red details.check")
    expect(failure.locator(".lanes")).to_have_count(0)

    failure.locator("summary").first.click()

    expect(failure.locator(".text")).to_be_visible()
    expect(failure.locator("dd").filter(has_text="</script><img src=x onerror=alert(1)>")).to_be_visible()
    assert page.locator("img").count() == 0
    lanes = [
        next(name for name in ("person", "driver", "harness", "model") if f"in-{name}" in row)
        for row in failure.locator(".lane-row:not(.head)").evaluate_all(
            "rows => rows.map((row) => row.className)"
        )
    ]
    assert lanes == ["person", "driver", "harness", "harness", "model", "harness"]
    expect(failure.locator(".lane-row.evidence")).to_contain_text("turn/steer")
    assert "nobody" not in str(failure.locator(".lanes").get_attribute("class"))
    drawn = failure.locator(".lanes").inner_text()
    assert "~/work" in drawn
    assert "ERROR key [key]" in drawn
    assert "jane" not in drawn


def test_a_timeline_without_a_person_leaves_that_lane_little_room(browser: Browser, tmp_path: Path) -> None:
    contract = load_contract()
    widths: list[float] = []
    for name, rows in (("with", ROWS), ("without", ROWS[1:])):
        folder = tmp_path / name
        results = results_of(
            contract,
            check("steer.idle.rejected", CODEX, Verdict.FAIL, evidence=kept_run(folder, rows)),
            harnesses=(CODEX,),
            run_folder=str(folder),
        )
        report = tmp_path / f"{name}.html"
        scrubber = Scrubber(home=Path("/home/jane"), user="jane")
        report.write_text(render_page(results, contract, scrubber, out=report), encoding="utf-8")
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(report.as_uri())
        page.locator("#red summary").first.click()
        box = page.locator(".head .lane-person").bounding_box()
        assert box is not None
        widths.append(box["width"])
        page.close()
    with_person, without = widths
    assert without < with_person


def test_a_cell_of_the_matrix_leads_to_its_check(shown: Shown) -> None:
    page = shown.page
    page.locator("tr.clause-row", has_text="steer.order.kept").locator("a.cell").click()

    opened = page.locator("details.check[open]")
    expect(opened).to_have_count(1)
    expect(opened.locator(".clause")).to_have_text("steer.order.kept")
    expect(opened.locator("summary").first).to_be_focused()


def test_everything_works_with_the_keyboard_alone(shown: Shown) -> None:
    page = shown.page
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the checks")).to_be_focused()

    page.locator("#red summary").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#red .lanes")).to_be_visible()

    page.get_by_label("Text").focus()
    page.keyboard.type("nothing has this")
    expect(page.locator("output")).to_have_text("0 of 4 checks")
    page.keyboard.press("Enter")  # no form is sent anywhere
    expect(page.locator("output")).to_have_text("0 of 4 checks")


def test_a_long_text_of_the_timeline_is_cut_and_can_be_opened(shown: Shown) -> None:
    page = shown.page
    page.locator("#red summary").first.click()
    row = page.locator(".in-model")
    expect(row.locator("pre")).to_be_hidden()
    row.locator("summary").click()
    expect(row.locator("pre")).to_contain_text("more characters")


def test_nothing_is_wider_than_the_window(shown: Shown) -> None:
    page = shown.page
    page.locator("#red summary").first.click()
    expect(page.locator(".lanes")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_the_colours_follow_the_wish_of_the_machine(browser: Browser, written: Path) -> None:
    grounds: list[str] = []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto(written.as_uri())
        grounds.append(str(page.evaluate("getComputedStyle(document.body).backgroundColor")))
        context.close()
    assert grounds == ["rgb(255, 255, 255)", "rgb(18, 21, 26)"]


def test_without_scripts_everything_but_the_timelines_is_there(browser: Browser, written: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(written.as_uri())
    expect(page.locator("form.filter")).to_be_hidden()
    page.locator("#red summary").first.click()
    expect(page.locator("#red dd").first).to_be_visible()
    assert len(visible_checks(page)) == 4
    context.close()
