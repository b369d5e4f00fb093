"""The process table as the guard sees it, and the way to kill exactly one entry of it."""

# Loading pathlib would delay the start of every harness by some 10 ms.
# ruff: noqa: PTH119, PTH123, PTH208

from __future__ import annotations

import os
import signal
import sys
import time

LINUX = sys.platform == "linux"
#: some builds of Python for Linux lack these calls, as their C headers were older than Linux 5.3
HAS_HANDLES = hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal")
#: how much of a command line is reported
CMDLINE_BYTES = 4096


class Seen:
    """One process of the process table."""

    __slots__ = ("group", "name", "parent", "pid", "session", "started", "state")

    def __init__(
        self, pid: int, parent: int, group: int, session: int, state: str, name: str, started: float
    ) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        self.state = state
        self.name = name
        self.started = started

    @property
    def alive(self) -> bool:
        return self.state not in ("Z", "X")

    def described(self) -> dict[str, object]:
        return {
            "pid": self.pid,
            "parent_pid": self.parent,
            "name": self.name,
            "cmdline": read_cmdline(self.pid),
            "create_time": self.started,
            "session_id": self.session,
        }


def read_cmdline(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            raw = file.read(CMDLINE_BYTES)
    except OSError:
        return []
    return [part.decode("utf-8", "replace") for part in raw.rstrip(b"\0").split(b"\0")] if raw else []


def boot_time() -> float:
    with open("/proc/stat", "rb") as file:
        for line in file:
            if line.startswith(b"btime"):
                return float(line.split()[1])
    return 0.0


def read_stat(pid: int, boot: float) -> Seen | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            raw = file.read()
    except OSError:
        return None
    # The name stands in parentheses and may hold any byte, parentheses and spaces included.
    opened, closed = raw.find(b"("), raw.rfind(b")")
    fields = raw[closed + 2 :].split()
    return Seen(
        pid,
        int(fields[1]),
        int(fields[2]),
        int(fields[3]),
        fields[0].decode(),
        raw[opened + 1 : closed].decode("utf-8", "replace"),
        int(fields[19]) / os.sysconf("SC_CLK_TCK") + boot,
    )


def process_table() -> list[Seen]:
    if not LINUX:
        return process_table_by_ps()
    boot = boot_time()
    table: list[Seen] = []
    # A parent that ends while the table is read leaves its child cut off from the tree: read again. More than a few
    # times would be in vain, where /proc hides the processes of others.
    for _ in range(3):
        seen = (read_stat(int(entry), boot) for entry in os.listdir("/proc") if entry.isdigit())
        table = [process for process in seen if process is not None]
        pids = {process.pid for process in table}
        if all(process.parent in pids or process.parent == 0 for process in table):
            break
    return table


def process_table_by_ps() -> list[Seen]:
    """The process table of a system without /proc."""
    import subprocess

    command = ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,lstart=,comm="]
    environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    listing = subprocess.run(command, env=environment, capture_output=True, check=False)
    return parse_ps(listing.stdout.decode("utf-8", "replace"))


def parse_ps(listing: str) -> list[Seen]:
    """Read what ps prints; it does not tell sessions (the group stands in), and start times are whole seconds."""
    table: list[Seen] = []
    for line in listing.splitlines():
        fields = line.split(None, 9)
        if len(fields) == 10:
            started = time.mktime(time.strptime(" ".join(fields[4:9]), "%a %b %d %H:%M:%S %Y"))
            pid, parent, group = int(fields[0]), int(fields[1]), int(fields[2])
            table.append(Seen(pid, parent, group, group, fields[3][0], os.path.basename(fields[9]), started))
    return table


def kill_exactly(process: Seen) -> int | None:
    """SIGKILL this process and no later one with its id; return a handle that reports its death, if there is one."""
    handle: int | None = None
    try:
        if sys.platform == "linux" and HAS_HANDLES:
            handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    except OSError:
        handle = None  # no such call before Linux 5.3, or no descriptor left: kill by id
    try:
        if handle is None or sys.platform != "linux":
            os.kill(process.pid, signal.SIGKILL)
            return None
        now = read_stat(process.pid, boot_time())
        if now is not None and now.started == process.started:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            return handle
    except OSError:
        pass
    if handle is not None:
        os.close(handle)
    return None
