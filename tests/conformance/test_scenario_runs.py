"""One scenario on the fake harness: what each way to end makes of the clauses."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest

from checkrein.adapters.errors import BadRequest, HarnessDied, NoActiveTurn
from checkrein.adapters.interrupting import LadderTimes
from checkrein.conformance.judgements import HarnessFellShort, KitMistake
from checkrein.conformance.known_failures import Baseline, KnownFailure
from checkrein.conformance.reports.timeline import Detail, Lane, read_lanes
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenario_run import ScenarioReport
from checkrein.conformance.scenarios.moves import judge_quiet, watch_quiet
from checkrein.conformance.scrubbing import Scrubber
from checkrein.conformance.verdicts import EnforcedBy, Verdict
from checkrein.scripted_models import ViolationKind, hold, say, shell, silence
from tests.conformance.conftest import PROGRAM, RunOnFake
from tests.conformance.fake_harness import kit
from tests.conformance.fake_harness.adapter import FLAW_VARIABLE

QUIET, OUTCOME = "interrupt.tool-running.quiet", "interrupt.tool-running.outcome"


def verdicts(report: ScenarioReport) -> dict[str, Verdict]:
    return {check.clause: check.verdict for check in report.checks}


def judge_both(arena: Arena) -> None:
    for clause in (OUTCOME, QUIET):
        arena.judge(clause, holds=True, expected="so", observed="so")


async def one_turn(arena: Arena) -> None:
    async with arena.session(policy="auto") as session:
        turn = await session.start("hello")
        outcome = await turn.outcome()
        assert outcome.exit_status == 0


@scenario(OUTCOME, QUIET)
async def interrupt_while_a_tool_runs(arena: Arena) -> None:
    build = arena.script.held_tool("build")
    arena.script.main([shell(build)])
    async with arena.session(policy="auto") as session:
        turn = await session.start("build it")
        await build.started(timeout=20)
        seen = arena.processes(without_harness=True)
        arena.require(seen, "the tool's process is found by its HOME")
        outcome = await turn.interrupt()
        await build.ended(timeout=5)
        arena.judge(
            OUTCOME,
            holds=outcome.exit_status == 130,
            expected="130",
            observed=str(outcome.exit_status),
            enforced_by="adapter",
        )
        left = arena.processes(without_harness=True)
        arena.judge(QUIET, holds=not left, expected="nothing", observed=str(left))


def test_a_scenario_that_holds_passes_and_keeps_its_evidence(run_on_fake: RunOnFake) -> None:
    report = run_on_fake(interrupt_while_a_tool_runs)
    assert verdicts(report) == {OUTCOME: Verdict.PASS, QUIET: Verdict.PASS}
    outcome = report.checks[0]
    assert outcome.enforced_by is EnforcedBy.ADAPTER
    assert outcome.evidence.wire_rows
    assert outcome.evidence.model_requests == (1,)
    folder = Path(outcome.evidence.run_folder)
    rows = [json.loads(line) for line in Path(outcome.evidence.transcript).read_text().splitlines()]
    assert {row["source"] for row in rows} >= {"driver", "harness", "model", "process"}
    assert json.loads((folder / "requests" / "001.json").read_text())["news"] == "build it"
    assert (folder / "workspace" / ".git").is_dir()
    assert report.run.starts == 1
    assert 0 < report.run.startup_seconds <= report.run.seconds
    assert report.run.strays == ()


def test_the_transcript_tells_what_the_person_did_before_the_driver_passes_it_on(
    run_on_fake: RunOnFake,
) -> None:
    report = run_on_fake(interrupt_while_a_tool_runs)
    transcript = Path(report.checks[0].evidence.transcript)
    rows = [json.loads(line) for line in transcript.read_text().splitlines()]
    person = [row for row in rows if row["source"] == "person"]
    assert [(row["kind"], row["data"]) for row in person] == [
        ("open", {"about": "policy auto"}),
        ("start", {"text": "build it"}),
        ("interrupt", {}),
        ("close", {}),
    ]
    passed_on = [row["n"] for row in rows if row["kind"] == "to_harness"]
    opened, started, interrupted, _ = (row["n"] for row in person)
    assert opened < passed_on[0]
    assert [n for n in passed_on if started < n < interrupted]
    assert [n for n in passed_on if n > interrupted]


def test_a_text_that_is_no_unicode_leaves_the_transcript_readable(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME)
    async def broken_off(arena: Arena) -> None:
        async with arena.session(policy="auto") as session:
            with pytest.raises(NoActiveTurn):
                await session.interrupt("half \ud83d of it")
        arena.judge(OUTCOME, holds=True, expected="so", observed="so")

    (check,) = run_on_fake(broken_off).checks
    timeline = read_lanes(
        Path(check.evidence.transcript),
        frozenset(),
        Detail(rows=9, characters=99),
        Scrubber(home=Path("/h"), user=""),
    )
    assert [(row.title, row.text) for row in timeline.rows if row.lane is Lane.PERSON][1:] == [
        ("interrupts", "half \\ud83d of it"),
        ("closes the session", ""),
    ]


def test_a_harness_that_ignores_the_interrupt_fails_quiet_or_outcome_by_evidence(
    run_on_fake: RunOnFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    @scenario(OUTCOME)
    async def deaf(arena: Arena) -> None:
        build = arena.script.held_tool("build")
        arena.script.main([shell(build)])
        impatient = LadderTimes(harness=0.5, settle=0.5, tools=0.5)
        async with arena.session(policy="auto", ladder=impatient) as session:
            turn = await session.start("build it")
            await build.started(timeout=20)
            assert session.link is not None
            await session.link.connection.interrupt()
            with anyio.move_on_after(0.5):
                await turn.outcome()
            arena.judge(
                OUTCOME,
                holds=turn.state.value == "ended",
                expected="ended",
                observed=turn.state.value,
            )

    monkeypatch.setenv(FLAW_VARIABLE, "deaf")
    assert verdicts(run_on_fake(deaf)) == {OUTCOME: Verdict.FAIL}


def test_a_should_that_fails_is_a_warning(run_on_fake: RunOnFake) -> None:
    @scenario("interrupt.mark.visible")
    async def unmarked(arena: Arena) -> None:
        arena.judge("interrupt.mark.visible", holds=False, expected="a mark", observed="none")

    report = run_on_fake(unmarked)
    assert verdicts(report) == {"interrupt.mark.visible": Verdict.WARN}
    assert not report.checks[0].is_red


def test_a_clause_judged_twice_is_an_error_of_the_kit(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME, QUIET)
    async def twice(arena: Arena) -> None:
        judge_both(arena)
        arena.judge(QUIET, holds=True, expected="", observed="")

    assert verdicts(run_on_fake(twice)) == {OUTCOME: Verdict.PASS, QUIET: Verdict.KIT_ERROR}


def test_judging_an_undeclared_clause_is_an_error_of_the_kit(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME)
    async def undeclared(arena: Arena) -> None:
        arena.judge(QUIET, holds=True, expected="", observed="")

    report = run_on_fake(undeclared)
    assert verdicts(report) == {OUTCOME: Verdict.KIT_ERROR}
    assert "does not declare" in report.checks[0].observed


def test_a_clause_that_is_not_judged_is_an_error_of_the_kit(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME, QUIET)
    async def forgets(arena: Arena) -> None:
        arena.judge(OUTCOME, holds=True, expected="", observed="")

    assert verdicts(run_on_fake(forgets))[QUIET] is Verdict.KIT_ERROR


def test_an_unmet_prerequisite_leaves_the_rest_untestable(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME, QUIET)
    async def needs(arena: Arena) -> None:
        arena.judge(OUTCOME, holds=True, expected="", observed="")
        arena.require(False, "the tool runs")

    report = run_on_fake(needs)
    assert verdicts(report) == {OUTCOME: Verdict.PASS, QUIET: Verdict.NOT_TESTABLE}
    assert report.checks[1].observed == "not met: the tool runs"
    assert report.checks[1].is_red


@pytest.mark.parametrize("error", [AssertionError("no"), KeyError("x"), BadRequest("misused")])
def test_an_error_of_the_scenario_is_never_blamed_on_the_harness(
    run_on_fake: RunOnFake, error: Exception
) -> None:
    @scenario(OUTCOME, QUIET)
    async def broken(arena: Arena) -> None:
        arena.judge(OUTCOME, holds=True, expected="", observed="")
        raise error

    report = run_on_fake(broken)
    assert verdicts(report) == {OUTCOME: Verdict.PASS, QUIET: Verdict.KIT_ERROR}
    assert type(error).__name__ in Path(report.run.run_folder, "error.txt").read_text()


def test_a_harness_that_dies_fails_what_is_not_judged(
    run_on_fake: RunOnFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    @scenario(OUTCOME)
    async def dies(arena: Arena) -> None:
        arena.script.main([say("never")])
        async with arena.session(policy="auto") as session:
            turn = await session.start("hello")
            outcome = await turn.outcome()
            raise HarnessDied("the turn ended", status=outcome.reason, stderr="")

    monkeypatch.setenv(FLAW_VARIABLE, "dies")
    report = run_on_fake(dies)
    assert verdicts(report) == {OUTCOME: Verdict.FAIL}
    assert "HarnessDied" in report.checks[0].observed
    assert "gives up" in Path(report.run.run_folder, "stderr.txt").read_text()


def test_a_wait_in_vain_says_that_the_turn_had_ended_meanwhile(
    run_on_fake: RunOnFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    @scenario(OUTCOME)
    async def dies(arena: Arena) -> None:
        arena.script.main([say("never")])
        async with arena.session(policy="auto") as session:
            turn = await session.start("hello")
            await turn.outcome()
            await arena.wire.wait(lambda row: False, 0.1, what="a line that never comes")

    monkeypatch.setenv(FLAW_VARIABLE, "dies")
    observed = run_on_fake(dies).checks[0].observed
    assert observed.startswith(
        "waited 0.1 s in vain for a line that never comes; the newest turn had ended, failed: "
    )


def test_a_wait_on_the_harness_that_expires_is_a_failure(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME)
    async def waits(arena: Arena) -> None:
        arena.script.main([say("hi")])
        async with arena.session(policy="auto"):
            await arena.wire.wait(lambda row: False, 0.1, what="a line that never comes")

    report = run_on_fake(waits)
    assert verdicts(report) == {OUTCOME: Verdict.FAIL}
    assert report.checks[0].observed == "waited 0.1 s in vain for a line that never comes"


def test_the_deadline_of_a_scenario_that_waits_on_the_harness_is_a_failure(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME, seconds=3)
    async def endless(arena: Arena) -> None:
        held = arena.script.gate("held", never_opened=True)
        arena.script.main([hold(held), say("hi")])
        async with arena.session(policy="auto") as session:
            turn = await session.start("hello")
            await turn.outcome()

    report = run_on_fake(endless)
    assert verdicts(report) == {OUTCOME: Verdict.FAIL}
    assert "checkrein.adapters" in report.checks[0].observed
    assert "merged timeline" in Path(report.run.run_folder, "error.txt").read_text()


def test_the_deadline_of_a_scenario_that_waits_on_itself_is_an_error_of_the_kit(
    run_on_fake: RunOnFake,
) -> None:
    @scenario(OUTCOME, seconds=2)
    async def sleepy(arena: Arena) -> None:
        async with arena.session(policy="auto"):
            await anyio.Event().wait()

    assert verdicts(run_on_fake(sleepy)) == {OUTCOME: Verdict.KIT_ERROR}


def test_a_request_that_the_script_does_not_know_overturns_what_held(
    run_on_fake: RunOnFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    @scenario(OUTCOME, QUIET)
    async def talkative(arena: Arena) -> None:
        arena.script.main([say("hi")])
        await one_turn(arena)
        judge_both(arena)

    monkeypatch.setenv(FLAW_VARIABLE, "asks-once-more")
    report = run_on_fake(talkative)
    assert verdicts(report) == {OUTCOME: Verdict.FAIL, QUIET: Verdict.FAIL}
    assert "unscripted_request" in report.checks[0].observed


def test_a_departure_that_the_scenario_allows_turns_nothing(
    run_on_fake: RunOnFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    @scenario(OUTCOME, QUIET, allow_violations=(ViolationKind.UNSCRIPTED_REQUEST,))
    async def talkative(arena: Arena) -> None:
        arena.script.main([say("hi")])
        await one_turn(arena)
        judge_both(arena)

    monkeypatch.setenv(FLAW_VARIABLE, "asks-once-more")
    assert set(verdicts(run_on_fake(talkative)).values()) == {Verdict.PASS}


def test_a_script_that_is_not_used_up_overturns_what_held(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME, QUIET)
    async def short(arena: Arena) -> None:
        arena.script.main([say("hi")])
        arena.script.main([say("never asked for")])
        await one_turn(arena)
        judge_both(arena)

    assert set(verdicts(run_on_fake(short)).values()) == {Verdict.FAIL}


def test_leftovers_of_a_scenario_that_failed_are_not_blamed_again(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME, QUIET)
    async def fails_early(arena: Arena) -> None:
        arena.script.main([say("hi")])
        arena.script.main([say("never asked for")])
        await one_turn(arena)
        arena.judge(OUTCOME, holds=False, expected="", observed="")
        arena.judge(QUIET, holds=True, expected="", observed="")

    report = run_on_fake(fails_early)
    assert verdicts(report) == {OUTCOME: Verdict.FAIL, QUIET: Verdict.PASS}
    assert "step 1" in " ".join(report.run.notes)


def test_leftovers_beside_a_warning_overturn_what_held(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME, "interrupt.mark.visible")
    async def unmarked(arena: Arena) -> None:
        arena.script.main([say("Hello.")])
        arena.script.main([say("Never asked for.")])
        await one_turn(arena)
        arena.judge(OUTCOME, holds=True, expected="", observed="")
        arena.judge("interrupt.mark.visible", holds=False, expected="", observed="")

    assert verdicts(run_on_fake(unmarked)) == {OUTCOME: Verdict.FAIL, "interrupt.mark.visible": Verdict.WARN}


def test_an_end_after_the_last_judgement_overturns_what_held(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME, QUIET)
    async def late(arena: Arena) -> None:
        judge_both(arena)
        raise HarnessDied("the harness ended", status="signal 9", stderr="")

    report = run_on_fake(late)
    assert verdicts(report) == {OUTCOME: Verdict.FAIL, QUIET: Verdict.FAIL}
    assert report.checks[0].observed.startswith("after all was judged: HarnessDied")


def test_an_end_after_a_failed_judgement_is_a_note(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME, QUIET)
    async def late(arena: Arena) -> None:
        arena.judge(OUTCOME, holds=False, expected="", observed="")
        arena.judge(QUIET, holds=True, expected="", observed="")
        raise HarnessDied("the harness ended", status="signal 9", stderr="")

    report = run_on_fake(late)
    assert verdicts(report) == {OUTCOME: Verdict.FAIL, QUIET: Verdict.PASS}
    assert len(report.run.notes) == 1


def test_who_enforces_a_clause_is_declared_of_the_harness(
    run_on_fake: RunOnFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    @scenario(OUTCOME, QUIET)
    async def both(arena: Arena) -> None:
        judge_both(arena)

    monkeypatch.setattr(kit, "KIT", replace(kit.KIT, adapter_enforces=frozenset({QUIET})))
    report = run_on_fake(both)
    assert [check.enforced_by for check in report.checks] == [EnforcedBy.HARNESS, EnforcedBy.ADAPTER]


def test_a_launcher_and_what_it_starts_are_no_tools(
    run_on_fake: RunOnFake, fake_path: str, tmp_path: Path
) -> None:
    launcher = tmp_path / "launcher"
    # In a process of its own, as launchers of harnesses do it.
    start = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, {str(PROGRAM)!r}, *sys.argv[1:]]))"
    launcher.write_text(f"#!{sys.executable}\n{start}\n")
    launcher.chmod(0o755)
    report = run_on_fake(interrupt_while_a_tool_runs, program=launcher)
    assert verdicts(report) == {OUTCOME: Verdict.PASS, QUIET: Verdict.PASS}


def test_a_capability_that_the_harness_lacks_makes_the_clause_not_applicable(run_on_fake: RunOnFake) -> None:
    @scenario("session.fork.original-untouched")
    async def fork(arena: Arena) -> None:
        raise AssertionError("nothing is left to judge, so it must not run")

    report = run_on_fake(fork)
    assert verdicts(report) == {"session.fork.original-untouched": Verdict.NOT_APPLICABLE}
    assert report.run.run_folder == ""


@pytest.mark.parametrize(("holds", "verdict"), [(True, Verdict.DRIFT), (False, Verdict.WARN)])
def test_a_capability_that_the_harness_does_not_declare_is_drift_when_it_is_there(
    run_on_fake: RunOnFake, holds: bool, verdict: Verdict
) -> None:
    @scenario("record.usage.per-turn")
    async def usage(arena: Arena) -> None:
        arena.judge("record.usage.per-turn", holds=holds, expected="its own", observed="that")

    assert verdicts(run_on_fake(usage)) == {"record.usage.per-turn": verdict}


def test_what_fails_before_it_is_judged_is_a_warning_where_the_capability_is_not_declared(
    run_on_fake: RunOnFake,
) -> None:
    @scenario("record.usage.per-turn")
    async def usage(arena: Arena) -> None:
        raise HarnessFellShort("it told none")

    assert verdicts(run_on_fake(usage)) == {"record.usage.per-turn": Verdict.WARN}


def test_clauses_about_other_harnesses_are_left_out(run_on_fake: RunOnFake) -> None:
    @scenario("native.codex.turn-start", OUTCOME)
    async def mixed(arena: Arena) -> None:
        arena.judge("native.codex.turn-start", holds=False, expected="", observed="")
        arena.judge(OUTCOME, holds=True, expected="", observed="")

    assert verdicts(run_on_fake(mixed)) == {OUTCOME: Verdict.PASS}


def test_a_clause_that_the_contract_lacks_cannot_be_declared(run_on_fake: RunOnFake) -> None:
    @scenario("steer.sideways")
    async def unknown(arena: Arena) -> None:
        return

    with pytest.raises(KitMistake, match=r"steer\.sideways"):
        run_on_fake(unknown)


@pytest.mark.parametrize(("given_up", "quiet"), [(True, Verdict.PASS), (False, Verdict.FAIL)])
def test_a_request_that_was_on_its_way_when_the_turn_ended_breaks_no_quiet(
    given_up: bool, quiet: Verdict, run_on_fake: RunOnFake
) -> None:
    async def ask_late(arena: Arena) -> None:
        url = urlsplit(arena.model.base_url)
        asked = {
            "model": "fake",
            "max_tokens": 1,
            "messages": [{"role": "user", "content": "late"}],
            "tools": [{"name": "sh", "input_schema": {"type": "object"}}],
        }
        body = json.dumps(asked)
        head = f"POST {url.path}/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        async with await anyio.connect_tcp(url.hostname or "", url.port or 0) as connection:
            await connection.send((head + body).encode())
            await arena.model.wait_requests(1, timeout=10)
            if not given_up:
                await arena.model.quiet_for(1.0, timeout=10)

    @scenario(QUIET)
    async def late(arena: Arena) -> None:
        arena.script.main([silence()])
        async with arena.session(policy="auto"), anyio.create_task_group() as tasks:
            tasks.start_soon(ask_late, arena)
            judge_quiet(arena, QUIET, await watch_quiet(arena))

    report = run_on_fake(late)
    assert verdicts(report) == {QUIET: quiet}, report.checks[0].observed
    assert ("came after the end" in report.checks[0].observed) is not given_up


def test_a_known_failure_is_expected_and_a_stale_entry_fails(run_on_fake: RunOnFake) -> None:
    @scenario(OUTCOME, QUIET)
    async def known(arena: Arena) -> None:
        arena.judge(OUTCOME, holds=False, expected="", observed="as ever")
        arena.judge(QUIET, holds=True, expected="", observed="better")

    entries = {
        ("fake", clause): KnownFailure(clause=clause, versions=("1.0",), reason="it is fake")
        for clause in (OUTCOME, QUIET)
    }
    report = run_on_fake(known, baseline=Baseline(failures=entries))
    assert verdicts(report) == {OUTCOME: Verdict.EXPECTED_FAIL, QUIET: Verdict.FAIL}
    assert "remove the stale entry" in report.checks[1].observed


def test_a_known_shortfall_of_a_should_stays_a_warning_with_its_reason(run_on_fake: RunOnFake) -> None:
    mark = "interrupt.mark.visible"

    @scenario(mark)
    async def known(arena: Arena) -> None:
        arena.judge(mark, holds=False, expected="", observed="as ever")

    entry = KnownFailure(clause=mark, versions=("1.0",), reason="it is fake")
    report = run_on_fake(known, baseline=Baseline(failures={("fake", mark): entry}))
    assert verdicts(report) == {mark: Verdict.WARN}
    assert report.checks[0].observed == "as ever (known: it is fake)"


def test_what_a_harness_leaves_running_is_gone_afterwards(
    run_on_fake: RunOnFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    @scenario("session.close.nothing-left")
    async def leaves(arena: Arena) -> None:
        arena.script.main([say("hi")])
        await one_turn(arena)
        left = arena.processes()
        arena.judge("session.close.nothing-left", holds=not left, expected="none", observed=str(left))

    monkeypatch.setenv(FLAW_VARIABLE, "leaves-a-process")
    report = run_on_fake(leaves)
    assert verdicts(report) == {"session.close.nothing-left": Verdict.PASS}, "the transport's guard ends it"
    assert report.run.strays == ()
