"""Faults: a definite outcome with a reason, and a session that goes on."""

from __future__ import annotations

import re

from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import run
from checkrein.scripted_models import fail, say, shell

#: How often the harness may try again, instead of its own default of minutes of patience.
RETRIES = 2

#: An exit status that no other number in a receipt is likely to be.
EXIT_STATUS = 87


@scenario("fault.tool-nonzero.receipt")
async def test_a_tool_that_fails(arena: Arena) -> None:
    # Quoted apart, so that the output is no part of the command.
    arena.script.main([shell(f"echo the-tool-'out'put; exit {EXIT_STATUS}", id="call_fail")])
    arena.script.main([say("I see that it failed.")])
    async with arena.session(policy="auto") as session:
        outcome = await run(arena, session, "run it")
        requests = arena.model.main_requests
        result = requests[1].view.results.get("call_fail") if len(requests) > 1 else None
        text = result.text if result else "no result"
        says_so = result is not None and (
            result.error is True or bool(re.search(rf"\b{EXIT_STATUS}\b", text))
        )
        arena.judge(
            "fault.tool-nonzero.receipt",
            holds="the-tool-output" in text
            and says_so
            and (outcome.status.value, outcome.text) == ("completed", "I see that it failed."),
            expected="a receipt with the output, marked as an error or with the exit status; the model goes on; "
            "completed",
            observed=f"{text[:300]!r}, {'says' if says_so else 'does not say'} that it failed; "
            f"{outcome.status.value} {outcome.text!r}",
        )


@scenario("fault.model-401")
async def test_a_model_that_refuses_the_key(arena: Arena) -> None:
    fixed = arena.script.gate("the key is right again")
    arena.script.main([fail(401, message="the scripted key is wrong", until=fixed)])
    arena.script.main([say("Works again.")])
    async with arena.session(policy="auto", retries=RETRIES) as session:
        failed = await run(arena, session, "first")
        fixed.open()
        after = await run(arena, session, "second")
        arena.judge(
            "fault.model-401",
            holds=(failed.status.value, failed.exit_status) == ("failed", 1)
            and bool(re.search(r"\b401\b", failed.reason))
            and "the scripted key is wrong" in failed.reason
            and (after.status.value, after.text) == ("completed", "Works again."),
            expected="failed, with 401 and the message in the reason; the next prompt is answered",
            observed=f"{failed.status.value}: {failed.reason[:300]}; next: {after.status.value} {after.text!r}",
        )


@scenario("fault.model-500")
async def test_a_model_with_an_internal_error(arena: Arena) -> None:
    repaired = arena.script.gate("the model is repaired")
    arena.script.main([fail(500, message="a passing scripted fault", times=1)])
    arena.script.main([say("Second try.")])
    arena.script.main([fail(500, message="a lasting scripted fault", until=repaired)])
    arena.script.main([say("Works again.")])
    async with arena.session(policy="auto", retries=RETRIES) as session:
        passing = await run(arena, session, "first")
        lasting = await run(arena, session, "second")
        tries = len(arena.model.step(2).requests)
        repaired.open()
        after = await run(arena, session, "third")
        arena.judge(
            "fault.model-500",
            holds=(passing.status.value, passing.text) == ("completed", "Second try.")
            and (lasting.status.value, lasting.exit_status) == ("failed", 1)
            and tries > 1
            and (after.status.value, after.text) == ("completed", "Works again."),
            expected="a passing fault is retried, then completed; a lasting one is retried, then failed; "
            "the next prompt is answered",
            observed=f"passing: {passing.status.value} {passing.text!r}; lasting: {lasting.status.value} after {tries} "
            f"tries: {lasting.reason[:200]}; next: {after.status.value} {after.text!r}",
        )
