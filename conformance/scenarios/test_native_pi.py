"""pi's own protocol, and our gate in it: the facts that its adapter stands on, judged from the wire."""

from __future__ import annotations

from pathlib import Path

import msgspec

from checkrein.adapters import Session
from checkrein.adapters.errors import CheckreinError, HarnessDied
from checkrein.adapters.interface import Launch
from checkrein.adapters.pi.launch import GATE
from checkrein.adapters.transport import HarnessProcess
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import (
    OLD_ENOUGH,
    PATIENCE,
    finish,
    next_approval,
    run,
    times_anywhere,
    within,
)
from checkrein.conformance.scenarios.relaunched import Relaunched, Words
from checkrein.conformance.wire import WireRow
from checkrein.scripted_models import fail, say, shell, tool

STEER = "steered while the tool runs"
IDLE = "steered while nothing runs"
BARE = "steered past the gate while nothing runs"

#: The calls that are asked about: the tool, whether another call made it, and how many answers were given before.
ASKED = [("bash", False, 0), ("bash", False, 1), ("codemode", False, 2), ("bash", True, 3)]

#: What pi tells, in this order, when a turn is aborted while a dialog of the gate is open.
ENDED = [("an error", True), ("aborted", True), ("abort", True)]


def events(arena: Arena, kind: str) -> tuple[WireRow, ...]:
    """The events of that type."""
    return arena.wire.received(lambda row: row.at("type") == kind)


def answers(arena: Arena, command: str) -> tuple[WireRow, ...]:
    """The answers to our commands of that type."""
    return arena.wire.received(lambda row: row.at("type") == "response" and row.at("command") == command)


def notices(arena: Arena) -> list[tuple[int, dict[str, object]]]:
    """What the gate has said by itself, with the numbers of the lines."""
    rows = [row for row in events(arena, "extension_ui_request") if row.at("method") == "notify"]
    return [(row.n, msgspec.json.decode(str(row.at("message")), type=dict[str, object])) for row in rows]


def questions(arena: Arena) -> list[tuple[WireRow, dict[str, object]]]:
    """The gate's questions, and the lines that they came in."""
    rows = [row for row in events(arena, "extension_ui_request") if row.at("method") == "input"]
    return [(row, msgspec.json.decode(str(row.at("title")), type=dict[str, object])) for row in rows]


async def ask(arena: Arena, session: Session, command_id: str, **command: str) -> WireRow:
    """Send a command past the adapter, and wait for its answer."""
    assert session.link is not None
    await session.link.process.send(msgspec.json.encode({"id": command_id, **command}))
    return await arena.wire.wait(
        lambda row: row.at("type") == "response" and row.at("id") == command_id,
        PATIENCE,
        what=f"the answer to {command['type']}",
    )


@scenario("native.pi.agent-settled", "native.pi.clear-queue")
async def test_the_end_of_a_turn(arena: Arena) -> None:
    build = arena.script.held_tool("build")
    arena.script.main([fail(500)])
    arena.script.main([say("Second try.")])
    arena.script.main([shell(build, id="call_build")])
    arena.script.main([say("Went on.")])
    async with arena.session(policy="auto") as session:
        await run(arena, session, "a prompt whose first request fails")
        retries = [row.at("willRetry") for row in events(arena, "agent_end")]
        finished = [row.at("aborted") for row in events(arena, "agent_settled")]
        turn = await session.start("build it")
        await build.running_for(OLD_ENOUGH, timeout=PATIENCE)
        await turn.steer(STEER)
        await within(arena, "the interrupt", turn.interrupt())
        stopped = [row.at("aborted") for row in events(arena, "agent_settled")][len(finished) :]
        state = await ask(arena, session, "kit-state", type="get_state")
        cleared = [row.at("data", "steering") for row in answers(arena, "clear_queue")]
        aborted = [row.at("success") for row in answers(arena, "abort")]
        waiting = state.at("data", "pendingMessageCount")
        await run(arena, session, "go on")
        seen = times_anywhere(arena, STEER)
        arena.judge(
            "native.pi.agent-settled",
            holds=(retries, finished, stopped) == ([True, False], [False], [True]),
            expected="two agent_end, the first before a retry; agent_settled once, not aborted; then aborted",
            observed=f"willRetry {retries}, aborted {finished}; after the interrupt, aborted {stopped}",
        )
        arena.judge(
            "native.pi.clear-queue",
            holds=(cleared[:1], aborted, waiting, seen) == ([[STEER]], [True], 0, 0),
            expected="clear_queue gives the text back, abort succeeds, nothing waits, and no request holds the text",
            observed=f"given back {cleared}, abort {aborted}, {waiting} waiting, in {seen} request(s)",
        )


