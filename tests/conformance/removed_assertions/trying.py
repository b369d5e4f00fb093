"""Whether a saboteur notices that an assertion is missing."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

from checkrein.adapters.errors import HarnessMissing
from checkrein.conformance import scenarios
from checkrein.conformance.clauses import Level
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.results import Check
from checkrein.conformance.scenario import scenario_of
from checkrein.conformance.target import find_target
from tests.conformance.removed_assertions.finding import Assertion, Declared, noting, without
from tests.conformance.sabotage.defect import Defect as OfRealClis
from tests.conformance.sabotage.defects import DEFECTS as OF_REAL_CLIS
from tests.conformance.sabotage.sabotaged import red_under
from tests.conformance.saboteurs.defect import Defect as OfTheReference
from tests.conformance.saboteurs.defects import DEFECTS as OF_THE_REFERENCE
from tests.conformance.saboteurs.sabotaged import differences, try_defect

_PACKAGE = Path(scenarios.__path__[0])

#: The module that a copy gets to note with.
NOTES = Path(__file__).with_name("notes.py")

#: The name of the noting function in a module of such a copy.
_NOTE = "_note_assertion"

#: A copy has a name of its own: what was imported under a name stays so.
_NUMBERS = count()

_FUTURE = re.compile(r"^from __future__ import annotations\n", re.MULTILINE)

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


def saboteurs_of(assertion: Assertion, *, installed_only: bool = True) -> Iterator[str]:
    """The defects that a clause of the assertion must show, those of the reference agent first.

    Args:
        installed_only: none on a real CLI that is not here.
    """
    for name, defect in OF_THE_REFERENCE.items():
        if set(assertion.clauses) & defect.turned:
            yield f"reference: {name}"
    for name, defect in OF_REAL_CLIS.items():
        if not set(assertion.clauses) & defect.turned:
            continue
        if not installed_only or _is_installed(defect.harness):
            yield f"{defect.harness}: {name}"


@cache
def _is_installed(harness: str) -> bool:
    try:
        find_target(harness)
    except HarnessMissing:
        return False
    return True


def notices(saboteur: str, assertion: Assertion, folder: Path) -> bool:
    """Whether a row that the saboteur turns red, or not testable, is no longer so without the assertion.

    Args:
        saboteur: as `saboteurs_of` gives it.
        folder: an empty one, for the copy of the scenarios and for what is run.
    """
    with scenarios_without(assertion, folder) as package:
        expected, red = red_rows(saboteur, folder, package, among=assertion.clauses)
    return differences(expected, not_testable_under(saboteur) & expected, red) != []


def red_rows(
    saboteur: str, folder: Path, package: str, *, among: Collection[str] | None = None
) -> tuple[frozenset[str], dict[str, Check]]:
    """Run the scenarios of a copy for the clauses that a saboteur turns: these, and the checks of those that are red.

    Args:
        saboteur: as `saboteurs_of` gives it.
        folder: of the copy, and for what is run.
        package: the name of the copy.
        among: only these clauses.
    """
    name = saboteur.partition(": ")[2]
    runs = folder / "runs"
    runs.mkdir()
    defect = _defect(saboteur)
    expected = defect.turned if among is None else defect.turned & set(among)
    if isinstance(defect, OfTheReference):
        return expected, try_defect(name, runs, package=package, clauses=expected).red
    place = str(folder / package)
    return expected, red_under(name, runs, scenarios=(place,), only=sorted(expected))


def not_testable_under(saboteur: str) -> frozenset[str]:
    """The clauses that a saboteur makes not testable."""
    return frozenset(_defect(saboteur).not_testable)


def _defect(saboteur: str) -> OfTheReference | OfRealClis:
    name = saboteur.partition(": ")[2]
    return OF_THE_REFERENCE.get(name) or OF_REAL_CLIS[name]


#: What is made of the source of a module of the scenarios, by its path.
Change = Callable[[Path, str], str]


@contextmanager
def scenarios_without(assertion: Assertion, folder: Path) -> Generator[str]:
    """A copy of the scenarios in which the assertion always holds, as a package that can be imported: its name."""

    def take_out(path: Path, source: str) -> str:
        return without(source, assertion.number) if path.name == assertion.module.name else source

    name = f"scenarios_without_{assertion.module.stem}_{assertion.number}"
    with copied_scenarios(folder, name, take_out):
        yield name


@contextmanager
def scenarios_that_note(folder: Path) -> Generator[str]:
    """A copy of the scenarios whose assertions always hold and note when they do not: its name. See `noting`."""
    name = f"scenarios_that_note_{next(_NUMBERS)}"

    def note(path: Path, source: str) -> str:
        changed = noting(source, _NOTE)
        made = f"from {name}.{NOTES.stem} import note_in\n{_NOTE} = note_in({path.stem!r})\n"
        return _FUTURE.sub(lambda found: found[0] + made, changed, count=1)

    with copied_scenarios(folder, name, note):
        shutil.copy(NOTES, folder / name)
        yield name


@contextmanager
def copied_scenarios(folder: Path, name: str, change: Change) -> Generator[None]:
    """A changed copy of the scenarios, as a package of that name that can be imported."""
    copy = folder / name
    shutil.copytree(_PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in copy.glob("*.py"):
        source = change(path, path.read_text(encoding="utf-8"))
        path.write_text(_IMPORT.sub(f"from {name}", source), encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for module in [each for each in sys.modules if each.partition(".")[0] == name]:
            del sys.modules[module]
