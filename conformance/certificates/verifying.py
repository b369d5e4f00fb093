"""Verifying a bundle: every digest, and every verdict made once more from the transcripts. Needs no harness."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from checkrein.adapters.errors import CheckreinError
from checkrein.adapters.manifest import Manifest, read_manifest
from checkrein.conformance.certificates.certificate import (
    CERTIFICATE,
    CONTRACT,
    FORMAT,
    MANIFEST,
    RESULTS,
    SCENARIOS,
    BadBundle,
    Certificate,
    digest_of,
    files_in,
    read_certificate,
)
from checkrein.conformance.certificates.derivation import Problem, derive, disagreements
from checkrein.conformance.certificates.recorded import read_recorded
from checkrein.conformance.clauses import Contract
from checkrein.conformance.results import Check, Results
from checkrein.conformance.results_files import read_results
from checkrein.conformance.run_folder import RunFolder
from checkrein.conformance.scenario import Scenario
from checkrein.conformance.verdicts import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What came of it.

    Args:
        certificate: as it stands in the bundle.
        files: how many files there are beside it.
        derived: how many verdicts were made once more.
        problems: why the bundle is refused; none when it is sound.
    """

    certificate: Certificate
    files: int
    derived: int
    problems: tuple[Problem, ...]


def verify_bundle(bundle: Path, contract: Contract, scenarios: tuple[Scenario, ...]) -> Verification:
    """Verify a bundle.

    Args:
        contract: of this kit; the bundle must be about the same.
        scenarios: all of this kit.

    Raises:
        BadBundle: there is no certificate, or it is about another contract, so that nothing can be said.
    """
    certificate = read_certificate(bundle)
    _demand_same_kit(certificate, contract, bundle)
    problems = [*_seal(certificate, bundle), *_files(certificate, bundle)]
    derived = 0
    try:
        manifest = read_manifest(bundle / MANIFEST)
        results = read_results(bundle / RESULTS)
    except CheckreinError as fault:
        problems.append(_as_problem(fault))
    else:
        problems += _header(certificate, manifest, results, contract, bundle)
        for scenario in scenarios:
            checks, found = _scenario(scenario, certificate, manifest, contract, bundle, results)
            derived += len(checks)
            problems += found
        problems += _completeness(certificate, contract, results, bundle)
    return Verification(
        certificate=certificate,
        files=len(certificate.files),
        derived=derived,
        problems=tuple(Problem(where=_within(one.where, bundle), what=one.what) for one in problems),
    )


def _demand_same_kit(certificate: Certificate, contract: Contract, bundle: Path) -> None:
    where = str(bundle / CERTIFICATE)
    advice = f"verify it with checkrein {certificate.kit_version}"
    if certificate.format != FORMAT:
        raise BadBundle(
            f"the format is {certificate.format}, and this version reads {FORMAT}", where=where, advice=advice
        )
    if certificate.contract_sha256 != contract.digest:
        raise BadBundle(
            f"it is about another contract: {certificate.edition}, sha256 {certificate.contract_sha256[:16]}; this kit "
            f"has {contract.edition}, sha256 {contract.digest[:16]}",
            where=where,
            advice=advice,
        )


def _seal(certificate: Certificate, bundle: Path) -> Iterator[Problem]:
    if certificate.seal != certificate.due_seal:
        yield Problem(where=str(bundle / CERTIFICATE), what="it was changed after it was sealed")


def _files(certificate: Certificate, bundle: Path) -> Iterator[Problem]:
    there = set(files_in(bundle))
    for place in sorted(there - certificate.files.keys()):
        yield Problem(where=str(bundle / place), what="it does not belong to the bundle")
    for place, digest in sorted(certificate.files.items()):
        path = bundle / place
        if place not in there:
            yield Problem(where=str(path), what="it is missing")
        elif path.is_symlink():
            yield Problem(where=str(path), what="it is a link")
        elif (found := digest_of(path)) != digest:
            yield Problem(
                where=str(path),
                what=f"its digest is {found.sha256[:16]}… ({found.size} bytes), and the certificate names "
                f"{digest.sha256[:16]}… ({digest.size} bytes)",
            )


