"""Whether a run can leave the machine, as values."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from checkrein.conformance.offline.namespace import holds_only_loopback

#: Set for the command that runs offline: the status as JSON.
STATUS_VARIABLE = "CHECKREIN_OFFLINE_STATUS"


class OfflineMeans(StrEnum):
    """What keeps a run on the machine."""

    NAMESPACE = "network_namespace"
    PROXY = "refusing_proxy"
    NOTHING = "nothing"


class OfflineStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a run can leave the machine.

    Args:
        enforced: the kernel allows no way out.
        means: what keeps it in.
        reason: why it is not enforced; empty when it is.
        attempts: file with one line of JSON per recorded attempt to leave; None without a refusing proxy.
    """

    enforced: bool
    means: OfflineMeans
    reason: str = ""
    attempts: str | None = None


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to leave, as the refusing proxy saw it.

    Args:
        at: UTC, RFC 3339.
        request: the first line that was asked, such as `CONNECT example.org:443 HTTP/1.1`.
    """

    at: str
    request: str


def current_status(environment: Mapping[str, str] = os.environ) -> OfflineStatus:
    """The status of this very process; the kernel is asked, the environment is believed for the rest only."""
    if holds_only_loopback():
        return OfflineStatus(enforced=True, means=OfflineMeans.NAMESPACE)
    try:
        told = msgspec.json.decode(environment.get(STATUS_VARIABLE, ""), type=OfflineStatus)
    except msgspec.MsgspecError:
        told = OfflineStatus(
            enforced=False, means=OfflineMeans.NOTHING, reason="the run was not started offline"
        )
    if told.enforced:
        return OfflineStatus(
            enforced=False, means=OfflineMeans.NOTHING, reason="the process has left its namespace"
        )
    return told


def offline_command(command: Sequence[str], *, report: Path | None = None) -> list[str]:
    """The command line that runs a command offline.

    Args:
        command: the command and its arguments.
        report: file for the status, as JSON; None writes none.
    """
    options = [] if report is None else ["--report", str(report)]
    return [sys.executable, "-m", "checkrein.conformance.offline", *options, "--", *command]


def probe_offline(*, deadline_seconds: float = 30.0) -> OfflineStatus:
    """Find out, in a process of its own, whether this system allows an enforced offline run."""
    command = offline_command([sys.executable, "-c", f"import os; print(os.environ[{STATUS_VARIABLE!r}])"])
    try:
        run = subprocess.run(command, capture_output=True, timeout=deadline_seconds, check=True)
        return msgspec.json.decode(run.stdout, type=OfflineStatus)
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError) as fault:
        return OfflineStatus(enforced=False, means=OfflineMeans.NOTHING, reason=f"the probe failed: {fault}")


def read_attempts(status: OfflineStatus) -> list[Attempt]:
    """The attempts to leave that were recorded so far."""
    if status.attempts is None or not Path(status.attempts).exists():
        return []
    return [
        msgspec.json.decode(line, type=Attempt) for line in Path(status.attempts).read_bytes().splitlines()
    ]
