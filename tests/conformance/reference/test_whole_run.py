"""The reference agent and the whole catalogue: nothing downloaded, nothing red, and a bundle that proves it."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from checkrein.conformance.hostile.attacks import Attack, attacks_on
from checkrein.conformance.hostile_observed import closed_groups, open_groups, provoke_closed, provoke_open
from checkrein.conformance.results_files import read_results
from checkrein.conformance.target import find_target
from checkrein.conformance.verdicts import Verdict

#: How long the run may take, in seconds; under 40 on a quiet machine with two cores.
RUN_SECONDS = 600.0

#: What the protocol has no word for, what the agent has no need of, and what is about programs of another kind.
NOT_APPLICABLE = {
    "approve.always.control",
    "approve.no-prompts.fails-closed",
    "oneshot.sigint.exit-status",
    "steer.withdraw.late-refused",
    "steer.withdraw.never-seen",
}


def test_the_reference_agent_certifies_that_it_keeps_the_whole_contract(tmp_path: Path) -> None:
    manifest = Path(str(files("checkrein.conformance.reference") / "manifest.toml"))
    bundle = tmp_path / "bundle"
    made = checkrein("certify", "--manifest", str(manifest), "--out", str(bundle), cwd=tmp_path)
    assert made.returncode == 0, made.stdout[-6000:] + made.stderr
    found = read_results(bundle / "results.jsonl")
    assert {
        check.clause for check in found.checks if check.verdict is Verdict.NOT_APPLICABLE
    } == NOT_APPLICABLE
    assert {
        check.clause: check.observed
        for check in found.checks
        if check.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE)
    } == {}
    assert not (tmp_path / ".cache").exists(), "something was downloaded"

    verified = checkrein("verify", str(bundle), cwd=tmp_path)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert f"{len(found.checks)} verdicts follow from the transcripts" in verified.stdout
    transcript = Path(found.checks[0].evidence.transcript)
    told = transcript.read_bytes()
    transcript.write_bytes(told.replace(b'"kind": "judged"', b'"kind": "judged "', 1))
    assert transcript.read_bytes() != told
    refused = checkrein("verify", str(bundle), cwd=tmp_path)
    assert refused.returncode == 2
    assert f"{transcript.relative_to(bundle)}: its digest is" in refused.stderr


def checkrein(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "checkrein.conformance", *words],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd)},
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("group", open_groups(attacks_on("reference")), ids=lambda group: group[0].id)
def test_each_attack_works_on_an_agent_that_trusts_the_workspace(group: list[Attack], tmp_path: Path) -> None:
    effects = provoke_open(find_target("reference"), group, tmp_path / "run")
    assert [effect.attack.id for effect in effects if not effect.seen] == []
    assert len(effects) == len(group)


@pytest.mark.parametrize("group", closed_groups(attacks_on("reference")), ids=lambda group: group[0].id)
def test_no_attack_works_on_the_reference_agent(group: list[Attack], tmp_path: Path) -> None:
    effects = provoke_closed(find_target("reference"), group, tmp_path / "run")
    assert {effect.attack.id: effect.seen for effect in effects if effect.seen} == {}
