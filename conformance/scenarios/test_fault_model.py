"""Faults of the model's API: refusals, overload, broken and silent streams."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checkrein.adapters import Outcome
from checkrein.adapters.manifest import Capability
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import run
from checkrein.scripted_models import Gate, cut, fail, raw, say, shell, silence
from checkrein.scripted_models.reply import Element

#: How often the harness may try again, instead of its own default of minutes of patience.
RETRIES = 1

#: Statuses that trying again does not cure, each with the model's own words, which do not hold it; and those that pass.
REFUSALS = {
    400: "the scripted words of a bad request",
    401: "the scripted words of a missing login",
    403: "the scripted words of a closed door",
}
OVERLOADS = (429, 500, 529)

#: What an overloaded API says; without it Codex 0.171.0 does not try again after 429.
LATER = {"retry-after": "1"}

#: Part of an answer that never becomes whole.
HALF = "half of an answer"

#: How long the model is silent before the harness gives up, where it has such a limit, and before the adapter does, in
#: seconds. Claude Code 2.1.332 waits at least 10 s within a stream, Codex 0.171.0 for ever before it.
SILENCE_SECONDS, STALL_SECONDS = 2.0, 5.0
#: A harness of which each turn is a process of its own starts within that time.
STARTS_WITHIN = 10.0


@scenario("fault.model-400", "fault.model-401", "fault.model-403")
async def test_a_model_that_refuses(arena: Arena) -> None:
    fixed = {status: arena.script.gate(f"no {status} any more") for status in REFUSALS}
    for status, gate in fixed.items():
        arena.script.main([fail(status, message=REFUSALS[status], until=gate)])
        arena.script.main([say(f"Works again after {status}.")])
    async with arena.session(policy="auto", retries=RETRIES) as session:
        for status, gate in fixed.items():
            failed = await run(arena, session, f"a prompt that gets {status}")
            gate.open()
            after = await run(arena, session, f"the prompt after {status}")
            arena.judge(
                f"fault.model-{status}",
                holds=(failed.status.value, failed.exit_status) == ("failed", 1)
                and bool(re.search(rf"\b{status}\b", failed.reason))
                and REFUSALS[status] in failed.reason
                and (after.status.value, after.text) == ("completed", f"Works again after {status}."),
                expected=f"failed, with {status} and the message in the reason; the next prompt is answered",
                observed=f"{failed.status.value}: {failed.reason[:300]}; next: {_words(after)}",
            )


@scenario("fault.model-429", "fault.model-500", "fault.model-529", seconds=120.0)
async def test_an_overloaded_model(arena: Arena) -> None:
    repaired = {status: arena.script.gate(f"no {status} any more") for status in OVERLOADS}
    lasting: dict[int, int] = {}
    for status, gate in repaired.items():
        headers = LATER if status == 429 else {}
        arena.script.main([fail(status, message="a passing scripted fault", headers=headers)])
        arena.script.main([say(f"Second try after {status}.")])
        step = arena.script.main(
            [fail(status, message="a lasting scripted fault", headers=headers, until=gate)]
        )
        lasting[status] = step.number
        arena.script.main([say(f"Works again after {status}.")])
    async with arena.session(policy="auto", retries=RETRIES) as session:
        for status, gate in repaired.items():
            passed = await run(arena, session, f"a prompt that gets {status} once")
            failed = await run(arena, session, f"a prompt that gets {status} always")
            tries = len(arena.model.step(lasting[status]).requests)
            gate.open()
            after = await run(arena, session, f"the prompt after {status}")
            arena.judge(
                f"fault.model-{status}",
                holds=(passed.status.value, passed.text) == ("completed", f"Second try after {status}.")
                and (failed.status.value, failed.exit_status) == ("failed", 1)
                and tries > 1
                and (after.status.value, after.text) == ("completed", f"Works again after {status}."),
                expected="a passing fault is retried, then completed; a lasting one is retried, then failed; "
                "the next prompt is answered",
                observed=f"passing: {_words(passed)}; lasting: {failed.status.value} after {tries} tries: "
                f"{failed.reason[:200]}; next: {_words(after)}",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Broken:
    """One way in which a stream breaks: for a moment, and until it is repaired."""

    name: str
    passing: tuple[Element, ...]
    lasting: tuple[Element, ...]
    repaired: Gate


@scenario("fault.model-cut-mid-text", "fault.model-malformed-sse")
async def test_a_stream_that_breaks(arena: Arena) -> None:
    garbage = raw("event: message\ndata: {no json\n\n")
    kinds = [
        _Broken(
            name="cut-mid-text",
            passing=(say(HALF), cut("reset")),
            lasting=(say(HALF), cut("clean")),
            repaired=arena.script.gate("streams are whole again"),
        ),
        _Broken(
            name="malformed-sse",
            passing=(garbage,),
            lasting=(garbage,),
            repaired=arena.script.gate("streams are well formed again"),
        ),
    ]
    for kind in kinds:
        arena.script.main(kind.passing)
        arena.script.main([say(f"Second try after {kind.name}.")])
        arena.script.main(kind.lasting, until=kind.repaired)
        arena.script.main([say(f"Works again after {kind.name}.")])
    async with arena.session(policy="auto", retries=RETRIES) as session:
        for kind in kinds:
            passed = await run(arena, session, f"a prompt that gets {kind.name} once")
            whole = ("completed", f"Second try after {kind.name}.")
            retried = passed
            # a harness may give up an answer that it cannot read: then the next prompt asks again
            if _failed_for_a_reason(passed):
                retried = await run(arena, session, f"the same again after {kind.name}")
            failed = await run(arena, session, f"a prompt that gets {kind.name} always")
            kind.repaired.open()
            after = await run(arena, session, f"the prompt after {kind.name}")
            arena.judge(
                f"fault.model-{kind.name}",
                holds=(retried.status.value, retried.text) == whole
                and _failed_for_a_reason(failed)
                and (after.status.value, after.text) == ("completed", f"Works again after {kind.name}."),
                expected="broken once, it is retried, then completed with the whole answer, or failed with a reason, "
                "and the next prompt has it; broken always, it failed, with a reason; the next prompt is answered",
                observed=f"once: {_words(passed)}, at last {_words(retried)}; always: {_words(failed)}, "
                f"{failed.reason[:200]}; next: {_words(after)}",
            )


@scenario("fault.model-cut-after-tool-call")
async def test_a_stream_that_breaks_behind_a_tool_call(arena: Arena) -> None:
    ran = arena.outside / "ran"
    kinds = ("reset", "clean")
    for kind in kinds:
        # The text behind it makes the call whole; without, the stream would end within the call.
        call = shell(f"echo {kind} >> {ran}", id=f"call_{kind}")
        arena.script.main([call, say(HALF), cut(kind)])
        arena.script.main([say(f"Went on after {kind}.")])
    said: dict[str, str] = {}
    holds = True
    async with arena.session(policy="auto", retries=RETRIES) as session:
        for kind in kinds:
            outcome = await run(arena, session, f"run it ({kind})")
            times = ran.read_text().split().count(kind) if ran.exists() else 0
            told = f"call_{kind}" in arena.model.main_requests[-1].view.results
            ended = (outcome.status.value, outcome.text) == ("completed", f"Went on after {kind}.")
            # What has run without the model's knowledge would be asked for, and run, again.
            holds = holds and ended and (times, told) in ((0, False), (1, True))
            said[kind] = (
                f"{_words(outcome)}, the call ran {times} time(s), the model {'knows' if told else 'is not told'}"
            )
    arena.judge(
        "fault.model-cut-after-tool-call",
        holds=holds,
        expected="completed; the call ran once and the model has its result, or it did not run and the model does not "
        "know of it",
        observed="; ".join(f"{kind}: {words}" for kind, words in said.items()),
    )


@scenario("fault.model-silent", seconds=150.0)
async def test_a_model_that_falls_silent(arena: Arena) -> None:
    ran = arena.outside / "ran"
    speaks = arena.script.gate("the model speaks again")
    arena.script.main([silence()], until=speaks)
    arena.script.main([shell(f"echo once >> {ran}", id="call_once"), say(HALF), silence()])
    last = arena.script.main([say("Speaks again.")])
    starts = arena.target.manifest.lacks(Capability.LIVE_CONTROL)
    stall = STALL_SECONDS + STARTS_WITHIN * starts
    async with arena.session(
        policy="auto", retries=0, silence_seconds=SILENCE_SECONDS, stall_seconds=stall
    ) as session:
        first = await run(arena, session, "nothing comes")
        speaks.open()
        second = await run(arena, session, "a call comes, then nothing")
        # A harness that gives up within the stream asks again, with the result of the call that has run.
        after = (
            second
            if arena.model.step(last.number).requests
            else await run(arena, session, "are you there again?")
        )
        times = ran.read_text().split().count("once") if ran.exists() else 0
        arena.judge(
            "fault.model-silent",
            holds=_failed_for_a_reason(first)
            and (second is after or _failed_for_a_reason(second))
            and (after.status.value, after.text) == ("completed", "Speaks again.")
            and times <= 1,
            expected="failed, with a reason, or tried again and completed, within the deadline; no call runs twice; "
            "the next prompt is answered",
            observed=f"before anything: {_words(first)}, {first.reason[:200]}; behind a call: {_words(second)}, "
            f"{second.reason[:200]}; the call ran {times} time(s); in the end: {_words(after)}",
            enforced_by="adapter",
        )


def _failed_for_a_reason(outcome: Outcome) -> bool:
    return (outcome.status.value, outcome.exit_status) == ("failed", 1) and bool(outcome.reason)


def _words(outcome: Outcome) -> str:
    return f"{outcome.status.value} {outcome.text!r}"
