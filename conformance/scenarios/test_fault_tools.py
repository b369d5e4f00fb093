"""Faults of tools: the model is told what happened, and the turn goes on."""

from __future__ import annotations

import re

from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import run
from checkrein.scripted_models import View, say, shell, tool

#: An exit status that no other number in a receipt is likely to be.
EXIT_STATUS = 87

#: What a tool is given before its time is over, in seconds.
TOOL_SECONDS = 1

#: How a receipt may say that the time was over, and that arguments are wrong.
TIME_OVER = re.compile(r"timed? ?out|still running|process running", re.IGNORECASE)
ARGUMENTS = re.compile(r"argument|parameter|field|valid", re.IGNORECASE)

#: An argument, and a tool, that no harness has.
NO_ARGUMENT, NO_TOOL = "no_such_argument", "no_such_tool"


@scenario("fault.tool-nonzero.receipt", "fault.tool-timeout.receipt", "fault.bad-arguments.receipt")
async def test_tools_that_fail(arena: Arena) -> None:
    build = arena.script.held_tool("build")
    brief = arena.known("brief_call", arena.target.kit.brief_call)(build.command, TOOL_SECONDS)
    real_tool = arena.target.profile.toolset.shell("true").name
    # Quoted apart, so that the output is no part of the command.
    arena.script.main([shell(f"echo the-tool-'out'put; exit {EXIT_STATUS}", id="call_fail")])
    arena.script.main(
        [
            tool(real_tool, {NO_ARGUMENT: "true"}, id="call_wrong"),
            tool(NO_TOOL, {"command": "true"}, id="call_nothing"),
        ]
    )
    arena.script.main([tool(brief.name, brief.input, id="call_brief")])
    arena.script.main([say("I see that they failed.")])
    async with arena.session(policy="auto") as session:
        outcome = await run(arena, session, "run them")
        last = arena.model.main_requests[-1].view
        went_on = (outcome.status.value, outcome.text) == ("completed", "I see that they failed.")
        ended = f"{outcome.status.value} {outcome.text!r}"

        text, marked = _receipt(last, "call_fail")
        says_so = marked or bool(re.search(rf"\b{EXIT_STATUS}\b", text))
        arena.judge(
            "fault.tool-nonzero.receipt",
            holds="the-tool-output" in text and says_so and went_on,
            expected="a receipt with the output, marked as an error or with the exit status; the model goes on; "
            "completed",
            observed=f"{text[:300]!r}, {'says' if says_so else 'does not say'} that it failed; {ended}",
        )

        text, _ = _receipt(last, "call_brief")
        arena.judge(
            "fault.tool-timeout.receipt",
            holds=bool(TIME_OVER.search(text)) and went_on,
            expected=f"a receipt that says that the command had not ended after {TOOL_SECONDS} s; completed",
            observed=f"{text[:300]!r}; {ended}",
        )

        wrong, _ = _receipt(last, "call_wrong")
        nothing, _ = _receipt(last, "call_nothing")
        arena.judge(
            "fault.bad-arguments.receipt",
            holds=bool(ARGUMENTS.search(wrong)) and NO_TOOL in nothing and went_on,
            expected="a receipt for each that says what is wrong; the model goes on; completed",
            observed=f"wrong arguments: {wrong[:200]!r}; no such tool: {nothing[:200]!r}; {ended}",
        )


def _receipt(view: View, call_id: str) -> tuple[str, bool]:
    """The text of a call's receipt, and whether it is marked as an error."""
    result = view.results.get(call_id)
    return ("no receipt", False) if result is None else (result.text, result.error is True)
