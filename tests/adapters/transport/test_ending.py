"""Ending: exit status, kill ladder, and nothing that outlives the driver, the guard or the close."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Set

import anyio
import psutil
import pytest

from checkrein.adapters.transport import ExitStatus, HarnessProcess, ProcessSurvived, Rung, processes_of
from checkrein.adapters.transport.guard.table import parse_ps
from checkrein.adapters.transport.link import GuardLink, Reply
from checkrein.adapters.transport.processes import kill_marked
from checkrein.adapters.transport.streams import ErrorTail
from tests.adapters.transport.peer_processes import (
    PEERS,
    StartPeer,
    alive_after,
    all_lines,
    first_line,
    still_alive,
)

pytestmark = pytest.mark.anyio


async def family_of(process: HarnessProcess) -> dict[str, int]:
    return json.loads(await first_line(process))


@pytest.mark.parametrize("code", [0, 3, 130])
async def test_the_exit_status_is_reported_with_the_last_words(start_peer: StartPeer, code: int) -> None:
    process = await start_peer("end.py", code)
    assert await process.wait_exit(10) == ExitStatus(code=code)
    assert str(process.exit_status) == f"exit status {code}"
    assert process.stderr_tail() == "last words\n"


async def test_an_exit_is_told_only_when_the_last_words_are_read(
    start_peer: StartPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported, gate = anyio.Event(), anyio.Event()
    drain, writer_gone = ErrorTail.drain, ErrorTail.writer_gone

    async def held(errors: ErrorTail) -> None:
        await gate.wait()
        await drain(errors)

    def told(errors: ErrorTail) -> None:
        reported.set()
        writer_gone(errors)

    monkeypatch.setattr(ErrorTail, "drain", held)
    monkeypatch.setattr(ErrorTail, "writer_gone", told)
    process = await start_peer("end.py", 0)
    heard: list[str] = []

    async def hear() -> None:
        await process.wait_exit(10)
        heard.append(process.stderr_tail())

    async with anyio.create_task_group() as listeners:
        listeners.start_soon(hear)
        with anyio.fail_after(10):
            await reported.wait()
        gate.set()
    assert heard == ["last words\n"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_death_by_signal_is_reported(start_peer: StartPeer, number: signal.Signals) -> None:
    process = await start_peer("end.py", 0, int(number))
    assert await process.wait_exit(10) == ExitStatus(signal=number)
    assert str(process.exit_status) == f"signal {int(number)}"


async def test_waiting_for_an_exit_has_a_deadline(start_peer: StartPeer) -> None:
    process = await start_peer("echo.py")
    with pytest.raises(TimeoutError):
        await process.wait_exit(0.01)
    assert process.exit_status is None


async def test_the_output_ends_with_the_process_though_a_stray_holds_the_pipe(start_peer: StartPeer) -> None:
    process = await start_peer("family.py")
    family = await family_of(process)
    await process.send(b"last")
    await process.close_stdin()
    assert await all_lines(process) == [b"last"]
    assert (await process.wait_exit(10)).code == 0
    assert {child.pid for child in await process.children()} == {family["tool"], family["stray"]}


async def test_children_are_found_whatever_session_they_moved_to(start_peer: StartPeer) -> None:
    process = await start_peer("family.py")
    family = await family_of(process)
    children = {child.pid: child for child in await process.children()}
    assert set(children) == {family["tool"], family["stray"]}
    assert children[family["tool"]].session_id == process.pid
    assert children[family["stray"]].session_id not in (process.pid, family["guard"])
    for pid, child in children.items():
        real = psutil.Process(pid)
        assert child.create_time == pytest.approx(real.create_time(), abs=0.02)
        assert child.name == real.name()
        assert list(child.cmdline) == real.cmdline()
    assert process.create_time == pytest.approx(psutil.Process(process.pid).create_time(), abs=0.02)


async def test_the_marker_finds_the_same_processes_as_the_guard(start_peer: StartPeer) -> None:
    process = await start_peer("family.py")
    family = await family_of(process)
    assert {found.pid for found in processes_of(process.marker)} == set(family.values())


async def test_a_sweep_spares_the_harness_and_what_is_kept(start_peer: StartPeer) -> None:
    process = await start_peer("family.py")
    family = await family_of(process)
    swept = await process.sweep(keep={family["stray"]})
    assert [child.pid for child in swept] == [family["tool"]]
    assert "signal.pause" in " ".join(swept[0].cmdline)
    assert {child.pid for child in await process.children()} == {family["stray"]}
    assert [child.pid for child in await process.sweep()] == [family["stray"]]
    assert await process.children() == []
    await process.send(b"still here")
    assert await first_line(process) == b"still here"


async def test_a_sweep_spares_everything_below_what_is_kept(start_peer: StartPeer) -> None:
    process = await start_peer("family.py")
    family = await family_of(process)
    # The tool is a child of the harness, the stray no longer is.
    assert [child.pid for child in await process.sweep(keep={process.pid})] == [family["stray"]]


async def test_the_ladder_ends_at_the_first_rung_that_works(start_peer: StartPeer) -> None:
    obedient = await start_peer("echo.py")
    result = await obedient.kill_ladder("test", stdin_grace_seconds=10)
    assert (result.rung, result.status, result.reason) == (Rung.STDIN, ExitStatus(code=0), "test")
    again = await obedient.kill_ladder("test")
    assert (again.rung, again.status) == (Rung.EXITED, ExitStatus(code=0))

    deaf = await start_peer("stubborn.py")
    await first_line(deaf)
    result = await deaf.kill_ladder("test", stdin_grace_seconds=0.05, term_grace_seconds=10)
    assert (result.rung, result.status) == (Rung.TERM, ExitStatus(signal=signal.SIGTERM))

    stubborn = await start_peer("stubborn.py", "term")
    await first_line(stubborn)
    result = await stubborn.kill_ladder("test", stdin_grace_seconds=0.05, term_grace_seconds=0.05)
    assert (result.rung, result.status) == (Rung.KILL, ExitStatus(signal=signal.SIGKILL))
    assert 0.1 <= result.seconds < 5


async def test_a_stopped_process_is_killed_by_the_ladder(start_peer: StartPeer) -> None:
    process = await start_peer("echo.py")
    await process.signal(signal.SIGSTOP)
    result = await process.kill_ladder("frozen", stdin_grace_seconds=0.05, term_grace_seconds=0.05)
    assert (result.rung, result.status) == (Rung.KILL, ExitStatus(signal=signal.SIGKILL))


async def test_the_ladder_kills_what_the_process_left(start_peer: StartPeer) -> None:
    process = await start_peer("family.py")
    family = await family_of(process)
    result = await process.kill_ladder("test", stdin_grace_seconds=10)
    assert result.rung is Rung.STDIN
    assert {child.pid for child in result.swept} == {family["tool"], family["stray"]}
    assert await still_alive((family["tool"], family["stray"])) == []


async def test_last_words_that_nobody_reads_do_not_hold_up_the_ladder_and_are_kept(
    start_peer: StartPeer,
) -> None:
    process = await start_peer("last_words.py", stdin_grace_seconds=30)
    await first_line(process)
    result = await process.kill_ladder("test")
    assert (result.rung, result.status) == (Rung.STDIN, ExitStatus(code=0))
    lines = await all_lines(process)
    assert [int(line.split()[0]) for line in lines] == list(range(4096))


async def test_a_close_takes_a_detached_grandchild_with_it(start_peer: StartPeer) -> None:
    process = await start_peer("family.py")
    family = await family_of(process)
    await process.aclose()
    assert await still_alive(family.values()) == []


async def test_a_close_ends_a_consumer_that_waits(start_peer: StartPeer) -> None:
    process = await start_peer("stubborn.py", "term", stdin_grace_seconds=0.05, term_grace_seconds=0.05)
    await first_line(process)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as consumers:
            consumers.start_soon(all_lines, process)
            await process.aclose()


async def test_when_the_guard_is_killed_nothing_of_the_harness_lives_on(start_peer: StartPeer) -> None:
    process = await start_peer("family.py")
    family = await family_of(process)
    os.kill(family["guard"], signal.SIGKILL)
    assert await still_alive(family.values()) == []
    status = await process.wait_exit(10)
    assert status == ExitStatus(unseen=True)
    assert "guard" in str(status)
    assert await process.children() == []
    assert (await process.kill_ladder("test")).rung is Rung.EXITED


async def test_a_guard_that_answers_nothing_is_killed_with_the_harness(
    start_peer: StartPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkrein.adapters.transport.link.COMMAND_SECONDS", 0.1)
    process = await start_peer("family.py")
    family = await family_of(process)
    os.kill(family["guard"], signal.SIGSTOP)
    with anyio.fail_after(10):
        assert {child.pid for child in await process.children()} <= set(family.values())
        assert await process.wait_exit() == ExitStatus(unseen=True)
    assert await still_alive(family.values()) == []


async def test_a_process_that_survives_a_kill_is_named(
    start_peer: StartPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await start_peer("family.py", stdin_grace_seconds=10)
    family = await family_of(process)
    survivor = next(child for child in await process.children() if child.pid == family["stray"])

    async def sweep(link: GuardLink, keep: Set[int], *, harness: bool) -> Reply:
        return Reply(id=0, processes=(), survivors=(survivor,))

    with monkeypatch.context() as patch:
        patch.setattr(GuardLink, "sweep", sweep)
        with pytest.raises(ProcessSurvived, match="alive after SIGKILL") as raised:
            await process.aclose()
    assert str(survivor.pid) in raised.value.where
    assert await still_alive(family.values()) == []


async def test_when_the_guard_is_asked_to_end_it_takes_everything_along(start_peer: StartPeer) -> None:
    process = await start_peer("family.py")
    family = await family_of(process)
    os.kill(family["guard"], signal.SIGTERM)
    assert await still_alive(family.values()) == []
    assert await process.wait_exit(10) == ExitStatus(signal=signal.SIGTERM)


async def test_strays_are_found_and_killed_by_their_marker_alone(start_peer: StartPeer) -> None:
    process = await start_peer("family.py")
    family = await family_of(process)
    kept = frozenset({family["cli"], family["guard"]})
    killed = kill_marked(process.marker, keep=kept, timeout_seconds=5)
    assert {found.pid for found in killed} == {family["tool"], family["stray"]}
    assert await process.children() == []


def kill_driver(driver: subprocess.Popen[str]) -> None:
    driver.kill()


def terminate_driver(driver: subprocess.Popen[str]) -> None:
    driver.terminate()


@pytest.mark.parametrize("leave_fork", [False, True], ids=["alone", "with-a-fork-that-holds-the-pipes"])
@pytest.mark.parametrize("end", [kill_driver, terminate_driver])
def test_nothing_outlives_a_driver_that_is_killed(
    anyio_backend: str, end: Callable[[subprocess.Popen[str]], None], leave_fork: bool
) -> None:
    argv = [sys.executable, str(PEERS / "driver.py"), anyio_backend, *(["fork"] if leave_fork else [])]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        said, _, copy = driver.stdout.readline().rpartition(" ")
        family: dict[str, int] = json.loads(said)
        assert set(family) == {"cli", "guard", "tool", "stray"}
        try:
            end(driver)
            alive = alive_after(family.values())
            assert [name for name, pid in family.items() if pid in alive] == []
        finally:
            if leave_fork:
                os.kill(int(copy), signal.SIGKILL)


def test_the_harness_dies_with_its_guard_though_the_driver_can_do_nothing(anyio_backend: str) -> None:
    argv = [sys.executable, str(PEERS / "driver.py"), anyio_backend]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        said, _, _ = driver.stdout.readline().rpartition(" ")
        family: dict[str, int] = json.loads(said)
        try:
            driver.send_signal(signal.SIGSTOP)
            os.kill(family["guard"], signal.SIGKILL)
            assert alive_after([family["cli"], family["guard"]]) == []
        finally:
            driver.kill()
            for name in ("tool", "stray"):
                os.kill(family[name], signal.SIGKILL)


def test_the_process_table_is_read_from_ps_where_there_is_no_proc() -> None:
    listing = (
        "    1     0     1 Ss   Sun Nov 29 08:00:00 2026 /sbin/launchd\n"
        "  734     1   734 S    Sun Nov 29 14:40:55 2026 /Applications/My App/Contents/MacOS/tool\n"
        "  735   734   734 Z    Sun Nov 29 14:40:56 2026 (tool)\n"
    )
    launchd, tool, gone = parse_ps(listing)
    assert (launchd.pid, launchd.parent, launchd.alive) == (1, 0, True)
    assert (tool.pid, tool.parent, tool.group, tool.name) == (734, 1, 734, "tool")
    assert tool.alive
    assert not gone.alive
    assert gone.started - tool.started == 1
