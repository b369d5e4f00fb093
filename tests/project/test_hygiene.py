"""No test is left out, none sleeps, and what the code imports is among what the project says it needs."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = ("adapters", "conformance", "fixtures", "scripted_models")

#: Found only where the caller's program has it: it is there when that runs on it.
OPTIONAL = {"adapters/transport/background.py": {"trio"}}

LEFT_OUT = {"skip", "skipif", "xfail", "importorskip"}
SLEEPS = {"sleep", "sleep_until"}


def modules(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    """Each module below those folders, with its place in the repository."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def uses_of(names: set[str], *folders: str) -> list[str]:
    """Where one of the names is taken from a module or an object, or imported."""
    found: list[str] = []
    for place, module in modules(*folders):
        for node in ast.walk(module):
            match node:
                case ast.Attribute(attr=name, lineno=line) if name in names:
                    found.append(f"{place}:{line}: {name}")
                case ast.ImportFrom(names=imported, lineno=line):
                    found += [f"{place}:{line}: {alias.name}" for alias in imported if alias.name in names]
                case _:
                    continue
    return found


def imported_by(*folders: str) -> dict[str, str]:
    """The packages from outside that those folders import, each with one place where."""
    found: dict[str, str] = {}
    for place, module in modules(*folders):
        for node in ast.walk(module):
            match node:
                case ast.Import(names=aliases):
                    names = {alias.name.partition(".")[0] for alias in aliases}
                case ast.ImportFrom(module=str(name), level=0):
                    names = {name.partition(".")[0]}
                case _:
                    continue
            for name in names - OPTIONAL.get(place, set()) - sys.stdlib_module_names - {"checkrein", "tests"}:
                found[name] = place
    return found


def distributions(requirements: list[str]) -> set[str]:
    """The names in requirements, as they are compared."""
    return {normal(re.split(r"[^A-Za-z0-9._-]", requirement)[0]) for requirement in requirements}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def undeclared(imported: dict[str, str], declared: set[str]) -> dict[str, str]:
    providers = packages_distributions()
    return {
        name: place
        for name, place in imported.items()
        if not declared & {normal(provider) for provider in providers.get(name, [])}
    }


def test_no_test_is_left_out() -> None:
    assert uses_of(LEFT_OUT, "tests", "conformance/scenarios") == []


def test_no_test_and_no_scenario_sleeps() -> None:
    assert uses_of(SLEEPS, "tests", "conformance/scenarios") == []


def test_what_would_be_found_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text(
        "import left_pad.x\nfrom time import sleep\npytest.mark.xfail\ntime.sleep(1)\n"
    )
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)

    assert uses_of(LEFT_OUT, "code") == ["code/one.py:3: xfail"]
    assert uses_of(SLEEPS, "code") == ["code/one.py:2: sleep", "code/one.py:4: sleep"]
    assert undeclared(imported_by("code"), {"left"}) == {"left_pad": "code/one.py"}


def test_what_the_packages_import_is_installed_with_them() -> None:
    declared = distributions(PROJECT["project"]["dependencies"])

    assert undeclared(imported_by(*PACKAGES), declared) == {}


def test_what_the_tests_import_is_installed_for_them() -> None:
    needed = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]

    assert undeclared(imported_by("tests"), distributions(needed)) == {}
