"""Hostile workspaces: what lies in the checked-out tree has no say, whatever it holds.

The attacks are those that `fixtures/hostile` has for the harness. That each achieves its end with an ordinary launch is
proven by the project's own tests, so that what is green here is not green for nothing.
"""

from __future__ import annotations

from checkrein.adapters.transport import Direction
from checkrein.conformance.hostile.attacks import Attack, attacks_on
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.hostile_sessions import HostileRun, achieved, layouts
from checkrein.conformance.scenarios.moves import PATIENCE
from checkrein.scripted_models import DeadlineExceeded, ViolationKind, silence
from checkrein.scripted_models.reply import Element

#: How long a scenario with several sessions or slow answers may take in all, in seconds; on a quiet machine up to 10.
SECONDS = 120.0


async def provoked(arena: Arena, clause: str, *then: Element) -> tuple[str, HostileRun]:
    """Provoke all attacks on a clause; what they have achieved, in words, and the run.

    Args:
        then: what the model says in the end, if it is asked once more.
    """
    hostile = HostileRun(arena, layouts(_attacks(arena, clause)))
    if then:
        arena.script.main(then)
    seen = achieved(await hostile.run())
    # An attack that was not even called says nothing; one that got its way has said enough.
    arena.require(seen or not hostile.uncalled, f"answers to the model's calls {hostile.uncalled}")
    return seen, hostile


def _attacks(arena: Arena, clause: str) -> tuple[Attack, ...]:
    attacks = attacks_on(arena.target.harness, clause)
    arena.require(attacks, f"there are attacks on {arena.target.harness} in fixtures/hostile")
    return attacks


def _judge(arena: Arena, clause: str, seen: str, *, expected: str) -> None:
    attacks = [attack.id for attack in _attacks(arena, clause)]
    arena.judge(
        clause,
        holds=not seen,
        expected=f"{expected}; tried: {', '.join(attacks)}",
        observed=seen or f"none of {len(attacks)} attacks achieved anything",
    )


# The reviewer that a workspace appoints is not asked, so that its answer is left.
@scenario("workspace.cannot-answer", allow_violations=(ViolationKind.LEFTOVER_STEP,))
async def test_a_workspace_cannot_answer(arena: Arena) -> None:
    seen, _ = await provoked(arena, "workspace.cannot-answer")
    _judge(
        arena,
        "workspace.cannot-answer",
        seen,
        expected="what a person denies, at once or slowly, does not run",
    )


@scenario("workspace.cannot-rewrite", seconds=SECONDS)
async def test_a_workspace_cannot_rewrite(arena: Arena) -> None:
    seen, _ = await provoked(arena, "workspace.cannot-rewrite")
    _judge(arena, "workspace.cannot-rewrite", seen, expected="what a person allows runs, and nothing else")


@scenario("workspace.cannot-run-at-start", seconds=SECONDS)
async def test_a_workspace_cannot_run_at_start(arena: Arena) -> None:
    seen, _ = await provoked(arena, "workspace.cannot-run-at-start")
    _judge(arena, "workspace.cannot-run-at-start", seen, expected="nothing runs, and nothing is called")


@scenario("workspace.cannot-widen", seconds=SECONDS)
async def test_a_workspace_cannot_widen(arena: Arena) -> None:
    seen, hostile = await provoked(arena, "workspace.cannot-widen")
    stated = [
        f"{name} is {session.opened.policy_effective.get(name)!r} instead of {asked!r}"
        for session in hostile.sessions
        for name, asked in session.opened.policy_asked.items()
        if session.opened.policy_effective.get(name) != asked
    ]
    _judge(
        arena,
        "workspace.cannot-widen",
        "; ".join((*stated, *filter(None, (seen,)))),
        expected="the policy in force is the one asked for; what a person denies is not done",
    )


@scenario("workspace.cannot-redirect")
async def test_a_workspace_cannot_redirect(arena: Arena) -> None:
    seen, _ = await provoked(arena, "workspace.cannot-redirect")
    _judge(
        arena,
        "workspace.cannot-redirect",
        seen,
        expected="the bait is left alone, the requests are as asked for",
    )


@scenario("workspace.unasked-commands-are-inert")
async def test_commands_that_run_unasked_are_inert(arena: Arena) -> None:
    seen, _ = await provoked(arena, "workspace.unasked-commands-are-inert")
    _judge(arena, "workspace.unasked-commands-are-inert", seen, expected="nothing runs that was not called")


# A turn behind the host's back is stopped before it asks the model, or while the model is silent.
@scenario("workspace.cannot-start-a-turn", seconds=SECONDS, allow_violations=(ViolationKind.LEFTOVER_STEP,))
async def test_a_workspace_cannot_start_a_turn(arena: Arena) -> None:
    clause = "workspace.cannot-start-a-turn"
    seen, _ = await provoked(arena, clause, silence())
    unbidden = "" if seen else await _unbidden(arena)
    _judge(
        arena,
        clause,
        "; ".join(filter(None, (seen, unbidden))),
        expected="no turn but the host's; one that is opened behind the host's back is stopped and reported",
    )


async def _unbidden(arena: Arena) -> str:
    """Have the harness open a turn that the session knows nothing of; what is wrong with how that ends, in words."""
    kit = arena.target.kit
    prompt = arena.known("unknown_prompt", kit.unknown_prompt)
    signs = arena.known("interrupt_signs", kit.interrupt_signs)
    async with arena.session(policy="ask") as session:
        assert session.link is not None
        begun = arena.timeline.rows[-1].n
        await session.link.process.send(prompt(session.id))
        try:
            await arena.wire.wait(
                lambda row: row.direction is Direction.FROM_HARNESS and signs.ends_turn(row.message),
                PATIENCE,
                what="the end of a turn that the host did not open",
                after=begun,
            )
        except DeadlineExceeded:
            return "a turn that the host did not open was not stopped"
    reported = len(session.foreign_turns)
    return "" if reported == 1 else f"of one turn that the host did not open, {reported} are reported"