def _header(
    certificate: Certificate, manifest: Manifest, results: Results, contract: Contract, bundle: Path
) -> Iterator[Problem]:
    """Certificate, manifest and results are about the same run, and that was a whole one."""
    header, footer = results.header, results.footer
    where = f"{bundle / RESULTS}, line 1"
    harnesses = [(one.name, one.version, one.binary_sha256, one.dialect) for one in header.harnesses]
    certified = (certificate.harness, certificate.version, certificate.binary_sha256, certificate.dialect)
    same = (
        ("the harness", harnesses, [certified]),
        ("the contract", header.contract_sha256, certificate.contract_sha256),
        ("the kit's version", header.kit_version, certificate.kit_version),
        ("the time", header.started_at, certificate.started_at),
        ("the clauses that the run was limited to", header.only, ()),
        ("the exit status", footer.exit_status, certificate.exit_status),
        ("the number of checks per verdict", footer.counts, certificate.counts),
    )
    for what, found, wanted in same:
        if found != wanted:
            yield Problem(where=where, what=f"{what}: {found} there, {wanted} in the certificate")
    if (manifest.name, manifest.title, manifest.vendor) != (
        certificate.harness,
        certificate.title,
        certificate.vendor,
    ):
        yield Problem(where=str(bundle / MANIFEST), what="it is the manifest of another harness")
    text = (bundle / CONTRACT).read_bytes() if (bundle / CONTRACT).is_file() else b""
    if sha256(text).hexdigest() != contract.digest:
        yield Problem(where=str(bundle / CONTRACT), what="it is not the contract that the certificate names")


def _scenario(
    scenario: Scenario,
    certificate: Certificate,
    manifest: Manifest,
    contract: Contract,
    bundle: Path,
    results: Results,
) -> tuple[tuple[Check, ...], list[Problem]]:
    """The checks of a scenario as they follow from its records, and what is wrong with those of the results."""
    folder = RunFolder.of(scenario.name, certificate.label, bundle.absolute() / SCENARIOS)
    problems: list[Problem] = []
    try:
        recorded = read_recorded(folder, certificate.dialect) if folder.root.is_dir() else None
        checks = derive(recorded, scenario, contract, manifest, certificate.version)
        if recorded is not None:
            problems += disagreements(recorded, scenario, checks)
    except CheckreinError as fault:
        return (), [_as_problem(fault)]
    told = {check.clause: check for check in results.checks if check.scenario == scenario.name}
    for check in checks:
        where = f"{bundle / RESULTS}, {check.clause}"
        found = told.get(check.clause)
        if found is None:
            problems.append(Problem(where=where, what=f"it has no check of {scenario.name}"))
        elif found.verdict is not check.verdict:
            problems.append(
                Problem(
                    where=where,
                    what=f"the verdict is {found.verdict.words}, and from {folder.transcript} follows "
                    f"{check.verdict.words}",
                )
            )
        elif found != check:
            problems.append(Problem(where=where, what=f"it is not what follows from {folder.transcript}"))
    return checks, problems


def _completeness(
    certificate: Certificate, contract: Contract, results: Results, bundle: Path
) -> Iterator[Problem]:
    """Every clause about the harness has a check, none is excused by a baseline, and no other is there."""
    about = [clause.id for clause in contract if clause.is_about(certificate.harness)]
    judged = {check.clause: check for check in results.checks}
    for clause in sorted(set(about) ^ judged.keys()):
        what = "it has no check" if clause in about else "it is no clause about this harness"
        yield Problem(where=f"{bundle / RESULTS}, {clause}", what=what)
    for clause, check in judged.items():
        unproven = not check.scenario and check.verdict is not Verdict.KIT_ERROR
        if unproven or check.verdict is Verdict.EXPECTED_FAIL:
            yield Problem(
                where=f"{bundle / RESULTS}, {clause}",
                what=f"no transcript gives it the verdict {check.verdict.words}",
            )


def _as_problem(fault: CheckreinError) -> Problem:
    return Problem(where=fault.where or "", what=fault.what)


def _within(text: str, bundle: Path) -> str:
    """A place from the bundle on."""
    return text.replace(f"{bundle.absolute()}/", "").replace(f"{bundle}/", "")
