"""The header of a run: which kit, which contract, which machine."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version

from checkrein.conformance.clauses import Contract
from checkrein.conformance.offline import current_status
from checkrein.conformance.results import HarnessUnderTest, Header


def describe_run(
    contract: Contract,
    harnesses: tuple[HarnessUnderTest, ...],
    *,
    command: tuple[str, ...],
    only: tuple[str, ...],
    run_folder: str,
    started_at: str,
) -> Header:
    """Describe a run of this kit on this machine.

    Args:
        started_at: UTC, RFC 3339.
    """
    return Header(
        kit_version=version("checkrein"),
        edition=contract.edition,
        contract_sha256=contract.digest,
        harnesses=harnesses,
        os=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()} ({sys.platform})",
        offline=current_status(),
        started_at=started_at,
        command=command,
        only=only,
        run_folder=run_folder,
    )
