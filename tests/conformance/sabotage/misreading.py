"""Defects that only a harness's own protocol shows: what was said, dropped or rewritten before the kit reads it.

The adapter reads every line as it was. A defect is several faults of a kind, at most one for each part of what a clause
demands: one run shows that each of its clauses notices its own.
"""

from __future__ import annotations

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from checkrein.adapters import Session, Turn
from checkrein.adapters.claude_code.connection import ClaudeCodeConnection
from checkrein.adapters.codex.connection import CodexConnection
from checkrein.adapters.interface import Decision, DecisionKind
from checkrein.conformance.wire import Wire
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong.

    Args:
        red: the clauses that must notice it.
        install: puts it in, in this process.
    """

    red: tuple[str, ...]
    install: Callable[[], None]


def misread(*red: str, marks: tuple[bytes, ...], old: bytes = b"", new: bytes | None = None) -> Fault:
    """In lines that hold all marks the kit reads `new` in the place of `old`; without `new`, no such line."""

    def make(tap: Any) -> Any:
        def meddled(self: Any, direction: Any, line: bytes) -> None:
            if all(mark in line for mark in marks):
                if new is None:
                    return
                line = line.replace(old, new)
            tap(self, direction, line)

        return meddled

    return Fault(red=red, install=partial(replace_attribute, Wire, "tap", make))


def doubled(*red: str) -> Fault:
    """The model is given the text of a steer twice."""

    def make(steer: Any) -> Any:
        return lambda self, text: steer(self, f"{text}\n{text}")

    return Fault(red=red, install=partial(replace_attribute, Turn, "steer", make))


def prompted(*red: str, prompt: str, more: str) -> Fault:
    """With this prompt the model is given more."""

    def make(start: Any) -> Any:
        return lambda self, text: start(self, f"{text}\n{more}" if text == prompt else text)

    return Fault(red=red, install=partial(replace_attribute, Session, "start", make))


def speechless(*red: str) -> Fault:
    """The model's last words are lost."""

    def make(outcome: Any) -> Any:
        async def without_text(self: Any) -> Any:
            return replace(await outcome(self), text="")

        return without_text

    return Fault(red=red, install=partial(replace_attribute, Turn, "outcome", make))


def disobedient(*red: str, connection: type) -> Fault:
    """A file that a denied command was to make is made."""

    def make(answer: Any) -> Any:
        async def answered(self: Any, question: Any, decision: Decision) -> None:
            if decision.kind is DecisionKind.DENY:
                _make_the_file_of(question.call.command, self.spec.cwd)
            await answer(self, question, decision)

        return answered

    return Fault(red=red, install=partial(replace_attribute, connection, "answer", make))


def _make_the_file_of(command: str, folder: Path) -> None:
    *_, name = command.strip("'").split()
    (folder / name).touch()


def _defect(harness: str, *faults: Fault) -> Defect:
    def install() -> None:
        for fault in faults:
            fault.install()

    red = tuple(dict.fromkeys(clause for fault in faults for clause in fault.red))
    return Defect(harness=harness, red=red, among=red, install=install)


_CLAUDE_CODE: dict[str, Defect] = {
    "keeps quiet of what it does": _defect(
        "claude-code",
        misread(
            "native.claude-code.steer-lifecycle", marks=(b'"type":"command_lifecycle"', b'"state":"started"')
        ),
        misread(
            "native.claude-code.can-use-tool", marks=(b'"subtype":"can_use_tool"', b'"touch allowed.txt"')
        ),
        misread(
            "native.claude-code.updated-permissions", marks=(b'"subtype":"can_use_tool"', b'"touch two.txt"')
        ),
        misread("native.claude-code.interrupt-process-lives", marks=(b'"type":"control_cancel_request"',)),
        misread(
            "native.claude-code.usage-split",
            marks=(b'"type":"result"',),
            old=b'"total_cost_usd"',
            new=b'"total_cost_eur"',
        ),
    ),
    "gives wrong results": _defect(
        "claude-code",
        misread(
            "native.claude-code.steer-lifecycle",
            marks=(b'"type":"result"',),
            old=b'"user_message_uuids"',
            new=b'"command_uuids"',
        ),
        misread(
            "native.claude-code.can-use-tool",
            marks=(b'"type":"tool_result"',),
            old=b'"is_error":true',
            new=b'"is_error":false',
        ),
        misread(
            "native.claude-code.updated-permissions",
            marks=(b'"updatedPermissions"',),
            old=b'"session"',
            new=b'"localSettings"',
        ),
        misread(
            "native.claude-code.interrupt-process-lives",
            marks=(b'"type":"result"',),
            old=b'"aborted_tools"',
            new=b'"aborted_streaming"',
        ),
        misread(
            "native.claude-code.usage-split",
            marks=(b'"type":"result"',),
            old=b'"input_tokens":500',
            new=b'"input_tokens":1500',
        ),
    ),
    "does once more what was done": _defect(
        "claude-code",
        doubled("native.claude-code.steer-lifecycle"),
        disobedient("native.claude-code.can-use-tool", connection=ClaudeCodeConnection),
        misread(
            "native.claude-code.interrupt-process-lives",
            marks=(b'"subtype":"list_permission_rules"',),
            old=b'"list_permission_rules"',
            new=b'"initialize"',
        ),
        misread(
            "native.claude-code.usage-split",
            marks=(b'"type":"result"',),
            old=b'"inputTokens":1500',
            new=b'"inputTokens":500',
        ),
    ),
    "calls the end of a turn otherwise": _defect(
        "claude-code",
        misread(
            "native.claude-code.can-use-tool",
            marks=(b'"type":"result"',),
            old=b'"terminal_reason":"completed"',
            new=b'"terminal_reason":"done"',
        ),
    ),
}

