"""Assertions of scenarios are found in their source, and each can be taken out alone."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from checkrein.conformance.scenario import scenario_of
from tests.conformance.removed_assertions.finding import Assertion, find_assertions, without
from tests.conformance.removed_assertions.ledger import entries, read_ledger
from tests.conformance.removed_assertions.trying import (
    can_be_red,
    notices,
    saboteurs_of,
    scenario_modules,
    scenarios_without,
)

SOURCE = """
def test_one(arena, a, b, c):
    arena.require(c, "there is a c")
    arena.judge("one.first", holds=a == 1 and (b, c) == (2, 3), expected="", observed="")

def test_two(arena, waited, many):
    for kind in many:
        arena.judge(f"two.{kind}", holds=1 <= waited < 5, expected="", observed="")
    judge_other(arena, "one.second", True)
    calm = waited != 2 and waited != 3
    arena.judge("two.calm", holds=calm, expected="", observed="")
    arena.judge("two.last", holds=many is not None and bool(many) and many[0] == "red", expected="", observed="")

def judge_other(arena, clause, found):
    arena.judge(clause, holds=not found, expected="", observed="")
"""

DECLARED = {
    "test_one": ("one.first",),
    "test_two": ("two.red", "two.blue", "one.second", "two.calm", "two.last"),
}


@pytest.fixture
def found(tmp_path: Path) -> list[Assertion]:
    module = tmp_path / "test_example.py"
    module.write_text(SOURCE)
    return find_assertions({module: DECLARED})


def test_each_part_of_what_must_hold_is_an_assertion(found: list[Assertion]) -> None:
    assert sorted(each.text for each in found) == [
        "(b == 2) of 2",
        "(c == 3) of 2",
        "1 <= waited",
        "a == 1",
        "c",
        "many[0] == 'red'",
        "not found",
        "waited != 2",
        "waited != 3",
        "waited < 5",
    ]


def test_a_guard_is_no_assertion_of_its_own(found: list[Assertion]) -> None:
    assert [each.text for each in found if "two.last" in each.clauses and "many" in each.text] == [
        "many[0] == 'red'"
    ]


def test_an_assertion_knows_its_place_and_the_clauses_that_it_may_turn(found: list[Assertion]) -> None:
    known = {each.text: (each.line, each.clauses) for each in found}
    assert known["a == 1"] == (4, ("one.first",))
    assert known["c"] == (3, ("one.first",)), "a prerequisite may turn whatever its scenario judges"
    assert known["1 <= waited"] == (8, ("two.red", "two.blue", "two.calm", "two.last")), (
        "the text that is written says so"
    )
    assert known["not found"] == (15, ("one.second",)), "the caller says which"
    assert known["waited != 2"] == (10, ("two.calm",))


@pytest.mark.parametrize(
    ("text", "given", "broken"),
    [
        ("a == 1", {"a": 9, "b": 2, "c": 3}, "one.first"),
        ("(b == 2) of 2", {"a": 1, "b": 9, "c": 3}, "one.first"),
        ("(c == 3) of 2", {"a": 1, "b": 2, "c": 9}, "one.first"),
        ("1 <= waited", {"waited": 0, "many": ["red"]}, "two.red"),
        ("waited < 5", {"waited": 9, "many": ["red"]}, "two.red"),
        ("waited != 3", {"waited": 3, "many": []}, "two.calm"),
    ],
)
def test_without_an_assertion_what_it_alone_catches_holds(
    found: list[Assertion], text: str, given: dict[str, object], broken: str
) -> None:
    function = "test_one" if "a" in given else "test_two"
    assert not judged(SOURCE, function, given)[broken]
    for each in found:
        holds = judged(without(SOURCE, each.number), function, given)[broken]
        assert holds == (each.text == text), each.text


def judged(source: str, function: str, given: dict[str, object]) -> dict[str, bool]:
    """What a function of a source judges, by clause."""
    names: dict[str, object] = {}
    exec(compile(source, "example", "exec"), names)
    verdicts: dict[str, bool] = {}

    def judge(clause: str, *, holds: bool, expected: str, observed: str) -> None:
        verdicts[clause] = bool(holds)

    def require(condition: object, text: str) -> None:
        assert condition, text

    scenario = names[function]
    assert callable(scenario)
    scenario(SimpleNamespace(judge=judge, require=require), **given)
    return verdicts


def test_a_copy_of_the_scenarios_lacks_the_assertion_and_nothing_else(tmp_path: Path) -> None:
    modules = scenario_modules()
    assertion = next(
        each for each in find_assertions(modules) if each.clauses == ("steer.mid-tool.delivered",)
    )
    with scenarios_without(assertion, tmp_path) as name:
        copied = importlib.import_module(f"{name}.{assertion.module.stem}")
        declared = {
            scenario.clauses
            for value in vars(copied).values()
            if (scenario := scenario_of(value)) is not None
        }
        assert declared == set(modules[assertion.module].values())
        assert Path(str(copied.__file__)).parent.parent == tmp_path
        changed = {
            path.name
            for path in (tmp_path / name).glob("*.py")
            if path.read_text().replace(name, "checkrein.conformance.scenarios")
            != (assertion.module.parent / path.name).read_text()
        }
        assert changed == {assertion.module.name}


def demanding() -> list[Assertion]:
    """The assertions of the scenarios that can be red."""
    return [each for each in find_assertions(scenario_modules()) if can_be_red(each)]


def test_whoever_notices_an_assertion_is_known_and_there() -> None:
    """After a change of the scenarios: `python -m tests.conformance.removed_assertions --only MODULE --write`."""
    ledger, places = read_ledger(), entries(demanding())
    listed = {(module, text) for module, texts in ledger.items() for text in texts}
    assert set(places.values()) - listed == set(), "nobody is known to notice it"
    assert listed - set(places.values()) == set(), "there is no such assertion any more"
    assert [
        each.text
        for each, (module, text) in places.items()
        if ledger[module][text] not in saboteurs_of(each, installed_only=False)
    ] == []


@pytest.mark.parametrize(
    ("clause", "number"),
    [("steer.mid-tool.delivered", 0), ("session.env.clean", 2), ("session.start.policy-effective", 0)],
)
def test_an_assertion_that_is_really_removed_is_noticed(clause: str, number: int, tmp_path: Path) -> None:
    assertion = [each for each in demanding() if clause in each.clauses][number]
    module, text = entries(demanding())[assertion]
    assert notices(read_ledger()[module][text], assertion, tmp_path)


def test_each_assertion_that_can_be_red_belongs_to_clauses_that_a_saboteur_turns() -> None:
    assertions = demanding()
    assert len(assertions) > 300
    assert [each for each in assertions if not each.clauses] == []
    assert [
        each.text
        for each in assertions
        if "steer.mid-tool.delivered" in each.clauses
        and "reference: a steer is dropped" not in saboteurs_of(each)
    ] == []
