"""Two scenarios, one of which takes its process with it."""

from __future__ import annotations

import os

from checkrein.conformance.scenario import Arena, scenario


@scenario("steer.mid-tool.delivered")
async def test_a_crash(arena: Arena) -> None:
    os._exit(9)


@scenario("steer.order.kept")
async def test_a_neighbour(arena: Arena) -> None:
    arena.judge("steer.order.kept", holds=True, expected="so", observed="so")
