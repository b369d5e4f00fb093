"""Bundles: a sound one is taken, and whoever changes anything in it is refused, with the place."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkrein.adapters.errors import BadRequest
from checkrein.conformance.certificates.certificate import (
    CERTIFICATE,
    CONTRACT,
    MANIFEST,
    RESULTS,
    BadBundle,
    Certificate,
    digest_of,
    files_in,
    read_certificate,
    write_certificate,
)
from checkrein.conformance.certificates.making import declared_manifest, demand_new, make_bundle
from checkrein.conformance.certificates.verifying import Verification, verify_bundle
from checkrein.conformance.clauses import Contract
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.known_failures import Baseline
from checkrein.conformance.results import HarnessUnderTest, finish
from checkrein.conformance.run_description import describe_run
from checkrein.conformance.scenario import Scenario
from checkrein.conformance.scenario_catalogue import all_scenarios
from checkrein.conformance.scenario_run import run_scenario
from checkrein.conformance.target import Target, find_target
from checkrein.conformance.verdicts import Verdict
from tests.conformance.saboteurs.sabotaged import saboteur

#: The scenarios of the small contract that is certified here; the reference agent cannot do what the last is about.
STEER, DENY, WITHDRAW = (
    "test_steer_while_a_tool_runs",
    "test_a_denied_call",
    "test_steers_that_are_taken_back",
)
CLAUSE = "steer.mid-tool.delivered"

OWN_MANIFEST = Path(str(files("checkrein.conformance.reference") / "manifest.toml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallKit:
    """A contract of a few clauses, and the scenarios that judge them."""

    contract: Contract
    scenarios: tuple[Scenario, ...]

    def certify(self, target: Target, folder: Path) -> Path:
        """A bundle about a harness, made as `checkrein certify` makes it."""
        runs = folder / "runs"
        reports = [
            report
            for scenario in self.scenarios
            if (
                report := run_scenario(
                    scenario, target, contract=self.contract, baseline=Baseline(failures={}), runs=runs
                )
            )
        ]
        harness = HarnessUnderTest(
            name=target.harness,
            version=target.version,
            binary_sha256=target.sha256,
            dialect=target.dialect,
        )
        header = describe_run(
            self.contract,
            (harness,),
            command=("checkrein", "certify"),
            only=(),
            run_folder=str(runs),
            started_at="2026-11-01T00:00:00+00:00",
        )
        results = finish(
            header,
            [check for report in reports for check in report.checks],
            [report.run for report in reports],
            contract=self.contract,
            seconds=1.0,
        )
        bundle = folder / "bundle"
        make_bundle(results, OWN_MANIFEST, self.contract, bundle)
        return bundle

    def verify(self, bundle: Path) -> Verification:
        """As `checkrein verify` does it."""
        return verify_bundle(bundle, self.contract, self.scenarios)


@pytest.fixture(scope="module")
def kit() -> SmallKit:
    contract = load_contract()
    scenarios = tuple(one for one in all_scenarios() if one.name in (STEER, DENY, WITHDRAW))
    clauses = {clause for one in scenarios for clause in one.clauses}
    areas = tuple(
        replace(area, clauses=tuple(clause for clause in area.clauses if clause.id in clauses))
        for area in contract.areas
    )
    return SmallKit(contract=replace(contract, areas=areas), scenarios=scenarios)


@pytest.fixture(scope="module")
def sound(kit: SmallKit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kit.certify(find_target("reference"), tmp_path_factory.mktemp("certified"))


@pytest.fixture
def bundle(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "bundle"))


def refusal(kit: SmallKit, bundle: Path) -> list[str]:
    return [str(problem) for problem in kit.verify(bundle).problems]


def records(bundle: Path, scenario: str = STEER) -> Path:
    [folder] = bundle.glob(f"scenarios/*/{scenario.removeprefix('test_')}")
    return folder


def change_line(path: Path, matters: Callable[[Any], bool], change: Callable[[Any], None]) -> None:
    """Change the JSON lines that matter; there is at least one."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    mattering = [data for data in lines if matters(data)]
    assert mattering
    for data in mattering:
        change(data)
    path.write_text("".join(f"{json.dumps(data)}\n" for data in lines), encoding="utf-8")


def reseal(bundle: Path, **fields: Any) -> None:
    """Make every digest and the seal right again, as somebody would who knows how bundles are made."""
    found = {place: digest_of(bundle / place) for place in files_in(bundle)}
    certificate = msgspec.structs.replace(read_certificate(bundle), files=found, **fields)
    write_certificate(certificate.sealed(), bundle)


