"""Making a bundle from a whole run: what a stranger needs to check the verdicts, and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.manifest import Manifest, read_manifest
from checkrein.adapters.registry import find_harness
from checkrein.conformance.certificates.certificate import (
    CONTRACT,
    MANIFEST,
    RESULTS,
    SCENARIOS,
    BadBundle,
    Certificate,
    digest_of,
    files_in,
    write_certificate,
)
from checkrein.conformance.clauses import Contract
from checkrein.conformance.result_places import moved
from checkrein.conformance.results import Results
from checkrein.conformance.results_files import write_results
from checkrein.conformance.run_folder import RunFolder
from checkrein.conformance.scrubbing import Scrubber, scrubber_of_this_machine


def declared_manifest(path: Path) -> Manifest:
    """The manifest of a harness that is to be certified.

    Raises:
        BadRequest: the file is no manifest, or not what the installed adapter of that name declares.
        UnknownHarness: there is no adapter of that name.
    """
    manifest = read_manifest(path)
    if find_harness(manifest.name).manifest != manifest:
        raise BadRequest(
            f"the installed adapter of {manifest.name} declares something else",
            where=str(path),
            advice="name the manifest.toml of that adapter's package, or install the adapter once more",
        )
    return manifest


def demand_new(bundle: Path) -> None:
    """Go on only where nothing is there yet.

    Raises:
        BadRequest: there is something.
    """
    if bundle.exists() and (not bundle.is_dir() or any(bundle.iterdir())):
        raise BadRequest("there is something already", where=str(bundle), advice="name a new folder")


def make_bundle(results: Results, manifest: Path, contract: Contract, bundle: Path) -> Certificate:
    """Put a bundle together from a run of one harness, and seal it. Keys, home folders and the user's name stay out.

    Args:
        results: whole paths in it; transcripts are where it says.
        manifest: the file.
        bundle: a new folder.

    Raises:
        BadBundle: a file cannot be read or written.
    """
    try:
        return _make(results, manifest, contract, bundle)
    except OSError as fault:
        raise BadBundle(
            f"the bundle cannot be made: {fault.strerror}",
            where=str(fault.filename or bundle),
            advice="make room there, or name another folder with --out",
        ) from fault


def _make(results: Results, manifest: Path, contract: Contract, bundle: Path) -> Certificate:
    scrubber = scrubber_of_this_machine()
    kept = bundle.resolve() / SCENARIOS
    kept.mkdir(parents=True)
    shutil.copyfile(manifest, bundle / MANIFEST)
    (bundle / CONTRACT).write_bytes(contract.canonical)
    ran = Path(results.header.run_folder)
    for scenario in results.scenarios:
        if scenario.run_folder:
            place = Path(scenario.run_folder)
            _keep(RunFolder(root=place), RunFolder(root=kept / place.relative_to(ran)), scrubber)
    write_results(moved(results, kept), bundle / RESULTS)
    header, declared = results.header, read_manifest(manifest)
    [harness] = header.harnesses
    certificate = Certificate(
        harness=harness.name,
        title=declared.title,
        vendor=declared.vendor,
        version=harness.version,
        binary_sha256=harness.binary_sha256,
        dialect=harness.dialect,
        kit_version=header.kit_version,
        edition=header.edition,
        contract_sha256=header.contract_sha256,
        os=header.os,
        python=header.python,
        offline=header.offline.means if header.offline.enforced else "",
        started_at=header.started_at,
        counts=results.footer.counts,
        exit_status=results.footer.exit_status,
        reproduce=(
            "checkrein",
            "certify",
            "--manifest",
            MANIFEST,
            "--version",
            harness.version,
            "--out",
            "again",
        ),
        files={place: digest_of(bundle / place) for place in files_in(bundle)},
    ).sealed()
    write_certificate(certificate, bundle)
    return certificate


def _keep(ran: RunFolder, kept: RunFolder, scrubber: Scrubber) -> None:
    """Copy the evidence of a scenario: no workspace, no home."""
    kept.root.mkdir(parents=True)
    with kept.transcript.open("w", encoding="utf-8") as stream:
        # By line feeds only: what other characters end is not a line of JSON Lines.
        for line in ran.transcript.read_bytes().split(b"\n"):
            if line:
                stream.write(json.dumps(scrubber.json(json.loads(line))) + "\n")
    for request in sorted(ran.requests.glob("*.json")):
        kept.requests.mkdir(exist_ok=True)
        text = json.dumps(scrubber.json(json.loads(request.read_bytes())), indent=1)
        (kept.requests / request.name).write_text(text, encoding="utf-8")
    for source, copy in ((ran.stderr, kept.stderr), (ran.error, kept.error)):
        if source.is_file():
            text = scrubber.text(source.read_text(encoding="utf-8", errors="replace"))
            copy.write_text(text, encoding="utf-8")