def with_codemode(words: Words) -> Words:
    """Let the model call tools from a script of its own, too."""
    return (*words, "-e", "builtin:codemode", "--tools", "+codemode")


@scenario("native.pi.gate-first", "native.pi.dialog-holds-call", "native.pi.abort-ends-dialog")
async def test_dialogs_of_the_gate(arena: Arena) -> None:
    script = "await tools.bash({command: 'touch nested.txt'}); return 'ran'"
    arena.script.main(
        [shell("touch first.txt", id="call_first"), shell("touch second.txt", id="call_second")]
    )
    arena.script.main([tool("codemode", {"code": script}, id="call_outer")])
    arena.script.main([say("All three.")])
    arena.script.main([shell("touch forbidden.txt", id="call_forbidden")])
    arena.script.main([say("Left alone.")])
    async with arena.session(
        policy="ask", adapter=Relaunched(arena.target.adapter, with_codemode)
    ) as session:
        first = min(row.n for row in arena.wire.received(lambda row: row.at("type") == "response"))
        said = [(words.get("checkrein"), n < first) for n, words in notices(arena)]
        arena.judge(
            "native.pi.gate-first",
            holds=said == [("ready", True)],
            expected="one notice of the gate, before the first answer",
            observed=f"notices, and whether before the first answer: {said}",
        )
        turn = await session.start("touch them")
        early: list[str] = []
        for name in ("first.txt", "second.txt", "", "nested.txt"):
            approval = await next_approval(arena, turn)
            if name and (arena.workspace / name).exists():
                early.append(name)
            await approval.allow()
        await finish(arena, turn)
        given = answers_to_dialogs(arena)
        asked = [
            (call.get("toolName"), "parentToolCallId" in call, sum(answer < row.n for answer in given))
            for row, call in questions(arena)
        ]
        ran = [
            name for name in ("first.txt", "second.txt", "nested.txt") if (arena.workspace / name).exists()
        ]
        arena.judge(
            "native.pi.dialog-holds-call",
            holds=(early, asked, len(ran)) == ([], ASKED, 3),
            expected=f"asked for {ASKED}, each after the answer before; no call before its answer, all after",
            observed=f"asked for {asked}; before the answer {early}, in the end {ran}",
        )
        newest = arena.wire.rows[-1].n
        turn = await session.start("touch the last one")
        await next_approval(arena, turn)
        await within(arena, "the interrupt", turn.interrupt())
        told = [
            end for row in arena.wire.received(lambda row: row.n > newest) if (end := _end(row)) is not None
        ]
        more = len(answers_to_dialogs(arena)) - len(given)
        forbidden = (arena.workspace / "forbidden.txt").exists()
        arena.judge(
            "native.pi.abort-ends-dialog",
            holds=(told, more, forbidden) == (ENDED, 0, False),
            expected="nobody answers the dialog; the call ends as an error, settled as aborted, abort answered",
            observed=f"{more} answer(s); {told}; ran: {forbidden}",
        )
        await run(arena, session, "leave it")


def answers_to_dialogs(arena: Arena) -> list[int]:
    """The numbers of the lines that answer a dialog."""
    return [row.n for row in arena.wire.sent(lambda row: row.at("type") == "extension_ui_response")]


def _end(row: WireRow) -> tuple[str, object] | None:
    """Of what a line tells the end, and how it ended; None for any other line."""
    match row.at("type"):
        case "tool_execution_end":
            return "an error", row.at("isError")
        case "agent_settled":
            return "aborted", row.at("aborted")
        case "response" if row.at("command") == "abort":
            return "abort", row.at("success")
        case _:
            return None


