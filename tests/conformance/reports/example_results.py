"""Results made up for reports: two harnesses, every verdict, texts that would break a careless report."""

from __future__ import annotations

import json
from pathlib import Path

from checkrein.conformance.clauses import Contract, Level
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
from checkrein.conformance.verdicts import EnforcedBy, Verdict

CODEX = HarnessUnderTest(name="codex", version="0.171.0", binary_sha256="a" * 64, dialect="openai-responses")
CLAUDE_CODE = HarnessUnderTest(
    name="claude-code", version="2.1.332", binary_sha256="b" * 64, dialect="anthropic-messages"
)

#: What a harness may say, and what a report must show as it is.
NASTY = (
    "</script><img src=x onerror=alert(1)> | `code` *bold* @someone #12 [link](http://x) \x1b[31m\x00 ünï ✓"
)


def check(
    clause: str,
    harness: HarnessUnderTest,
    verdict: Verdict,
    *,
    level: Level = Level.MUST,
    enforced_by: EnforcedBy | None = None,
    expected: str = "one thing",
    observed: str = "another thing",
    scenario: str = "test_it",
    evidence: Evidence | None = None,
) -> Check:
    return Check(
        harness=harness.name,
        version=harness.version,
        clause=clause,
        level=level,
        verdict=verdict,
        enforced_by=enforced_by,
        expected=expected,
        observed=observed,
        scenario=scenario,
        evidence=evidence or Evidence(),
    )


def results_of(
    contract: Contract,
    *checks: Check,
    harnesses: tuple[HarnessUnderTest, ...] = (CODEX, CLAUDE_CODE),
    run_folder: str = "/runs/1",
    only: tuple[str, ...] = (),
) -> Results:
    header = Header(
        kit_version="0.1.0",
        edition=contract.edition,
        contract_sha256=contract.digest,
        harnesses=harnesses,
        os="Linux 6.1 x86_64",
        python="CPython 3.11.7 (linux)",
        offline=OfflineStatus(enforced=True, means=OfflineMeans.NAMESPACE),
        started_at="2026-11-29T12:00:00+00:00",
        command=("checkrein", "run"),
        only=only,
        run_folder=run_folder,
    )
    runs = [
        ScenarioRun(
            harness=tested.name,
            version=tested.version,
            name="test_it",
            seconds=4.25,
            startup_seconds=1.0,
            starts=1,
            run_folder=f"{run_folder}/{tested.label}/it",
        )
        for tested in harnesses
    ]
    return finish(header, checks, runs, contract=contract, seconds=5.0)


def every_verdict(contract: Contract) -> Results:
    """One check of each verdict, and an INFO that is not what was expected."""
    return results_of(
        contract,
        check("session.fork.original-untouched", CODEX, Verdict.NOT_APPLICABLE),
        check(
            "session.fork.original-untouched", CLAUDE_CODE, Verdict.EXPECTED_FAIL, observed="known: it is so"
        ),
        check("steer.idle.rejected", CODEX, Verdict.PASS, enforced_by=EnforcedBy.ADAPTER),
        check("steer.idle.rejected", CLAUDE_CODE, Verdict.FAIL, observed=NASTY),
        check("interrupt.mid-text.quiet", CODEX, Verdict.PASS, enforced_by=EnforcedBy.HARNESS),
        check("interrupt.mid-text.quiet", CLAUDE_CODE, Verdict.NOT_TESTABLE, observed="not met: git"),
        check("interrupt.mark.visible", CLAUDE_CODE, Verdict.WARN, level=Level.SHOULD),
        check("interrupt.latency", CODEX, Verdict.FAIL, level=Level.INFO, observed="it took 812 ms"),
        check("native.codex.turn-start", CODEX, Verdict.KIT_ERROR),
    )


def kept_run(folder: Path, rows: list[dict[str, object]]) -> Evidence:
    """A scenario's folder with a transcript, below a run's; what a check says of it."""
    scenario = folder / "codex@0.171.0" / "it"
    (scenario / "requests").mkdir(parents=True)
    (scenario / "requests" / "001.json").write_text("{}", encoding="utf-8")
    lines: list[dict[str, object]] = [
        {"n": number, "at_ms": number * 10.0, "source": "note", "kind": "remark", "data": {}, **row}
        for number, row in enumerate(rows, start=1)
    ]
    transcript = scenario / "transcript.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return Evidence(run_folder=str(scenario), transcript=str(transcript), wire_rows=(2,), model_requests=(1,))


#: A turn in which all four lanes have something to say.
ROWS: list[dict[str, object]] = [
    {"source": "person", "kind": "steer", "data": {"text": "stop"}},
    {
        "source": "driver",
        "kind": "to_harness",
        "data": {"message": {"id": 3, "method": "turn/steer", "params": {"text": NASTY}}},
    },
    {
        "source": "harness",
        "kind": "from_harness",
        "data": {"message": {"type": "system", "subtype": "init", "cwd": "/home/jane/work"}},
    },
    {"source": "process", "kind": "tool_started", "data": {"pid": 7, "tool": "build", "session": "s"}},
    {"source": "model", "kind": "request", "data": {"number": 1, "lane": "main", "fresh": "x" * 5000}},
    {
        "source": "harness",
        "kind": "stderr",
        "data": {"text": "\x1b[31mERROR\x1b[0m key sk-ant-REDACTED"},
    },
]
