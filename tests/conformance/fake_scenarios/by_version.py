"""A scenario whose verdicts depend on the version of the fake harness, as if 2.0 were an upgrade of 1.0."""

from __future__ import annotations

from checkrein.conformance.scenario import Arena, scenario


@scenario(
    "steer.mid-tool.delivered",
    "steer.order.kept",
    "steer.idle.rejected",
    "steer.slow-tool.latency",
    seconds=20,
)
async def test_what_a_version_brings(arena: Arena) -> None:
    newer = arena.target.version == "2.0"
    arena.judge("steer.mid-tool.delivered", holds=not newer, expected="once", observed="0" if newer else "1")
    arena.judge("steer.order.kept", holds=newer, expected="in order", observed="in order" if newer else "not")
    by = "harness" if newer else "adapter"
    arena.judge("steer.idle.rejected", holds=True, expected="no", observed="no", enforced_by=by)
    figures = "90 ms" if newer else "80 ms"
    arena.judge("steer.slow-tool.latency", holds=True, expected="recorded", observed=figures)
