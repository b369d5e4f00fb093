"""Scenarios: one run of a harness that judges one or more clauses.

    @scenario("interrupt.tool-running.outcome", "interrupt.tool-running.quiet")
    async def test_interrupt_while_a_tool_runs(arena: Arena) -> None: ...

The decorated function is a pytest test that the plugin runs once per target.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, cast

from checkrein.conformance.arena import SCENARIO_SECONDS, Arena
from checkrein.scripted_models import ViolationKind

__all__ = ["Arena", "Scenario", "scenario", "scenario_of"]

ScenarioBody = Callable[[Arena], Awaitable[None]]

#: The fixture of the plugin that runs a scenario.
RUNNER_FIXTURE = "checkrein_runner"

_ATTRIBUTE = "__checkrein_scenario__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A scenario as declared.

    Args:
        name: of the function.
        clauses: the ids that it must judge, each one.
        seconds: how long it may take in all.
        allow_violations: departures from the script that are part of the scenario.
        body: the function.
    """

    name: str
    clauses: tuple[str, ...]
    seconds: float
    allow_violations: frozenset[ViolationKind]
    body: ScenarioBody


class ScenarioRunner(Protocol):
    """What the plugin's fixture can do."""

    def run(self, scenario: Scenario) -> None:
        """Run the scenario on the fixture's target and keep its checks."""
        ...


def scenario(
    *clauses: str, seconds: float = SCENARIO_SECONDS, allow_violations: tuple[ViolationKind, ...] = ()
) -> Callable[[ScenarioBody], Callable[[ScenarioRunner], None]]:
    """Declare a scenario.

    Args:
        clauses: the ids of the clauses that it must judge, each exactly once. On a harness that none of them is
            about it does not run.
        seconds: how long it may take in all.
        allow_violations: kinds of departure from the script that are expected here and turn no verdict.
    """
    if not clauses:
        raise ValueError("a scenario declares at least one clause")
    if len(set(clauses)) != len(clauses):
        raise ValueError(f"a clause is declared twice: {', '.join(clauses)}")

    def decorate(body: ScenarioBody) -> Callable[[ScenarioRunner], None]:
        declared = Scenario(
            name=body.__name__,
            clauses=clauses,
            seconds=seconds,
            allow_violations=frozenset(allow_violations),
            body=body,
        )

        def test(checkrein_runner: ScenarioRunner) -> None:
            checkrein_runner.run(declared)

        # Not functools.wraps: pytest would follow __wrapped__ and look for a fixture called `arena`.
        test.__name__ = body.__name__
        test.__qualname__ = body.__qualname__
        test.__module__ = body.__module__
        test.__doc__ = inspect.getdoc(body)
        setattr(test, _ATTRIBUTE, declared)
        return test

    return decorate


def scenario_of(function: object) -> Scenario | None:
    """The scenario behind a pytest test, if it is one."""
    return cast("Scenario | None", getattr(function, _ATTRIBUTE, None))
