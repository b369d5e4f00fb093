"""`python -m checkrein.conformance.offline [--report FILE] [--no-namespace] -- COMMAND…`.

In a namespace the command replaces this process; behind the proxy it is a child of this one, which passes on its exit
status (128 and the signal's number, if one ended it). Either way it ends when the process that started us ends.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import msgspec

from checkrein.conformance.offline.namespace import (
    NamespaceRefused,
    die_with_parent,
    enter_loopback_namespace,
    holds_only_loopback,
)
from checkrein.conformance.offline.refusing_proxy import refusing_proxy
from checkrein.conformance.offline.status import STATUS_VARIABLE, OfflineMeans, OfflineStatus

#: What a shell reports for a command that it cannot find, or cannot run.
_NOT_FOUND, _NOT_RUNNABLE = 127, 126


def main(arguments: Sequence[str]) -> int:
    """Run the command offline; returns only when it could not replace this process."""
    parent = os.getppid()
    parser = argparse.ArgumentParser(
        prog="python -m checkrein.conformance.offline", description="Run a command offline."
    )
    parser.add_argument("--report", type=Path, help="write whether it is enforced to this file, as JSON")
    parser.add_argument(
        "--no-namespace", action="store_true", help="use the refusing proxy even where not needed"
    )
    parser.add_argument("command", nargs="+", help="the command, after --")
    options = parser.parse_args(arguments)
    try:
        if options.no_namespace:
            raise NamespaceRefused("the caller asked for the proxy")
        if not holds_only_loopback():
            enter_loopback_namespace()
    except NamespaceRefused as refusal:
        return _run_behind_proxy(options.command, options.report, str(refusal), parent)
    _announce(OfflineStatus(enforced=True, means=OfflineMeans.NAMESPACE), options.report)
    # After the namespace: a change of credentials makes the kernel forget it.
    die_with_parent(parent)
    try:
        os.execvp(options.command[0], options.command)
    except OSError as fault:
        return _cannot_run(options.command[0], fault)


def _announce(status: OfflineStatus, report: Path | None) -> None:
    text = msgspec.json.encode(status)
    os.environ[STATUS_VARIABLE] = text.decode()
    if report is not None:
        report.write_bytes(text + b"\n")


def _run_behind_proxy(command: list[str], report: Path | None, reason: str, parent: int) -> int:
    with tempfile.TemporaryDirectory(prefix="checkrein-offline-") as folder:
        attempts = (
            Path(folder) / "attempts.jsonl" if report is None else report.with_name(report.name + ".attempts")
        )
        attempts.write_bytes(b"")
        _announce(
            OfflineStatus(enforced=False, means=OfflineMeans.PROXY, reason=reason, attempts=str(attempts)),
            report,
        )
        die_with_parent(parent)
        with refusing_proxy(attempts) as variables:
            # Runs in the child between fork and exec; the proxy's thread holds no lock that it needs.
            own = os.getpid()
            try:
                child = subprocess.Popen(
                    command, env=os.environ | variables, preexec_fn=lambda: die_with_parent(own)
                )
            except OSError as fault:
                return _cannot_run(command[0], fault)
            return _wait(child)


def _wait(child: subprocess.Popen[bytes]) -> int:
    def forward(number: int, _: FrameType | None) -> None:
        child.send_signal(number)

    # A terminal sends ctrl-c to the command as well: it answers it, we only wait.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, forward)
    status = child.wait()
    return status if status >= 0 else 128 - status


def _cannot_run(name: str, fault: OSError) -> int:
    print(f"checkrein: {name} cannot be run: {fault.strerror}", file=sys.stderr)
    return _NOT_FOUND if isinstance(fault, FileNotFoundError) else _NOT_RUNNABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