_ASKS = b'"item/commandExecution/requestApproval"'

_CODEX: dict[str, Defect] = {
    "keeps quiet of what Codex does": _defect(
        "codex",
        misread("native.codex.turn-start", marks=(b'"turn/started"',)),
        misread(
            "native.codex.interrupt-status",
            "native.codex.clean-ends-the-command",
            marks=(b'"turn/completed"',),
            old=b'"status":"interrupted"',
            new=b'"status":"completed"',
        ),
        misread(
            "native.codex.steer-idle-refused",
            marks=(b"no active turn to steer",),
            old=b"-32600",
            new=b"-32601",
        ),
        misread(
            "native.codex.accept-decline",
            marks=(b'"decision":"accept"',),
            old=b'"accept"',
            new=b'"acceptForSession"',
        ),
        misread(
            "native.codex.token-totals",
            marks=(b'"thread/tokenUsage/updated"',),
            old=b'"total"',
            new=b'"sum"',
        ),
        misread("native.codex.session-grant-ends-with-process", marks=(_ASKS, b'"itemId":"call_later"')),
    ),
    "confuses one thing of Codex with another": _defect(
        "codex",
        misread(
            "native.codex.turn-start",
            marks=(b'"userAgent"',),
            old=b'"userAgent":"checkrein/',
            new=b'"userAgent":"checkrein/0.',
        ),
        misread(
            "native.codex.interrupt-status",
            marks=(b'"serverRequest/resolved"',),
            old=b'"requestId":0',
            new=b'"requestId":1',
        ),
        misread(
            "native.codex.clean-ends-the-command",
            marks=(b'"thread/backgroundTerminals/clean"',),
            old=b"backgroundTerminals/clean",
            new=b"backgroundTerminals/list",
        ),
    ),
    "does with Codex what nobody asked for": _defect(
        "codex",
        prompted("native.codex.steer-idle-refused", prompt="hello", more="steered while idle"),
        disobedient("native.codex.accept-decline", connection=CodexConnection),
        misread(
            "native.codex.session-grant-ends-with-process",
            marks=(b'"method":"initialized"',),
            old=b'"initialized"',
            new=b'"initialize"',
        ),
    ),
    "loses what Codex has said": _defect(
        "codex",
        misread(
            "native.codex.turn-start",
            marks=(b'"result":{"thread":',),
            old=b'"result":{"thread":{"id":',
            new=b'"result":{"thread":{"name":',
        ),
        speechless("native.codex.interrupt-status", "native.codex.accept-decline"),
        misread(
            "native.codex.session-grant-ends-with-process",
            marks=(b'"decision":"acceptForSession"',),
            old=b'"acceptForSession"',
            new=b'"accept"',
        ),
    ),
    "calls the end of Codex's turn otherwise": _defect(
        "codex",
        misread(
            "native.codex.turn-start",
            marks=(b'"turn/completed"',),
            old=b'"status":"completed"',
            new=b'"status":"done"',
        ),
    ),
}

_PI: dict[str, Defect] = {
    "misses what pi says": _defect(
        "pi",
        misread(
            "native.pi.agent-settled",
            "native.pi.abort-ends-dialog",
            marks=(b'"type":"agent_settled"',),
            old=b'"aborted":true',
            new=b'"aborted":false',
        ),
        misread(
            "native.pi.clear-queue",
            marks=(b'"command":"clear_queue"',),
            old=b'"steered while the tool runs"',
            new=b"",
        ),
        misread(
            "native.pi.gate-first",
            marks=(b'"method":"notify"',),
            old=b'\\"checkrein\\":\\"ready\\"',
            new=b'\\"checkrein\\":\\"hello\\"',
        ),
        misread(
            "native.pi.dialog-holds-call",
            marks=(b'"method":"input"',),
            old=b'\\"parentToolCallId\\"',
            new=b'\\"parent\\"',
        ),
        misread(
            "native.pi.idle-steer-handled",
            marks=(b'"id":"kit-ours"',),
            old=b'"handled"',
            new=b'"queued"',
        ),
    ),
    "takes a no of pi for a yes": _defect(
        "pi",
        misread(
            "native.pi.agent-settled",
            marks=(b'"type":"agent_settled"',),
            old=b'"aborted":false',
            new=b'"aborted":true',
        ),
        misread(
            "native.pi.clear-queue",
            "native.pi.idle-steer-handled",
            marks=(b'"id":"kit-state"',),
            old=b'"pendingMessageCount":0',
            new=b'"pendingMessageCount":1',
        ),
        misread(
            "native.pi.abort-ends-dialog",
            marks=(b'"type":"clear_queue"',),
            old=b'"clear_queue"',
            new=b'"extension_ui_response"',
        ),
    ),
    "takes a yes of pi for a no": _defect(
        "pi",
        misread(
            "native.pi.agent-settled",
            marks=(b'"type":"agent_end"',),
            old=b'"willRetry":true',
            new=b'"willRetry":false',
        ),
        misread(
            "native.pi.clear-queue",
            marks=(b'"command":"abort"',),
            old=b'"success":true',
            new=b'"success":false',
        ),
    ),
    "gives pi with a prompt what it has taken back": _defect(
        "pi",
        prompted("native.pi.clear-queue", prompt="go on", more="steered while the tool runs"),
        prompted("native.pi.idle-steer-handled", prompt="a prompt", more="steered while nothing runs"),
    ),
}

DEFECTS: dict[str, Defect] = {**_CLAUDE_CODE, **_CODEX, **_PI}
