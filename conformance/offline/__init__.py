"""Runs that cannot leave the machine.

`python -m checkrein.conformance.offline [--report FILE] -- COMMAND…` runs a command where only the loopback interface
exists. Where the system does not allow that, the command runs behind a proxy that refuses and records whatever asks it
to leave; a program that ignores proxy settings can still leave then, so the status says `enforced: false`.
"""

from checkrein.conformance.offline.status import (
    Attempt,
    OfflineMeans,
    OfflineStatus,
    current_status,
    offline_command,
    probe_offline,
    read_attempts,
)

__all__ = [
    "Attempt",
    "OfflineMeans",
    "OfflineStatus",
    "current_status",
    "offline_command",
    "probe_offline",
    "read_attempts",
]
