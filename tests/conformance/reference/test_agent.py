"""The reference agent as a program: where it comes from, and what it does with what a driver should not do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, cast

import anyio
import msgspec
import psutil
import pytest

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.provision import HarnessRequest, find_bundled, install_harness, locate_harness
from checkrein.adapters.provision.errors import NoSuchVersion
from checkrein.conformance.reference.agent import VERSION
from checkrein.conformance.reference.sessions import LOST, NoSuchSession, Session, user_message
from checkrein.conformance.reference.tools import TOOLS, offered
from checkrein.conformance.target import find_target
from checkrein.scripted_models import ModelServer, Script, shell

#: How long the agent may take to end, in seconds.
UNTIL_GONE = 10.0

Message = dict[str, object]


class Driver:
    """A client that does what it likes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._to = cast("IO[bytes]", process.stdin)
        self._from = cast("IO[bytes]", process.stdout)

    def says(self, **message: object) -> None:
        self._to.write(msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n")
        self._to.flush()

    def hears(self, wanted: object) -> Message:
        """The answer to that request; what comes before it is passed over."""
        for line in self._from:
            message = msgspec.json.decode(line, type=Message)
            if message.get("id") == wanted and "method" not in message:
                return message
        raise AssertionError("the agent said nothing more")

    def asks(self, method: str, **params: object) -> Message:
        request_id = str(uuid.uuid4())
        self.says(id=request_id, method=method, params=params)
        return self.hears(request_id)


@contextmanager
def agent(home: Path, url: str = "http://127.0.0.1:9") -> Generator[Driver]:
    """The agent in a process of its own."""
    program = locate_harness("reference").binary
    home.mkdir(exist_ok=True)
    environment = {"HOME": str(home), "REFERENCE_MODEL_URL": url, "REFERENCE_MODEL_KEY": "none"}
    with subprocess.Popen(
        [sys.executable, "-I", str(program), "--policy", "auto"],
        env={"PATH": os.environ["PATH"], **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            yield Driver(process)
        finally:
            process.kill()


def test_it_is_there_without_an_installation() -> None:
    found = locate_harness("reference")
    assert (found.version, found.binary.name) == (VERSION, "agent.py")
    assert install_harness("reference@latest") == found
    assert find_target("reference").binary.launcher == (sys.executable, "-I")


def test_it_comes_in_one_version() -> None:
    with pytest.raises(NoSuchVersion, match=r"reference 9\.9"):
        locate_harness("reference@9.9")
    with pytest.raises(BadRequest):
        locate_harness("reference@latest")


def test_nothing_else_is_bundled() -> None:
    assert find_bundled(HarnessRequest(name="codex", version=None)) is None
    assert find_bundled(HarnessRequest(name="nobody", version=None)) is None


def test_it_starts_without_what_only_a_driver_needs() -> None:
    # Hundreds of them are started in one run of the kit.
    heavy = "anyio", "httpx", "pydantic", "yaml", "asyncio", "checkrein.adapters", "checkrein.scripted_models"
    look = (
        "import sys, checkrein.conformance.reference.agent\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_second_prompt_is_rejected_and_an_unknown_method_refused(tmp_path: Path) -> None:
    script = Script()
    tool = script.held_tool("build")
    script.main([shell(tool, id="call_build")])
    with ModelServer() as server:
        model = server.open_session(script, find_target("reference").profile)
        with agent(tmp_path / "home", f"{model.base_url}/v1") as driver:
            opened = cast("Message", driver.asks("session/new", cwd=str(tmp_path), mcpServers=[])["result"])
            prompt = [{"type": "text", "text": "build it"}]
            own = {"sessionId": opened["sessionId"], "prompt": prompt}
            driver.says(id="first", method="session/prompt", params=own)
            codes = [
                cast("Message", driver.asks(method, **params)["error"])["code"]
                for method, params in (("session/prompt", own), ("_hologram/look", {}), ("session/load", {}))
            ]
            driver.says(method="session/cancel", params={"sessionId": opened["sessionId"]})
            ended = cast("Message", driver.hears("first")["result"])
            idle = driver.asks("_session/steering", sessionId=opened["sessionId"], prompt=prompt)
        model.close(verify=False)
    assert codes == [-32600, -32601, -32002]
    assert ended["stopReason"] == "cancelled"
    assert idle["result"] == {"outcome": "promptRequired", "reason": "noRunningTurn"}


@pytest.mark.parametrize("end", [signal.SIGTERM, None], ids=["SIGTERM", "end of input"])
def test_its_command_ends_with_it(tmp_path: Path, end: signal.Signals | None) -> None:
    script = Script()
    tool = script.held_tool("build")
    script.main([shell(tool, id="call_build")])
    with ModelServer() as server:
        model = server.open_session(script, find_target("reference").profile)
        with agent(tmp_path / "home", f"{model.base_url}/v1") as driver:
            opened = cast("Message", driver.asks("session/new", cwd=str(tmp_path), mcpServers=[])["result"])
            own = {"sessionId": opened["sessionId"], "prompt": [{"type": "text", "text": "build it"}]}
            driver.says(id="first", method="session/prompt", params=own)
            anyio.run(partial(tool.started, timeout=UNTIL_GONE))
            pid = tool.pid
            if end is None:
                cast("IO[bytes]", driver.process.stdin).close()
            else:
                driver.process.send_signal(end)
            status = driver.process.wait(UNTIL_GONE)
        model.close(verify=False)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert status == (0 if end is None else 128 + end)


def test_a_conversation_that_was_cut_off_is_mended(tmp_path: Path) -> None:
    session = Session.new(tmp_path)
    call = {"id": "call_open", "type": "function", "function": {"name": "shell", "arguments": "{}"}}
    session.append(user_message("go"), {"role": "assistant", "content": "", "tool_calls": [call]})
    [path] = tmp_path.rglob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"role":"tool","tool_call_id":"call_open","cont')
    mended = Session.load(session.id, tmp_path)
    assert mended.messages[-1] == {"role": "tool", "tool_call_id": "call_open", "content": LOST}
    assert Session.load(session.id, tmp_path).messages == mended.messages


def test_what_is_no_id_is_no_session(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.jsonl").write_text("")
    for name in ("../../elsewhere", "elsewhere", ""):
        with pytest.raises(NoSuchSession):
            Session.load(name, tmp_path)


def test_the_model_is_told_every_tool_with_its_arguments() -> None:
    told = {
        cast("Message", cast("Message", tool)["function"])["name"]: cast(
            "Message", cast("Message", tool)["function"]
        )["parameters"]
        for tool in offered()
    }
    assert set(told) == set(TOOLS)
    assert cast("Message", told["shell"])["required"] == ["command"]
