"""Ends of a steer other than its delivery: it is taken back, or its acknowledgement never comes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import anyio
import msgspec

from checkrein.adapters.errors import WithdrawRefused
from checkrein.adapters.interface import Connection
from checkrein.adapters.native import NativeEvent
from checkrein.adapters.steering import Steer, SteerState
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import PATIENCE, finish, settle, times_anywhere, within
from checkrein.conformance.scenarios.rewired import Rewired
from checkrein.scripted_models import say, shell

#: How long an acknowledgement that is lost on purpose is waited for, in seconds.
LOST_AFTER = 3.0


@scenario("steer.withdraw.never-seen", "steer.withdraw.late-refused")
async def test_steers_that_are_taken_back(arena: Arena) -> None:
    build = arena.script.held_tool("build")
    arena.script.main([shell(build, id="call_build")])
    arena.script.main([say("Built.")])
    waiting, under_way, kept = "taken back while it waits", "taken back while it is sent", "not taken back"
    async with arena.session(policy="auto") as session:
        turn = await session.start("build it")
        await build.started(timeout=PATIENCE)
        first = await turn.steer(waiting)
        await within(arena, "the withdrawal", first.withdraw())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.steer, under_way)
            await within(
                arena, "the steer to be sent", arena.wire.wait(lambda row: under_way in row.text, PATIENCE)
            )
            await within(arena, "the withdrawal", turn.steers[-1].withdraw())
        last = await turn.steer(kept)
        build.finish("built ok")
        await within(arena, "the steer to be settled", last.settled())
        late = await _withdrawal(last)
        await finish(arena, turn)
        await settle(arena)
        ends = [each.ended.status.value if each.ended else "running" for each in session.turns]
        seen = [times_anywhere(arena, text) for text in (waiting, under_way)]
        view = arena.model.main_requests[-1].view
        requests = len(arena.model.main_requests)
        states = [steer.state.value for steer in turn.steers]
        arena.judge(
            "steer.withdraw.never-seen",
            holds=seen == [0, 0]
            and states[:2] == [SteerState.CANCELLED.value] * 2
            and "built ok" in view.results["call_build"].text
            and ends == ["completed"],
            expected="both texts in no request, reported cancelled; the tool's result, one turn of two requests",
            observed=f"in {seen} requests, reported {states[:2]}; {requests} requests, the turn(s) {ends}",
        )
        arena.judge(
            "steer.withdraw.late-refused",
            holds=late == "refused: delivered" and view.count(kept) == 1 and states[2] == "delivered",
            expected="refused, because it is delivered; the text once in the request, still reported delivered",
            observed=f"{late}; {view.count(kept)} time(s) in the request, reported {states[2]}",
        )


async def _withdrawal(steer: Steer) -> str:
    """How the withdrawal went."""
    try:
        await steer.withdraw()
    except WithdrawRefused as refused:
        return f"refused: {refused.state}"
    return "not refused"


@scenario("steer.ack-lost.unknown")
async def test_a_steer_whose_acknowledgement_never_comes(arena: Arena) -> None:
    build = arena.script.held_tool("build")
    arena.script.main([shell(build, id="call_build")])
    arena.script.main([say("Adjusted.")])
    text = "whose acknowledgement never comes"
    acknowledges = arena.known("acknowledges_steer", arena.target.kit.acknowledges_steer)
    lost: list[bytes] = []

    def is_acknowledgement(line: bytes) -> bool:
        sent = arena.wire.sent(lambda row: text in row.text)
        if not sent:
            return False
        message = msgspec.json.decode(line, type=dict[str, object])
        return any(acknowledges(row.message, message) for row in sent)

    def tamper(connection: Connection) -> None:
        decode, steer, spec = connection.decode, connection.steer, connection.spec

        def decode_without(lines: list[bytes]) -> Iterable[NativeEvent]:
            gone = [line for line in lines if is_acknowledgement(line)]
            lost.extend(gone)
            return decode([line for line in lines if line not in gone])

        async def steer_in_a_hurry(steer_id: str, text: str) -> None:
            connection.spec = replace(spec, call_seconds=LOST_AFTER)
            try:
                await steer(steer_id, text)
            finally:
                connection.spec = spec

        connection.decode, connection.steer = decode_without, steer_in_a_hurry

    async with arena.session(policy="auto", adapter=Rewired(arena.target.adapter, tamper)) as session:
        turn = await session.start("build it")
        await build.started(timeout=PATIENCE)
        steer = await within(arena, "the steer to be given up", turn.steer(text))
        arena.require(lost, "an acknowledgement of the steer, to lose it")
        at_first = steer.state
        build.finish("built ok")
        await within(arena, "the steer to be settled", steer.settled())
        await finish(arena, turn)
        view = (await arena.model.wait_requests(2, timeout=PATIENCE)).view
        await settle(arena)
        sent = len(arena.wire.sent(lambda row: text in row.text))
        arena.judge(
            "steer.ack-lost.unknown",
            holds=(at_first, steer.state) == (SteerState.UNKNOWN, SteerState.DELIVERED)
            and (sent, view.count(text)) == (1, 1),
            expected="unknown, later delivered; sent once, and once in the second request; no third",
            observed=f"{at_first.value}, later {steer.state.value}; sent {sent} time(s), {view.count(text)} time(s) in "
            f"request 2 of {len(arena.model.main_requests)}",
            enforced_by="adapter",
        )