def change_verdict(bundle: Path) -> None:
    """What passed is called a warning, and the counts are made to agree."""
    change_line(
        bundle / RESULTS,
        lambda record: record.get("clause") == CLAUSE,
        lambda check: check.update(verdict="warn"),
    )
    count_anew(bundle)


def count_anew(bundle: Path) -> None:
    certificate = read_certificate(bundle)
    verdicts = [
        record["verdict"]
        for line in (bundle / RESULTS).read_text(encoding="utf-8").splitlines()
        if (record := json.loads(line))["record"] == "check"
    ]
    counts = {verdict: verdicts.count(verdict) for verdict in certificate.counts}
    change_line(
        bundle / RESULTS,
        lambda record: record["record"] == "footer",
        lambda footer: footer.update(counts=counts),
    )
    write_certificate(msgspec.structs.replace(certificate, counts=counts), bundle)


def change_transcript(bundle: Path, kind: str, change: Callable[[Any], None], scenario: str = STEER) -> None:
    change_line(
        records(bundle, scenario) / "transcript.jsonl",
        lambda row: row["kind"] == kind,
        lambda row: change(row["data"]),
    )


def test_a_sound_bundle_is_taken(kit: SmallKit, bundle: Path) -> None:
    verification = kit.verify(bundle)
    assert verification.problems == ()
    assert verification.derived == len(kit.contract.ids)
    assert verification.certificate.exit_status == 0
    assert {verdict: number for verdict, number in verification.certificate.counts.items() if number} == {
        "pass": 4,
        "not_applicable": 2,
    }


def test_it_can_be_moved(kit: SmallKit, bundle: Path, tmp_path: Path) -> None:
    assert refusal(kit, bundle.rename(tmp_path / "elsewhere")) == []


def test_it_holds_no_workspace_and_no_home(bundle: Path) -> None:
    tops = {path.name for path in records(bundle).iterdir()}
    assert tops == {"transcript.jsonl", "requests", "stderr.txt"}


def test_a_harness_that_does_not_keep_the_contract_is_certified_as_such(
    kit: SmallKit, tmp_path: Path
) -> None:
    found = kit.verify(kit.certify(saboteur("a steer is delivered and never shown"), tmp_path))
    assert found.problems == ()
    assert (found.certificate.exit_status, found.certificate.counts[Verdict.FAIL]) == (1, 1)


# Clumsy ways: the digests tell


def test_a_changed_verdict_is_refused(kit: SmallKit, bundle: Path) -> None:
    change_verdict(bundle)
    found = refusal(kit, bundle)
    assert any(line.startswith(f"{RESULTS}: its digest is") for line in found)
    assert any(line.startswith(f"{RESULTS}, {CLAUSE}: the verdict is warn, and from") for line in found)


def test_a_changed_line_of_a_transcript_is_refused(kit: SmallKit, bundle: Path) -> None:
    change_transcript(bundle, "tool_started", lambda data: data.update(pid=1))
    [found] = refusal(kit, bundle)
    assert found.startswith(f"{records(bundle).relative_to(bundle)}/transcript.jsonl: its digest is")


def test_a_changed_digest_is_refused(kit: SmallKit, bundle: Path) -> None:
    certificate = read_certificate(bundle)
    changed = msgspec.structs.replace(certificate.files[RESULTS], sha256="0" * 64)
    write_certificate(
        msgspec.structs.replace(certificate, files={**certificate.files, RESULTS: changed}), bundle
    )
    seal, file = refusal(kit, bundle)
    assert seal == f"{CERTIFICATE}: it was changed after it was sealed"
    assert file.startswith(f"{RESULTS}: its digest is")


def test_a_changed_word_of_the_certificate_is_refused(kit: SmallKit, bundle: Path) -> None:
    write_certificate(msgspec.structs.replace(read_certificate(bundle), vendor="Somebody"), bundle)
    assert f"{CERTIFICATE}: it was changed after it was sealed" in refusal(kit, bundle)


def test_files_that_were_added_or_taken_away_are_named(kit: SmallKit, bundle: Path) -> None:
    (bundle / "README.md").write_text("Trust me.\n")
    (records(bundle) / "stderr.txt").unlink()
    added, missing = refusal(kit, bundle)
    assert added == "README.md: it does not belong to the bundle"
    assert missing.endswith("stderr.txt: it is missing")