@scenario("native.pi.gate-demanded")
async def test_pi_without_its_gate(arena: Arena) -> None:
    gate = GATE.read_text(encoding="utf-8")
    gates = {
        "does not load": "export default function (",
        "says nothing": gate.replace('checkrein: "ready"', 'checkrein: "hello"'),
        "has a token of its own": gate.replace("\ttoken,", '\ttoken: "guessed",'),
    }
    ends: dict[str, str] = {}
    for name, text in gates.items():
        assert text != gate
        other = arena.outside / f"{name}.ts"
        other.write_text(text, encoding="utf-8")
        ends[name] = await _opened_with(arena, other)
    arena.judge(
        "native.pi.gate-demanded",
        holds=ends
        == {
            "does not load": "HarnessDied: exit status 1",
            "says nothing": "HandshakeFailed",
            "has a token of its own": "HandshakeFailed",
        },
        # The script is empty: a request of the model would be a departure from it.
        expected="pi ends with exit status 1; twice the handshake fails; the model is asked nothing",
        observed=f"{ends}; {len(arena.model.requests)} request(s)",
        enforced_by="adapter",
    )


async def _opened_with(arena: Arena, gate: Path) -> str:
    """How it ends when another gate is loaded instead of ours."""

    def with_gate(words: Words) -> Words:
        return tuple(str(gate) if word == str(GATE) else word for word in words)

    try:
        async with arena.session(policy="ask", adapter=Relaunched(arena.target.adapter, with_gate)):
            return "opened"
    except HarnessDied as died:
        return f"HarnessDied: {died.status}"
    except CheckreinError as fault:
        return type(fault).__name__


@scenario("native.pi.nobody-to-ask", "native.pi.idle-steer-handled", "native.pi.idle-steer-kept")
async def test_what_the_gate_refuses(arena: Arena) -> None:
    arena.script.main([shell("touch forbidden.txt", id="call_forbidden")])
    arena.script.main([say("It may not.")])
    arena.script.main([say("Nobody steered.")])
    arena.script.main([say("Nobody steered, or somebody did.")])
    adapter = Relaunched(arena.target.adapter)
    async with arena.session(policy="ask", adapter=adapter) as session:
        assert adapter.launched is not None
        status = await within(arena, "pi -p", _print(adapter.launched))
        result = arena.model.main_requests[-1].view.results["call_forbidden"].text
        ran = (arena.workspace / "forbidden.txt").exists()
        arena.judge(
            "native.pi.nobody-to-ask",
            holds=(status, ran) == ("exit status 0", False) and "nobody is there to approve it" in result,
            expected="the call does not run, and the model is told why; exit status 0",
            observed=f"{status}; ran: {ran}; the model is told {result!r}",
        )
        token = notices(arena)[0][1]["token"]
        refused = await ask(arena, session, "kit-ours", type="steer", message=f"\x01{token}\x01{IDLE}")
        state = await ask(arena, session, "kit-state", type="get_state")
        await run(arena, session, "a prompt")
        seen = times_anywhere(arena, IDLE)
        disposition, waiting = refused.at("data", "disposition"), state.at("data", "pendingMessageCount")
        arena.judge(
            "native.pi.idle-steer-handled",
            holds=(disposition, waiting, seen) == ("handled", 0, 0),
            expected="handled; nothing waits, and no request holds the text",
            observed=f"{disposition}; {waiting} waiting; in {seen} request(s)",
        )
        passed = await ask(arena, session, "kit-bare", type="steer", message=BARE)
        await run(arena, session, "another prompt")
        disposition, seen = passed.at("data", "disposition"), times_anywhere(arena, BARE)
        arena.judge(
            "native.pi.idle-steer-kept",
            holds=True,
            expected="recorded",
            observed=f"{disposition}; in {seen} request(s) of the next turn",
        )


async def _print(launch: Launch) -> str:
    """Run the same pi for one prompt, without a driver; its exit status in words."""
    words = launch.argv
    mode = words.index("--mode")
    argv = [*words[:mode], "-p", *words[mode + 2 :], "touch it"]
    conversation = argv.index("--session-id")
    argv[conversation : conversation + 2] = ["--no-session"]
    process = await HarnessProcess.start(argv, cwd=launch.cwd, env=launch.environment)
    try:
        await process.close_stdin()
        async for _ in process.batches():
            pass
        return str(await process.wait_exit())
    finally:
        await process.aclose()
