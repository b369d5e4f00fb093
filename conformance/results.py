"""Results as values: one line of JSON each, a header first, a footer last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from checkrein.conformance.clauses import Contract, Level
from checkrein.conformance.offline import OfflineStatus
from checkrein.conformance.verdicts import EnforcedBy, Verdict, is_red

#: Version of the format; a reader refuses another one.
FORMAT = 1


class HarnessUnderTest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One harness of a run.

    Args:
        name: of the adapter.
        version: of the binary.
        binary_sha256: hex digest of the binary.
        dialect: what it spoke with its model; "" in results of a kit that did not say so.
    """

    name: str
    version: str
    binary_sha256: str
    dialect: str = ""

    @property
    def label(self) -> str:
        """Name and version, as on the command line."""
        return f"{self.name}@{self.version}"


class Header(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="record", tag="header"
):
    """The first line: what was run, where, and against which contract.

    Args:
        format: version of the format.
        kit_version: version of checkrein.
        edition: edition of the contract.
        contract_sha256: digest of the contract.
        harnesses: in the order of the columns.
        os: operating system and machine.
        python: version of the interpreter.
        offline: whether the kernel kept the run on the machine, and if not, why not.
        started_at: UTC, RFC 3339.
        command: the command line.
        only: the clause patterns that the run was limited to; empty for all.
        run_folder: where transcripts and workspaces are kept; in a file, relative to the file's folder if it lies
            there.
    """

    format: int = FORMAT
    kit_version: str
    edition: str
    contract_sha256: str
    harnesses: tuple[HarnessUnderTest, ...]
    os: str
    python: str
    offline: OfflineStatus
    started_at: str
    command: tuple[str, ...]
    only: tuple[str, ...] = ()
    run_folder: str = ""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to look.

    Args:
        run_folder: the kept folder of the scenario; "" when it never ran. In a file, relative to that of the run.
        transcript: the merged timeline, JSON Lines; "" when there is none. In a file, relative to that of the run.
        wire_rows: numbers of rows in the transcript.
        model_requests: numbers of requests; `requests/NNN.json` in the run folder.
    """

    run_folder: str = ""
    transcript: str = ""
    wire_rows: tuple[int, ...] = ()
    model_requests: tuple[int, ...] = ()


class Check(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="record", tag="check"
):
    """The verdict on one clause on one harness.

    Args:
        enforced_by: who sees to it that the clause holds, when the scenario says so.
        expected, observed: in words.
        scenario: name of the scenario that judged it; "" when none did.
    """

    harness: str
    version: str
    clause: str
    level: Level
    verdict: Verdict
    enforced_by: EnforcedBy | None
    expected: str
    observed: str
    scenario: str
    evidence: Evidence

    @property
    def is_red(self) -> bool:
        """Whether a run with this check has failed."""
        return is_red(self.verdict, self.level)


class ScenarioRun(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="record", tag="scenario"
):
    """One scenario on one harness.

    Args:
        seconds: how long it took in all.
        startup_seconds: of these, what the harness's processes took from their start to an open conversation.
        starts: how many conversations were opened.
        strays: processes that were left over and that the kit killed, in words.
        notes: what else is worth knowing and turned no verdict.
    """

    harness: str
    version: str
    name: str
    seconds: float
    startup_seconds: float
    starts: int
    run_folder: str
    strays: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Footer(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="record", tag="footer"
):
    """The last line; a file without it is not whole.

    Args:
        counts: checks per verdict, every verdict named.
        seconds: how long the run took.
        scenario_seconds: the sum over the scenarios, which may have run side by side.
        startup_seconds: of these, what the harnesses took to start.
        exit_status: 0 when no check is red, else 1.
    """

    counts: dict[Verdict, int]
    seconds: float
    scenario_seconds: float
    startup_seconds: float
    exit_status: int


Record = Header | Check | ScenarioRun | Footer


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run."""

    header: Header
    checks: tuple[Check, ...]
    scenarios: tuple[ScenarioRun, ...]
    footer: Footer

    @property
    def red(self) -> tuple[Check, ...]:
        """The checks that make the run a failed one."""
        return tuple(check for check in self.checks if check.is_red)


def finish(
    header: Header,
    checks: Iterable[Check],
    scenarios: Iterable[ScenarioRun],
    *,
    contract: Contract,
    seconds: float,
) -> Results:
    """Put a run together, in an order that does not depend on when each scenario ended: contract, then harness."""
    clause_place = {clause_id: number for number, clause_id in enumerate(contract.ids)}

    def place(clause: str) -> tuple[int, str]:
        # Results of an older contract may have a clause that this one has not: it comes last.
        return clause_place.get(clause, len(clause_place)), clause

    column = {(harness.name, harness.version): number for number, harness in enumerate(header.harnesses)}
    ordered = tuple(
        sorted(checks, key=lambda check: (place(check.clause), column[check.harness, check.version]))
    )
    runs = tuple(sorted(scenarios, key=lambda run: (run.name, column[run.harness, run.version])))
    return Results(
        header=header,
        checks=ordered,
        scenarios=runs,
        footer=Footer(
            counts=count(ordered),
            seconds=round(seconds, 3),
            scenario_seconds=round(sum(run.seconds for run in runs), 3),
            startup_seconds=round(sum(run.startup_seconds for run in runs), 3),
            exit_status=int(any(check.is_red for check in ordered)),
        ),
    )


def count(checks: Sequence[Check]) -> dict[Verdict, int]:
    """How many checks have each verdict; verdicts without one are named too."""
    return {verdict: sum(check.verdict is verdict for check in checks) for verdict in Verdict}
