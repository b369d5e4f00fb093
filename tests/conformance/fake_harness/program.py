"""The fake harness itself: takes orders as lines of JSON, asks a model, runs what it says, and reports.

In:  {"do": "start", "id", "prompt"}, {"do": "steer", "id", "text"}, {"do": "interrupt"}, {"do": "answer", "allow"}
Out: {"event": "ready" | "opened" | "text" | "tool" | "result" | "ask" | "steered" | "closed", …}

Run as `python -I program.py POLICY FLAW`, with FAKE_MODEL_URL in its environment. FLAW makes it misbehave in one way.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from typing import Any
from urllib.parse import urlsplit

Message = dict[str, Any]

POLICY, FLAW = sys.argv[1], sys.argv[2]


def report(event: str, **data: object) -> None:
    print(json.dumps({"event": event, **data}), flush=True)


class Interrupted(Exception):
    """The turn is to end."""


class Harness:
    """One conversation."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.steers: queue.Queue[Message] = queue.Queue()
        self.answers: queue.Queue[bool] = queue.Queue()
        self.interrupted = threading.Event()
        self.connection: http.client.HTTPConnection | None = None
        self.tool: subprocess.Popen[str] | None = None

    def ask_model(self) -> list[Message]:
        url = urlsplit(os.environ["FAKE_MODEL_URL"])
        self.connection = http.client.HTTPConnection(url.netloc)
        body = {
            "model": "fake",
            "max_tokens": 100,
            "messages": self.messages,
            "tools": [{"name": "sh", "input_schema": {"type": "object"}}],
        }
        try:
            key = {"x-api-key": os.environ["FAKE_MODEL_KEY"]}
            self.connection.request("POST", f"{url.path}/v1/messages", json.dumps(body), key)
            response = self.connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as fault:
            if self.interrupted.is_set():
                raise Interrupted from None
            raise RuntimeError(str(fault)) from fault
        if response.status != 200:
            raise RuntimeError(f"{response.status} {answer['error']['message']}")
        return answer["content"]

    def run_tool(self, call: Message) -> Message:
        command = call["input"]["command"]
        report("tool", id=call["id"], command=command)
        allowed = True
        if POLICY == "ask":
            report("ask", id=call["id"], command=command)
            while True:
                try:
                    allowed = self.answers.get(timeout=0.02)
                    break
                except queue.Empty:
                    if self.interrupted.is_set():
                        raise Interrupted from None
        output, status = "refused", 1
        if allowed:
            self.tool = subprocess.Popen(
                ["/bin/sh", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            if self.interrupted.is_set():
                self.stop()
            output, _ = self.tool.communicate()
            status = self.tool.returncode
        report("result", id=call["id"], output=output, status=status)
        if self.interrupted.is_set():
            raise Interrupted
        return {"type": "tool_result", "tool_use_id": call["id"], "content": output, "is_error": status != 0}

    def turn(self, prompt: str) -> None:
        self.messages.append({"role": "user", "content": prompt})
        while True:
            content = self.ask_model()
            self.messages.append({"role": "assistant", "content": content})
            for block in content:
                if block["type"] == "text":
                    report("text", text=block["text"])
            calls = [block for block in content if block["type"] == "tool_use"]
            if not calls:
                return
            news: list[Message] = [self.run_tool(call) for call in calls]
            while not self.steers.empty():
                steer = self.steers.get()
                news.append({"type": "text", "text": steer["text"]})
                report("steered", id=steer["id"])
            self.messages.append({"role": "user", "content": news})

    def stop(self) -> None:
        if self.tool is not None and self.tool.poll() is None:
            os.killpg(self.tool.pid, signal.SIGKILL)
        if self.connection is not None and self.connection.sock is not None:
            self.connection.sock.shutdown(2)

    def run(self, order: Message) -> None:
        self.interrupted.clear()
        report("opened", id=order["id"])
        if FLAW == "dies":
            print("the fake harness gives up", file=sys.stderr, flush=True)
            os._exit(3)
        try:
            self.turn(order["prompt"])
        except Interrupted:
            report("closed", status="interrupted", reason="told to stop")
        except RuntimeError as fault:
            report("closed", status="failed", reason=str(fault))
        else:
            if FLAW == "asks-once-more":
                self.messages.append({"role": "user", "content": "and?"})
                with contextlib.suppress(RuntimeError):
                    self.ask_model()
            if FLAW == "leaves-a-process":
                subprocess.Popen(["/bin/sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL)
            report("closed", status="completed", reason="done")


def main() -> None:
    harness = Harness()
    report("ready", policy=POLICY)
    for line in sys.stdin:
        order = json.loads(line)
        match order["do"]:
            case "start":
                threading.Thread(target=harness.run, args=(order,), daemon=True).start()
            case "steer":
                harness.steers.put(order)
            case "answer":
                harness.answers.put(order["allow"])
            case _:
                if FLAW != "deaf":
                    harness.interrupted.set()
                    harness.stop()
    os._exit(0)


if __name__ == "__main__":
    main()
