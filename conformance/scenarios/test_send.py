"""The forgiving way to give an agent a message: nothing is lost, nothing is said twice."""

from __future__ import annotations

import anyio

from checkrein.adapters import Session, Turn
from checkrein.adapters.interface import Connection
from checkrein.adapters.sending import Message
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import PATIENCE, finish, settle, text_seen, within
from checkrein.conformance.scenarios.rewired import Rewired
from checkrein.scripted_models import hold, say, shell

WHILE_IDLE, TOO_LATE, WHILE_STOPPING = "said while it is idle", "said too late", "said while it is stopped"


@scenario("send.running.steers")
async def test_a_message_while_a_turn_runs(arena: Arena) -> None:
    text = "said while it runs"
    build = arena.script.held_tool("build")
    arena.script.main([shell(build, id="call_build")])
    arena.script.main([say("Adjusted.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("build it")
        await build.started(timeout=PATIENCE)
        message = await session.send(text)
        build.finish("built ok")
        has_it = await within(arena, "the message to be settled", message.settled())
        await finish(arena, turn)
        await settle(arena)
        counts = [request.view.count(text) for request in arena.model.main_requests]
        arena.judge(
            "send.running.steers",
            holds=counts == [0, 1] and has_it is turn and len(session.turns) == 1,
            expected="in the second request of the running turn, once, and reported so; one turn of two requests",
            observed=f"times in each request: {counts}; {_whose(has_it, session)}",
            enforced_by="adapter",
        )


@scenario("send.ended.starts-next-turn")
async def test_messages_that_no_running_turn_takes(arena: Arena) -> None:
    stays, may_go = arena.script.gate("stays", never_opened=True), anyio.Event()
    arena.script.main([say("One.")])
    arena.script.main([say("Two.")])
    arena.script.main([say("Three.")])
    arena.script.main([say("Four is "), hold(stays)])
    arena.script.main([say("Five.")])

    def tamper(connection: Connection) -> None:
        send = connection.process.send

        async def send_late(line: bytes, *, deadline_seconds: float | None = None) -> None:
            if TOO_LATE.encode() in line:
                await may_go.wait()
            await send(line, deadline_seconds=deadline_seconds)

        connection.process.send = send_late

    async with arena.session(policy="auto", adapter=Rewired(arena.target.adapter, tamper)) as session:
        idle = await session.send(WHILE_IDLE)
        await _end_of(arena, idle)
        second = await session.start("second")
        sent: list[Message] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_send, session, TOO_LATE, sent)
            await finish(arena, second)
            may_go.set()
        await _end_of(arena, sent[0])
        fourth = await session.start("fourth")
        await text_seen(arena, fourth)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fourth.interrupt)
            tasks.start_soon(_send, session, WHILE_STOPPING, sent)
        await _end_of(arena, sent[1])
        await settle(arena)
        texts = (WHILE_IDLE, TOO_LATE, WHILE_STOPPING)
        requests = arena.model.main_requests
        counts = [[request.view.count(text) for request in requests] for text in texts]
        arena.judge(
            "send.ended.starts-next-turn",
            holds=counts == [[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 0, 1]]
            and [turn.prompt for turn in session.turns]
            == [WHILE_IDLE, "second", TOO_LATE, "fourth", WHILE_STOPPING],
            expected="five turns of a request each; the messages begin the first, the third and the fifth, and are "
            "once in every request from there on",
            observed=f"times in each request: {counts}; the turns began with "
            f"{[turn.prompt for turn in session.turns]}",
            enforced_by="adapter",
        )


async def _send(session: Session, text: str, sent: list[Message]) -> None:
    sent.append(await session.send(text))


async def _end_of(arena: Arena, message: Message) -> None:
    """Wait for the end of the turn that has the message."""
    turn = await within(arena, f"{message.text!r} to be settled", message.settled())
    if turn is not None:
        await finish(arena, turn)


def _whose(turn: Turn | None, session: Session) -> str:
    if turn is None:
        return f"reported as in no turn, of {len(session.turns)}"
    return f"reported in turn {session.turns.index(turn) + 1} of {len(session.turns)}"
