"""Runs of a tiny program: one process per turn, ended with all that it started."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import psutil
import pytest

from checkrein.adapters.errors import CallRefused, SessionNotFound, SteerReason, SteerRejected, Unsupported
from checkrein.adapters.interface import HarnessBinary
from checkrein.adapters.outcome import OutcomeStatus, StoppedBy
from checkrein.adapters.transport import Direction
from checkrein.adapters.transport.gone import wait_gone
from tests.adapters.oneshot.conftest import MakeAdapter, OpenSession

pytestmark = pytest.mark.anyio


def text_of(program: str) -> str:
    """The description of a program whose output is its answer."""
    words = json.dumps(["-c", program.replace("{", "{{").replace("}", "}}"), "{prompt}"])
    return f'[commands]\nprompt = {words}\n[output]\nformat = "text"\n'


ANSWER = (
    "import os, sys; print('asked', sys.argv[1]); print('input', repr(sys.stdin.read()), 'pid', os.getpid())"
)


async def test_the_output_is_the_answer_and_the_input_is_empty(
    make: MakeAdapter, opened: OpenSession
) -> None:
    async with opened(make(text_of(ANSWER))) as session:
        assert session.link is not None
        pid = session.link.process.pid
        outcome = await (await session.start("-x {y}\nline two")).outcome()
        assert outcome.status is OutcomeStatus.COMPLETED
        assert outcome.text == f"asked -x {{y}}\nline two\ninput '' pid {pid}"


async def test_without_words_to_resume_with_there_is_one_turn_only(
    make: MakeAdapter, opened: OpenSession
) -> None:
    async with opened(make(text_of(ANSWER))) as session:
        await (await session.start("go")).outcome()
        with pytest.raises(Unsupported, match="cannot resume"):
            await session.start("again")


STAYING = """
import json, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
print(json.dumps({"type": "done", "answer": f"{child.pid}"}), flush=True)
child.wait()
print(json.dumps({"type": "done", "answer": "once more"}), flush=True)
"""


async def test_a_program_that_stays_after_its_last_line_is_ended_and_what_it_started_with_it(
    make: MakeAdapter, opened: OpenSession
) -> None:
    words = json.dumps(["-c", STAYING.replace("{", "{{").replace("}", "}}"), "{prompt}"])
    rule = '[[output.rules]]\nwhen = { type = "done" }\ntext = "answer"\nlast = true\n'
    adapter = make(f'[commands]\nprompt = {words}\n[output]\nformat = "json-lines"\n{rule}')
    async with opened(adapter) as session:
        with anyio.fail_after(30):
            outcome = await (await session.start("go")).outcome()
        assert outcome.status is OutcomeStatus.COMPLETED, outcome.reason
        assert outcome.text.isdigit()
        # It dies behind the program: the end of the turn does not wait for it.
        with anyio.fail_after(20):
            await wait_gone({int(outcome.text)}, seconds=60)


async def test_a_status_that_is_not_0_fails_the_turn_with_the_last_words(
    make: MakeAdapter, opened: OpenSession
) -> None:
    async with opened(make(text_of("import sys; sys.exit('no such model')"))) as session:
        outcome = await (await session.start("go")).outcome()
        assert outcome.status is OutcomeStatus.FAILED
        assert outcome.reason == "exit status 1: its last words were: no such model"
        assert outcome.native_status == "exit status 1"


async def test_a_program_that_cannot_be_run_fails_the_turn(
    make: MakeAdapter, opened: OpenSession, tmp_path: Path
) -> None:
    no_program = HarnessBinary(path=tmp_path / "gone", version="1.0", sha256="0" * 64)
    async with opened(make(text_of("pass")), binary=no_program) as session:
        outcome = await (await session.start("go")).outcome()
        assert outcome.status is OutcomeStatus.FAILED
        assert "gone cannot be run: No such file" in outcome.reason


#: Starts a process in a session of its own, says that both are there, and waits.
STRAYING = (
    "import os, subprocess, sys, threading\n"
    "stray = [sys.executable, '-I', '-S', '-c', 'import threading; threading.Event().wait()']\n"
    "child = subprocess.Popen(stray, start_new_session=True)\n"
    "print(child.pid, flush=True)\n"
    "threading.Event().wait()\n"
)


async def test_an_interrupt_ends_the_program_and_a_child_that_has_a_session_of_its_own(
    make: MakeAdapter, opened: OpenSession
) -> None:
    async with opened(make(text_of(STRAYING))) as session:
        turn = await session.start("go")
        async for event in turn.events():
            if (text := getattr(event, "text", "")) and text.strip().isdigit():
                stray = int(text)
                break
        else:
            pytest.fail("the program said nothing")
        with anyio.fail_after(20):
            outcome = await turn.interrupt()
        assert (outcome.status, outcome.exit_status) == (OutcomeStatus.INTERRUPTED, 130)
        assert outcome.stopped_by is StoppedBy.TERM
        assert "takes no interrupt" in outcome.reason
        assert not psutil.pid_exists(stray)


async def test_a_steer_is_unsupported_at_once(make: MakeAdapter, opened: OpenSession) -> None:
    async with opened(make(text_of(STRAYING))) as session:
        turn = await session.start("go")
        with pytest.raises(SteerRejected) as rejected:
            await turn.steer("more")
        assert rejected.value.reason is SteerReason.UNSUPPORTED


@pytest.mark.parametrize("policy", ["ask", "deny-risky", "governed"])
async def test_any_policy_but_auto_is_refused_before_anything_runs(
    make: MakeAdapter, opened: OpenSession, policy: str
) -> None:
    seen: list[bytes] = []

    def tap(direction: Direction, line: bytes) -> None:
        seen.append(line)

    with pytest.raises(Unsupported):
        async with opened(make(text_of(ANSWER)), policy=policy, tap=tap):
            pytest.fail("it was opened")
    assert seen == []


async def test_a_prompt_that_is_no_text_for_the_program_or_too_long_is_refused(
    make: MakeAdapter, opened: OpenSession
) -> None:
    async with opened(make(f'not_text = ["@.*"]\n{text_of(ANSWER)}')) as session:
        for prompt in ("@file\nof two lines", "x" * 131_072):
            with pytest.raises(CallRefused):
                await session.start(prompt)
        outcome = await (await session.start("mail me @home")).outcome()
        assert outcome.text.startswith("asked mail me @home")


#: Keeps the conversation in a file of its workspace; a prompt "cut" ends before that.
KEEPING = (
    "import json, os, pathlib, sys\n"
    "how, session_id, prompt = sys.argv[1:]\n"
    "session_id = session_id if how == 'resume' else 'named-by-the-program'\n"
    "print(json.dumps({'type': 'named', 'id': session_id}), flush=True)\n"
    "if prompt == 'cut': sys.exit(3)\n"
    "kept = pathlib.Path(f'{session_id}.txt')\n"
    "with kept.open('a') as file: file.write(prompt + ';')\n"
    "print(json.dumps({'type': 'answer', 'text': kept.read_text()}))\n"
)


def keeping() -> str:
    """The description of that program."""
    program = KEEPING.replace("{", "{{").replace("}", "}}")
    start, resume = (
        json.dumps(["-c", program, how, "{session_id}", "{prompt}"]) for how in ("start", "resume")
    )
    return (
        f"[commands]\nprompt = {start}\nresume = {resume}\n"
        '[conversation]\nfile = "{cwd}/{session_id}.txt"\n'
        '[output]\nformat = "json-lines"\n'
        '[[output.rules]]\nwhen = { type = "named" }\nsession = "id"\n'
        '[[output.rules]]\nwhen = { type = "answer" }\ntext = "text"\n'
    )


async def test_the_next_turn_resumes_the_conversation_under_the_id_that_the_program_gave(
    make: MakeAdapter, opened: OpenSession
) -> None:
    async with opened(make(keeping())) as session:
        await (await session.start("one")).outcome()
        assert session.id == "named-by-the-program"
        assert (await (await session.start("two")).outcome()).text == "one;two;"


async def test_a_conversation_that_was_not_kept_begins_anew(make: MakeAdapter, opened: OpenSession) -> None:
    async with opened(make(keeping())) as session:
        assert (await (await session.start("cut")).outcome()).status is OutcomeStatus.FAILED
        assert (await (await session.start("one")).outcome()).text == "one;"


@pytest.mark.parametrize("session_id", ["never-was", "*"])
async def test_a_conversation_that_is_not_there_cannot_be_resumed(
    make: MakeAdapter, opened: OpenSession, session_id: str
) -> None:
    adapter = make(keeping())
    async with opened(adapter) as session:
        await (await session.start("one")).outcome()
    with pytest.raises(SessionNotFound):
        async with opened(adapter, resume=session_id):
            pytest.fail("it was opened")
