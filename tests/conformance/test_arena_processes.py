"""Which processes of a scenario are the harness's own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from checkrein.conformance.arena_processes import HarnessProcesses, processes_with_home


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that nothing tells from a tool: it runs an interpreter, and was not there before the first prompt."""
    words = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        words, env={"HOME": str(tmp_path)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        started.stdout.readline()
        yield started
        started.kill()


def test_a_process_that_a_session_started_is_the_harness_whatever_program_it_runs(
    process: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    own = HarnessProcesses(tmp_path / "pi.js")
    assert [found.pid for found in processes_with_home(tmp_path, without=own)] == [process.pid]

    own.started(process.pid)
    assert own.owns(psutil.Process(process.pid))
    assert processes_with_home(tmp_path, without=own) == ()


def test_a_process_that_has_ended_is_nobodys(tmp_path: Path) -> None:
    own = HarnessProcesses(tmp_path / "pi.js")
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()

    own.started(ended.pid)
    assert processes_with_home(tmp_path, without=own) == ()
