"""Every scenario of the kit, as declared."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from checkrein.conformance import scenarios
from checkrein.conformance.scenario import Scenario, scenario_of


@cache
def all_scenarios(package: str = scenarios.__name__) -> tuple[Scenario, ...]:
    """The scenarios of a package, module by module."""
    modules = [
        importlib.import_module(f"{package}.{found.name}")
        for found in pkgutil.iter_modules(importlib.import_module(package).__path__)
        if found.name.startswith("test_")
    ]
    declared = (scenario_of(value) for module in modules for value in vars(module).values())
    return tuple(one for one in declared if one is not None)
