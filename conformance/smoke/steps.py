"""What a step is, and what the steps hand on to each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

from checkrein.adapters.errors import CheckreinError
from checkrein.adapters.interface import HarnessAdapter
from checkrein.adapters.registry import GROUP
from checkrein.conformance.arena import Arena
from checkrein.conformance.target import Target
from checkrein.scripted_models import ViolationKind


class StepFailed(CheckreinError):
    """Raised by a step that found something missing."""


class Trial:
    """One adapter on trial: what the steps have found so far.

    Args:
        request: the harness as on the command line, `NAME[@VERSION][=PATH]`.
        runs: the folder in which everything is kept.

    Attributes:
        adapter: known from the first step on.
        target: known when the program and `kit.py` are found.
    """

    adapter: HarnessAdapter
    target: Target

    def __init__(self, request: str, runs: Path) -> None:
        self.request = request
        self.runs = runs

    @property
    def harness(self) -> str:
        """The name of the harness."""
        return self.request.partition("=")[0].partition("@")[0]

    def file(self, name: str) -> str:
        """Where a file of the adapter's package is, or would be."""
        points = [point for point in entry_points(group=GROUP) if point.name == self.harness]
        return str(files(points[0].module).joinpath(name)) if points else name


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredStep:
    """A step that looks at the adapter and starts nothing.

    Args:
        name: in one or two words.
        act: tries it; returns what it saw.
    """

    name: str
    act: Callable[[Trial], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStep:
    """A step that runs the harness, in a workspace and a home of its own, on a scripted model.

    Args:
        name: in one or two words.
        act: tries it; returns what it saw.
        looks_at: the methods of the connection to look at when it fails.
        advice: what to look for there.
        allowed: departures from the script that may happen here.
    """

    name: str
    act: Callable[[Arena], Awaitable[str]]
    looks_at: tuple[str, ...]
    advice: str
    allowed: frozenset[ViolationKind] = field(default_factory=frozenset[ViolationKind])
