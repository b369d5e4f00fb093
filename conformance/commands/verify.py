"""`checkrein verify`: does a bundle hold what it says? Offline, and without the harness."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from checkrein.conformance.certificates.certificate import BadBundle, Certificate
from checkrein.conformance.certificates.verifying import verify_bundle
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.kit_run import wide_console
from checkrein.conformance.scenario_catalogue import all_scenarios

#: How many problems are named; the rest are counted.
MOST_SHOWN = 20


def verify(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="What `checkrein certify` has made.")],
) -> None:
    """Verify a bundle; exit status 0 when it is sound and its harness keeps the contract, 1 when that does not."""
    console = wide_console()
    certificate = demand_sound(bundle, console)
    keeps = "keeps" if certificate.exit_status == 0 else "does not keep"
    counts = ", ".join(
        f"{number} {verdict.words}" for verdict, number in certificate.counts.items() if number
    )
    console.print(
        f"{certificate.label} {keeps} the contract {certificate.edition}: {counts}",
        soft_wrap=True,
        markup=False,
    )
    console.print(f"seal: {certificate.seal}", soft_wrap=True, markup=False)
    raise typer.Exit(certificate.exit_status)


def demand_sound(bundle: Path, console: Console) -> Certificate:
    """Verify a bundle and say how; its certificate.

    Raises:
        BadBundle: it is refused; names every place, the first ones in words.
    """
    verification = verify_bundle(bundle, load_contract(), all_scenarios())
    problems = verification.problems
    if problems:
        shown = [str(problem) for problem in problems[:MOST_SHOWN]]
        if len(problems) > MOST_SHOWN:
            shown.append(f"and {len(problems) - MOST_SHOWN} more")
        raise BadBundle(
            "\n  ".join(["the bundle is refused:", *shown]),
            where=str(bundle),
            advice="ask for a bundle as it was made, or make one with the command in its certificate",
        )
    console.print(
        f"{verification.files} files have the digests of the certificate, and {verification.derived} verdicts follow "
        "from the transcripts",
        soft_wrap=True,
        markup=False,
    )
    return verification.certificate
