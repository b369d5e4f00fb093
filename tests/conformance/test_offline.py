"""A run that is offline cannot leave the machine, or says that it could."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil
import pytest

from checkrein.conformance.offline import (
    OfflineMeans,
    OfflineStatus,
    current_status,
    offline_command,
    probe_offline,
    read_attempts,
)

#: Says what the kernel lets it reach. 192.0.2.1 is of the block that is reserved for documentation.
REACH = """
import json, socket
def reach(address):
    try:
        socket.create_connection(address, timeout=5).close()
        return "reached"
    except OSError as fault:
        return fault.strerror or str(fault)
with socket.create_server(("127.0.0.1", 0)) as server:
    print(json.dumps({"loopback": reach(server.getsockname()), "outside": reach(("192.0.2.1", 80))}))
"""

SAY_STATUS = """
import msgspec
from checkrein.conformance.offline import current_status
print(msgspec.json.encode(current_status()).decode())
"""

#: The same entry as any other user, from a root that has no other Python that such a user may read.
AS_NOBODY = """
import ctypes, os, sys
from checkrein.conformance.offline.__main__ import main
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE: a change of user takes /proc/self away from its owner
sys.exit(main(["--", "/bin/sh", "-c", 'echo "$CHECKREIN_OFFLINE_STATUS"; id -u']))
"""


def run_offline(code: str, *options: str, report: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = offline_command([sys.executable, "-c", code], report=report)
    command[3:3] = options
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@contextmanager
def ended_at_last(process: subprocess.Popen[str]) -> Generator[subprocess.Popen[str]]:
    with process:
        try:
            yield process
        finally:
            process.kill()


class TestInANamespace:
    """On a Linux that allows it; the machines that test this project do."""

    def test_loopback_works_and_the_outside_is_unreachable(self) -> None:
        said = json.loads(run_offline(REACH).stdout)

        assert said == {"loopback": "reached", "outside": "Network is unreachable"}

    def test_the_report_and_the_command_itself_know_that_it_is_enforced(self, tmp_path: Path) -> None:
        run = run_offline(SAY_STATUS, report=tmp_path / "report.json")

        expected = OfflineStatus(enforced=True, means=OfflineMeans.NAMESPACE)
        assert msgspec.json.decode(run.stdout, type=OfflineStatus) == expected
        assert msgspec.json.decode((tmp_path / "report.json").read_bytes(), type=OfflineStatus) == expected

    def test_another_user_than_root_gets_one_too(self) -> None:
        run = subprocess.run([sys.executable, "-c", AS_NOBODY], capture_output=True, text=True, timeout=60)

        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout.splitlines()[0])["enforced"], run.stdout
        assert run.stdout.splitlines()[1] == str(os.geteuid() or 65534)

    def test_one_inside_another_stays_in_it(self) -> None:
        inner = offline_command([sys.executable, "-c", SAY_STATUS])
        run = subprocess.run(offline_command(inner), capture_output=True, timeout=60)

        assert msgspec.json.decode(run.stdout, type=OfflineStatus).enforced

    def test_the_exit_status_is_the_commands_own(self) -> None:
        assert run_offline("raise SystemExit(7)").returncode == 7
        assert run_offline("import os; os.kill(os.getpid(), 9)").returncode == -signal.SIGKILL

    def test_the_machine_says_beforehand_that_it_can(self) -> None:
        assert probe_offline() == OfflineStatus(enforced=True, means=OfflineMeans.NAMESPACE)


class TestBehindTheRefusingProxy:
    """Where no namespace is allowed, which `--no-namespace` plays."""

    def test_an_attempt_to_leave_is_refused_and_recorded(self, tmp_path: Path) -> None:
        code = """
import urllib.error, urllib.request
for url in ("http://example.org/path", "https://example.org/"):
    try:
        urllib.request.urlopen(url, timeout=10)
        print("reached")
    except OSError as fault:
        print(fault)
"""
        run = run_offline(code, "--no-namespace", report=tmp_path / "report.json")

        assert run.stdout.count("403") == 2
        status = msgspec.json.decode((tmp_path / "report.json").read_bytes(), type=OfflineStatus)
        assert [attempt.request.rpartition(" ")[0] for attempt in read_attempts(status)] == [
            "GET http://example.org/path",
            "CONNECT example.org:443",
        ]

    def test_loopback_is_not_sent_through_it(self, tmp_path: Path) -> None:
        code = """
import http.server, threading, urllib.request
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.handle_request, daemon=True).start()
print(urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/", timeout=10).status)
"""
        run = run_offline(code, "--no-namespace", report=tmp_path / "report.json")

        assert run.stdout.strip() == "200"
        assert (tmp_path / "report.json.attempts").read_bytes() == b""

    def test_it_says_that_it_is_not_enforced_and_why(self) -> None:
        status = msgspec.json.decode(run_offline(SAY_STATUS, "--no-namespace").stdout, type=OfflineStatus)

        assert (status.enforced, status.means) == (False, OfflineMeans.PROXY)
        assert status.reason == "the caller asked for the proxy"

    def test_the_exit_status_is_the_commands_own(self) -> None:
        assert run_offline("raise SystemExit(7)", "--no-namespace").returncode == 7
        assert (
            run_offline("import os; os.kill(os.getpid(), 9)", "--no-namespace").returncode
            == 128 + signal.SIGKILL
        )

    def test_a_termination_reaches_the_command(self) -> None:
        code = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
print("ready", flush=True)
signal.pause()
"""
        command = offline_command([sys.executable, "-c", code])
        command[3:3] = ["--no-namespace"]
        with ended_at_last(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.terminate()
            assert process.wait(timeout=30) == 5


@pytest.mark.parametrize("options", [[], ["--no-namespace"]], ids=["namespace", "proxy"])
def test_the_command_ends_with_the_process_that_started_it(options: list[str], tmp_path: Path) -> None:
    command = offline_command(
        [sys.executable, "-c", "import os, signal; print(os.getpid(), flush=True); signal.pause()"]
    )
    command[3:3] = options
    starter = f"import subprocess, signal; subprocess.Popen({command!r}); signal.pause()"
    # The proxy, killed, cannot remove its folder for temporary files.
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with ended_at_last(
        subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True, env=environment)
    ) as process:
        assert process.stdout is not None
        inner = psutil.Process(int(process.stdout.readline()))
        process.kill()
        process.wait(timeout=30)
        # The pipe's other ends are the command's and its proxy's: it closes when they have ended.
        assert process.stdout.read() == ""
        gone, _ = psutil.wait_procs([inner], timeout=30)
        assert gone == [inner]


@pytest.mark.parametrize("options", [[], ["--no-namespace"]], ids=["namespace", "proxy"])
def test_a_command_that_does_not_exist_is_told_in_one_line(options: list[str]) -> None:
    command = offline_command(["/no/such/command"])
    command[3:3] = options
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert run.returncode == 127
    assert run.stderr == "checkrein: /no/such/command cannot be run: No such file or directory\n"


def test_a_process_that_was_not_started_offline_says_so() -> None:
    status = current_status({})

    assert status.enforced == (status.means is OfflineMeans.NAMESPACE)
    assert status.enforced == (status.reason == "")


def test_a_claim_in_the_environment_is_not_believed() -> None:
    claim = msgspec.json.encode(OfflineStatus(enforced=True, means=OfflineMeans.NAMESPACE)).decode()
    code = f"import os; os.environ['CHECKREIN_OFFLINE_STATUS'] = {claim!r}\n{SAY_STATUS}"
    status = msgspec.json.decode(run_offline(code, "--no-namespace").stdout, type=OfflineStatus)

    assert not status.enforced