def test_a_link_is_no_file_of_a_bundle(kit: SmallKit, bundle: Path, tmp_path: Path) -> None:
    shutil.move(bundle / MANIFEST, tmp_path / MANIFEST)
    (bundle / MANIFEST).symlink_to(tmp_path / MANIFEST)
    assert refusal(kit, bundle) == [f"{MANIFEST}: it is a link"]


# Ways of somebody who seals the bundle anew: what follows from the transcripts tells


def tell_another_verdict(bundle: Path) -> None:
    change_verdict(bundle)
    reseal(bundle)


def leave_a_clause_out(bundle: Path) -> None:
    lines = (bundle / RESULTS).read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if json.loads(line).get("clause") != CLAUSE]
    (bundle / RESULTS).write_text("\n".join(kept) + "\n")
    count_anew(bundle)
    reseal(bundle)


def tell_other_words(bundle: Path) -> None:
    change_line(
        bundle / RESULTS,
        lambda record: record.get("clause") == CLAUSE,
        lambda check: check.update(observed="it was wonderful"),
    )
    reseal(bundle)


def let_nothing_have_been_judged(bundle: Path) -> None:
    change_transcript(bundle, "judged", lambda data: data.update(clause="steer.idle.rejected"))
    reseal(bundle)


def forget_a_judgement(bundle: Path) -> None:
    change_transcript(bundle, "judged", lambda data: data.update(holds=False))
    reseal(bundle)


def declare_less(bundle: Path) -> None:
    text = (bundle / MANIFEST).read_text(encoding="utf-8")
    (bundle / MANIFEST).write_text(text.replace('steer = "yes"', 'steer = "no"'))
    reseal(bundle)


def take_the_records_away(bundle: Path) -> None:
    shutil.rmtree(records(bundle))
    reseal(bundle)


def cut_the_transcript(bundle: Path) -> None:
    path = records(bundle) / "transcript.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    reseal(bundle)


def take_a_row_out(bundle: Path) -> None:
    path = records(bundle) / "transcript.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3] + lines[4:]))
    reseal(bundle)


def let_the_model_see_something_else(bundle: Path) -> None:
    [*_, newest] = sorted((records(bundle) / "requests").iterdir())
    newest.write_text(newest.read_text(encoding="utf-8").replace("steer", "stern"), encoding="utf-8")
    body = json.loads(newest.read_text(encoding="utf-8"))
    body["body"]["messages"][-1]["content"] = "something else"
    newest.write_text(json.dumps(body), encoding="utf-8")
    reseal(bundle)


def take_a_request_away(bundle: Path) -> None:
    [*_, newest] = sorted((records(bundle) / "requests").iterdir())
    newest.unlink()
    reseal(bundle)


def report_an_exit_status_of_success(bundle: Path) -> None:
    change_transcript(bundle, "turn_record", lambda data: data.update(status="interrupted", exit_status=0))
    reseal(bundle)


def report_a_delivered_steer_as_rejected(bundle: Path) -> None:
    def reject(data: Any) -> None:
        for steer in data["steers"]:
            steer["state"] = "rejected"

    change_transcript(bundle, "turn_record", reject)
    reseal(bundle)


def limit_the_run(bundle: Path) -> None:
    change_line(
        bundle / RESULTS,
        lambda record: record["record"] == "header",
        lambda header: header.update(only=["steer"]),
    )
    reseal(bundle)


def name_another_version(bundle: Path) -> None:
    reseal(bundle, version="9.9.9")


def excuse_a_failure(bundle: Path) -> None:
    change_line(
        bundle / RESULTS,
        lambda record: record.get("clause") == CLAUSE,
        lambda check: check.update(verdict="expected_fail"),
    )
    count_anew(bundle)
    reseal(bundle)


def use_another_contract_text(bundle: Path) -> None:
    path = bundle / CONTRACT
    path.write_text(path.read_text(encoding="utf-8").replace("MUST", "SHOULD"), encoding="utf-8")
    reseal(bundle)


