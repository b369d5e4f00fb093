"""What a steer brings to the model, what it leaves as it was, and how long it takes."""

from __future__ import annotations

from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import PATIENCE, finish, settle, text_seen, within
from checkrein.scripted_models import hold, say, shell

#: How long the slow tool takes, in seconds.
SLOW_TOOL = 5.0

#: Texts that something on the way may take for something else, by what is special about them.
PAYLOADS = {
    "a leading slash": "/compact is what the endpoint is called, keep it",
    "a path": "/etc/hosts stays as it is, line for line",
    "a leading exclamation mark": "!important goes away from the stylesheet",
    "a leading at sign": "@one.txt holds what the second test expects",
    "a leading hash": "# Heading: keep it in the file, it is no memory",
    "a leading dash": "--verbose is the flag that I mean, -v is taken",
    "many lines": "first line\n\n\tsecond, indented\n   third\u2028after U+2028\u2029after U+2029\x85after U+0085",
    "line ends": "one\r\ntwo\rthree\vfour\ffive",
    "astral characters": "𝛼𝛽 🧑‍🚀 🇨🇭 \U00020000 \U0010fffd",
    "combining marks": "e\u0301 n\u0303 \u0041\u030a is not \u00c5, and \ufb01 is not fi",
    "quotes and backslashes": "\"double\" 'single' `back` \\ \\n \\u0041 $(cmd) ${name} <tag> &amp; %s {0} {{}}",
    "64 KiB": "64 KiB begin here: " + "äöü 0123456789 abcdef\n" * 2400 + "; and here they end",
}

#: The one that is sent while the model speaks, where it may start the next turn instead.
LATE = "/clear is a button here; rename it to /reset"


@scenario("steer.payload.verbatim", seconds=90.0)
async def test_texts_that_look_like_something_else(arena: Arena) -> None:
    (arena.workspace / "one.txt").write_text("the content of the file\n")
    build, middle = arena.script.held_tool("build"), arena.script.gate("middle")
    arena.script.main([shell(build, id="call_build")])
    arena.script.main([say("All of them.")])
    arena.script.main([say("I will now "), hold(middle), say("rename it.")])
    arena.script.main([say("That too.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("build it")
        await build.started(timeout=PATIENCE)
        for text in PAYLOADS.values():
            await turn.steer(text)
        build.finish("built ok")
        await finish(arena, turn)
        seen = (await arena.model.wait_requests(2, timeout=PATIENCE)).view
        turn = await session.start("rename it")
        await text_seen(arena, turn)
        late = await turn.steer(LATE)
        middle.open()
        await within(arena, "the late steer to be settled", late.settled())
        last = (await arena.model.wait_requests(4, timeout=PATIENCE)).view
        for each in session.turns:
            await finish(arena, each)
        await settle(arena)
        counts = {what: seen.count(text) for what, text in PAYLOADS.items()} | {"late": last.count(LATE)}
        wrong = {what: count for what, count in counts.items() if count != 1}
        arena.judge(
            "steer.payload.verbatim",
            holds=not wrong,
            expected=f"each of {len(counts)} texts once, byte for byte, in the request behind it",
            observed=f"{len(counts) - len(wrong)} of {len(counts)} once"
            + (f"; not so {', '.join(f'{what} ({count})' for what, count in wrong.items())}" if wrong else "")
            + f"; {len(arena.model.main_requests)} requests",
        )


@scenario("steer.history.kept", "steer.slow-tool.latency")
async def test_steer_during_a_slow_tool_after_a_finished_one(arena: Arena) -> None:
    slow = arena.script.held_tool("slow")
    text = "use the second variant"
    arena.script.main([say("I look first."), shell("echo found-4711", id="call_look")])
    arena.script.main([say("Now I build."), shell(slow, id="call_slow")])
    arena.script.main([say("With the second variant.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("build it")
        await slow.started(timeout=PATIENCE)
        asked_at = arena.timeline.now_ms()
        await turn.steer(text)
        await slow.running_for(SLOW_TOOL, timeout=PATIENCE)
        slow.finish("built-4712")
        await finish(arena, turn)
        request = await arena.model.wait_requests(3, timeout=PATIENCE)
        await settle(arena)
        after = request.view
        results = {call: result.text for call, result in after.results.items()}
        arena.judge(
            "steer.history.kept",
            # What was in the request before and is not in this one, or not as it was, departs from the script.
            holds="found-4711" in results.get("call_look", "")
            and "built-4712" in results.get("call_slow", "")
            and after.count(text) == 1,
            expected="the request with the steer holds all that the one before it held, in order, and both results",
            observed=f"results {results}; the steer {after.count(text)} time(s)",
        )
        arena.judge(
            "steer.slow-tool.latency",
            holds=after.count(text) == 1,
            expected=f"recorded: how long after the steer the request came, with a tool of {SLOW_TOOL:g} s",
            observed=f"{request.at_ms - asked_at:.0f} ms, of which the tool ran {1000 * SLOW_TOOL:.0f} ms",
        )
