"""A held tool is a real process: started by a shell line, released, refused, killed or orphaned."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import psutil
import pytest

from checkrein.scripted_models import (
    DeadlineExceeded,
    HeldTool,
    HeldToolEnded,
    ModelServer,
    Script,
    ScriptError,
)
from checkrein.scripted_models.held_process import ABANDONED
from tests.scripted_models.wire import ANTHROPIC

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def shell_running(tool: HeldTool) -> AsyncGenerator[anyio.abc.Process]:
    """Run the tool's command as a harness's shell would."""
    process = await anyio.open_process(
        ["/bin/sh", "-c", f"{tool.command}; exit $?"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        with anyio.fail_after(30):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        if tool.starts and psutil.pid_exists(tool.pid):
            psutil.Process(tool.pid).kill()
        await process.aclose()


async def output_of(process: anyio.abc.Process) -> str:
    assert process.stdout is not None
    return b"".join([chunk async for chunk in process.stdout]).decode()


async def test_the_process_runs_until_it_is_finished_with_output_and_status(server: ModelServer) -> None:
    script = Script()
    build = script.held_tool("build")
    with server.open_session(script, ANTHROPIC):
        async with shell_running(build) as process:
            await build.started(timeout=20)
            assert psutil.Process(build.pid).create_time() == build.create_time
            assert build.is_running
            build.finish("built ök", exit_status=3)
            assert await output_of(process) == "built ök\n"
            assert await process.wait() == 3
        await build.ended(timeout=5)
        assert not build.is_running


async def test_a_tool_finished_in_advance_ends_as_soon_as_it_starts(server: ModelServer) -> None:
    script = Script()
    build = script.held_tool("build")
    build.finish("built")
    with server.open_session(script, ANTHROPIC):
        async with shell_running(build) as process:
            assert await output_of(process) == "built\n"
            assert await process.wait() == 0


async def test_a_tool_can_be_waited_for_until_it_is_old_enough(server: ModelServer) -> None:
    script = Script()
    build = script.held_tool("build")
    began = time.monotonic()
    with server.open_session(script, ANTHROPIC):
        async with shell_running(build) as process:
            await build.running_for(0.6, timeout=20)
            assert time.monotonic() - began > 0.6
            assert build.is_running
            build.finish()
            await process.wait()


async def test_waiting_for_the_age_of_a_tool_that_dies_says_so(server: ModelServer) -> None:
    script = Script()
    build = script.held_tool("build")
    with server.open_session(script, ANTHROPIC):
        async with shell_running(build):
            await build.started(timeout=20)
            psutil.Process(build.pid).terminate()
            with pytest.raises(HeldToolEnded, match="build"):
                await build.running_for(30, timeout=20)


async def test_waiting_for_an_age_beyond_the_deadline_fails_at_the_deadline(server: ModelServer) -> None:
    script = Script()
    build = script.held_tool("build")
    with server.open_session(script, ANTHROPIC):
        async with shell_running(build) as process:
            await build.started(timeout=20)
            with pytest.raises(DeadlineExceeded, match="to be 60 s old"):
                await build.running_for(60, timeout=0.05)
            build.finish()
            await process.wait()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_the_process(server: ModelServer, sent: signal.Signals) -> None:
    script = Script()
    build = script.held_tool("build")
    with server.open_session(script, ANTHROPIC):
        async with shell_running(build):
            await build.started(timeout=20)
            psutil.Process(build.pid).send_signal(sent)
            await build.ended(timeout=10)


async def test_a_process_that_traps_signals_ends_by_kill_only(server: ModelServer) -> None:
    script = Script()
    build = script.held_tool("build", ignore_signals=True)
    with server.open_session(script, ANTHROPIC):
        async with shell_running(build):
            await build.started(timeout=20)
            process = psutil.Process(build.pid)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)
            with pytest.raises(DeadlineExceeded):
                await build.ended(timeout=0.3)
            process.kill()
            await build.ended(timeout=10)


async def test_the_process_does_not_outlive_the_session(server: ModelServer) -> None:
    script = Script()
    build = script.held_tool("build")
    session = server.open_session(script, ANTHROPIC)
    async with shell_running(build) as process:
        await build.started(timeout=20)
        session.close(verify=False)
        assert await process.wait() == ABANDONED


async def test_a_process_that_finds_no_kit_says_so_and_exits(server: ModelServer) -> None:
    script = Script()
    build = script.held_tool("build")
    async with shell_running(build) as process:
        assert process.stderr is not None
        said = b"".join([chunk async for chunk in process.stderr]).decode()
        assert await process.wait() == ABANDONED
    assert "the kit cannot be reached" in said


async def test_each_start_is_counted_and_the_newest_run_is_the_one_described(server: ModelServer) -> None:
    script = Script()
    build = script.held_tool("build")
    with server.open_session(script, ANTHROPIC):
        async with shell_running(build):
            await build.started(timeout=20)
            first = build.pid
            psutil.Process(first).kill()
            await build.ended(timeout=10)
        build.finish("again")
        async with shell_running(build) as process:
            await process.wait()
        assert build.starts == 2
        assert build.pid != first


async def test_the_socket_path_fits_into_a_socket_address() -> None:
    script = Script()
    assert len(bytes(script.socket_path)) <= 100
    assert str(script.socket_path) in script.held_tool("build").command


async def test_a_pid_before_the_start_is_an_error() -> None:
    with pytest.raises(ScriptError, match="has not started"):
        _ = Script().held_tool("build").pid