@pytest.mark.parametrize(
    ("tamper", "place", "what"),
    [
        (tell_another_verdict, f"{RESULTS}, {CLAUSE}", "the verdict is warn, and from"),
        (leave_a_clause_out, f"{RESULTS}, {CLAUSE}", "it has no check"),
        (tell_other_words, f"{RESULTS}, {CLAUSE}", "it is not what follows from"),
        (let_nothing_have_been_judged, f"{RESULTS}, {CLAUSE}", "follows kit error"),
        (forget_a_judgement, f"{RESULTS}, {CLAUSE}", "follows fail"),
        (declare_less, f"{RESULTS}, {CLAUSE}", "follows not applicable"),
        (take_the_records_away, f"{RESULTS}, {CLAUSE}", "follows kit error"),
        (cut_the_transcript, "transcript.jsonl, at the end", "is not whole"),
        (take_a_row_out, "transcript.jsonl, line 4", "is not the next one"),
        (let_the_model_see_something_else, "requests/002.json", "its body, its news and the row"),
        (take_a_request_away, "transcript.jsonl, line", "model request 2 is not kept"),
        (report_an_exit_status_of_success, "transcript.jsonl, line", "interrupted with exit status 0"),
        (report_a_delivered_steer_as_rejected, "transcript.jsonl, line", "a steer is reported rejected"),
        (limit_the_run, f"{RESULTS}, line 1", "the run was limited to"),
        (name_another_version, f"{RESULTS}, line 1", "the harness"),
        (excuse_a_failure, f"{RESULTS}, {CLAUSE}", "no transcript gives it the verdict expected fail"),
        (use_another_contract_text, CONTRACT, "it is not the contract that the certificate names"),
    ],
)
def test_a_bundle_that_was_changed_and_sealed_anew_is_refused(
    kit: SmallKit, bundle: Path, tamper: Callable[[Path], None], place: str, what: str
) -> None:
    tamper(bundle)
    found = refusal(kit, bundle)
    assert any(place in line and what in line for line in found), found


def test_a_call_without_its_result_is_found_in_the_body_alone(kit: SmallKit, bundle: Path) -> None:
    [*_, newest] = sorted((records(bundle, DENY) / "requests").iterdir())
    request = json.loads(newest.read_text(encoding="utf-8"))
    request["body"]["messages"] = [
        message for message in request["body"]["messages"] if message["role"] != "tool"
    ]
    newest.write_text(json.dumps(request), encoding="utf-8")
    reseal(bundle)
    assert any("breaks the script (call_not_answered_once)" in line for line in refusal(kit, bundle))


def test_a_departure_from_the_script_leaves_nothing_green(kit: SmallKit, bundle: Path) -> None:
    change_transcript(bundle, "tool_finish", lambda data: data.update(violation="sees_mismatch", request=1))
    path = records(bundle) / "transcript.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace('"tool_finish"', '"violation"'))
    reseal(bundle)
    assert any("and yet steer.mid-tool.delivered holds" in line for line in refusal(kit, bundle))


# What cannot be said anything of


def test_another_contract_is_another_matter(kit: SmallKit, bundle: Path, contract: Contract) -> None:
    with pytest.raises(BadBundle, match="about another contract") as refused:
        verify_bundle(bundle, contract, all_scenarios())
    assert refused.value.advice.startswith("verify it with checkrein ")
    assert kit.verify(bundle).problems == ()


@pytest.mark.parametrize("text", [None, "", "{}", "[1, 2", '{"format": 1}'])
def test_a_folder_without_a_certificate_is_no_bundle(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / CERTIFICATE).write_text(text)
    with pytest.raises(BadBundle) as refused:
        read_certificate(tmp_path)
    assert refused.value.where == str(tmp_path / CERTIFICATE)


def test_the_command_refuses_in_one_error(bundle: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "checkrein.conformance", "verify", str(bundle)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: it is about another contract" in done.stderr
    assert "Traceback" not in done.stderr


# Before anything runs


def test_the_manifest_must_be_the_adapters_own(tmp_path: Path) -> None:
    other = tmp_path / "manifest.toml"
    other.write_text(OWN_MANIFEST.read_text(encoding="utf-8").replace('steer = "yes"', 'steer = "no"'))
    with pytest.raises(BadRequest, match="declares something else"):
        declared_manifest(other)
    assert declared_manifest(OWN_MANIFEST).name == "reference"


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BadRequest, match="something already"):
        demand_new(tmp_path)
    demand_new(tmp_path / "new")


def test_the_seal_does_not_depend_on_the_order_of_the_fields(sound: Path) -> None:
    certificate = read_certificate(sound)
    text = json.dumps(dict(reversed(list(json.loads(msgspec.json.encode(certificate)).items()))))
    assert msgspec.json.decode(text, type=Certificate).due_seal == certificate.seal
