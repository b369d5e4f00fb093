"""Whether a saboteur notices that an assertion is missing."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from checkrein.adapters.errors import HarnessMissing
from checkrein.conformance import scenarios
from checkrein.conformance.clauses import Level
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.scenario import scenario_of
from checkrein.conformance.target import find_target
from tests.conformance.removed_assertions.finding import Assertion, Declared, without
from tests.conformance.sabotage.defects import DEFECTS as OF_REAL_CLIS
from tests.conformance.sabotage.sabotaged import red_under
from tests.conformance.saboteurs.defects import DEFECTS as OF_THE_REFERENCE
from tests.conformance.saboteurs.sabotaged import try_defect

_PACKAGE = Path(scenarios.__path__[0])

_IMPORT = re.compile(rf"^from {re.escape(scenarios.__name__)}\b", re.MULTILINE)


def scenario_modules() -> dict[Path, Declared]:
    """The modules of the scenarios, each with what it declares."""
    return {
        path: _declared(f"{scenarios.__name__}.{path.stem}")
        for path in sorted(_PACKAGE.glob("*.py"))
        if path.stem != "__init__"
    }


def _declared(module: str) -> Declared:
    if not module.rpartition(".")[2].startswith("test_"):
        return {}
    values = vars(importlib.import_module(module)).values()
    return {
        scenario.name: scenario.clauses for value in values if (scenario := scenario_of(value)) is not None
    }


def can_be_red(assertion: Assertion) -> bool:
    """Whether a clause of the assertion demands anything: what is only recorded is never red."""
    clauses = load_contract().by_id
    return any(clauses[clause].level is not Level.INFO for clause in assertion.clauses)


def saboteurs_of(assertion: Assertion, *, reference_only: bool = False) -> Iterator[str]:
    """The defects that a clause of the assertion must show, those of the reference agent first.

    Args:
        reference_only: none on a real CLI.
    """
    for name, defect in OF_THE_REFERENCE.items():
        if set(assertion.clauses) & set(defect.red):
            yield f"reference: {name}"
    for name, defect in () if reference_only else OF_REAL_CLIS.items():
        if set(assertion.clauses) & set(defect.red) and _is_installed(defect.harness):
            yield f"{defect.harness}: {name}"


def _is_installed(harness: str) -> bool:
    try:
        find_target(harness)
    except HarnessMissing:
        return False
    return True


def notices(saboteur: str, assertion: Assertion, folder: Path) -> bool:
    """Whether a row that the saboteur turns red is no longer red without the assertion.

    Args:
        saboteur: as `saboteurs_of` gives it.
        folder: an empty one, for the copy of the scenarios and for what is run.
    """
    harness, _, name = saboteur.partition(": ")
    runs = folder / "runs"
    runs.mkdir(parents=True)
    with scenarios_without(assertion, folder) as package:
        if harness == "reference":
            expected = set(assertion.clauses) & set(OF_THE_REFERENCE[name].red)
            red = set(try_defect(name, runs, package=package, clauses=expected).red)
        else:
            expected = set(assertion.clauses) & set(OF_REAL_CLIS[name].red)
            place = str(folder / package)
            red = set(red_under(name, runs, scenarios=(place,), only=sorted(expected)))
    return not expected <= red


@contextmanager
def scenarios_without(assertion: Assertion, folder: Path) -> Generator[str]:
    """A copy of the scenarios in which the assertion always holds, as a package that can be imported: its name."""
    name = f"scenarios_without_{assertion.module.stem}_{assertion.number}"
    copy = folder / name
    shutil.copytree(_PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in copy.glob("*.py"):
        source = path.read_text(encoding="utf-8")
        if path.name == assertion.module.name:
            source = without(source, assertion.number)
        path.write_text(_IMPORT.sub(f"from {name}", source), encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        yield name
    finally:
        sys.path.remove(str(folder))
        for module in [each for each in sys.modules if each.partition(".")[0] == name]:
            del sys.modules[module]
