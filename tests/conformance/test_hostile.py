"""Every attack of the fixtures on the real CLIs: it works with an ordinary launch, and achieves nothing with ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from checkrein.conformance.clauses import Contract
from checkrein.conformance.hostile.attacks import PLAIN, Attack, attacks_on
from checkrein.conformance.hostile_observed import (
    closed_groups,
    digest_of,
    load_observed,
    open_groups,
    provoke_closed,
    provoke_open,
)
from checkrein.conformance.security_document import with_table
from checkrein.conformance.target import find_target

PAGE = Path(__file__).parents[2] / "docs" / "security.md"

HARNESSES = ("claude-code", "codex", "pi")
ATTACKS = [attack for harness in HARNESSES for attack in attacks_on(harness)]


def name_of(group: Sequence[Attack]) -> str:
    first = group[0]
    return f"{first.harness}/{first.clause}/{first.id if first.alone else first.layout}/{first.recipe}"


@pytest.mark.usefixtures("real_claude_code", "real_codex", "real_pi")
@pytest.mark.parametrize(
    "group",
    [group for harness in HARNESSES for group in open_groups(attacks_on(harness))],
    ids=name_of,
)
def test_with_the_open_recipe_every_attack_achieves_its_end(group: list[Attack], tmp_path: Path) -> None:
    effects = provoke_open(find_target(group[0].harness), group, tmp_path / "run")

    assert [effect.attack.id for effect in effects] == [attack.id for attack in group]
    assert [effect.attack.id for effect in effects if not effect.seen] == []


@pytest.mark.usefixtures("real_claude_code", "real_codex", "real_pi")
@pytest.mark.parametrize(
    "group",
    [group for harness in HARNESSES for group in closed_groups(attacks_on(harness))],
    ids=lambda group: f"{group[0].harness}/{group[0].clause}",
)
def test_with_our_recipe_no_attack_achieves_anything(group: list[Attack], tmp_path: Path) -> None:
    effects = provoke_closed(find_target(group[0].harness), group, tmp_path / "run")

    assert sorted(effect.attack.id for effect in effects) == sorted(attack.id for attack in group)
    assert {effect.attack.id: effect.seen for effect in effects if effect.seen} == {}


@pytest.mark.usefixtures("real_claude_code", "real_codex", "real_pi")
@pytest.mark.parametrize("harness", HARNESSES)
def test_nothing_runs_either_when_a_conversation_is_resumed_or_forked(harness: str, tmp_path: Path) -> None:
    attacks = [each for each in attacks_on(harness, "workspace.cannot-run-at-start") if each.layout == PLAIN]

    effects = provoke_closed(find_target(harness), attacks, tmp_path / "run", again=True)

    assert {effect.attack.id: effect.seen for effect in effects if effect.seen} == {}


def test_every_attack_is_on_a_clause_of_the_contract(contract: Contract) -> None:
    assert {attack.clause for attack in ATTACKS} <= {
        clause for clause in contract.ids if clause.startswith("workspace.")
    }


def test_every_attack_names_a_recipe_that_its_harness_has() -> None:
    kits = {harness: find_target(harness).kit for harness in HARNESSES}

    assert [str(attack) for attack in ATTACKS if attack.recipe not in kits[attack.harness].open_recipes] == []


def test_what_was_observed_is_of_these_attacks() -> None:
    observed = load_observed()

    assert {harness: set(attacks) for harness, attacks in observed.items()} == {
        harness: {attack.id for attack in attacks_on(harness)} for harness in HARNESSES
    }
    stale = [str(each) for each in ATTACKS if observed[each.harness][each.id].digest != digest_of(each)]
    assert stale == [], "try them again: python -m checkrein.conformance.hostile_observed"


def test_the_page_shows_what_was_observed() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == with_table(page, load_observed()), "python -m checkrein.conformance.security_document"


def test_no_two_attacks_of_a_harness_have_one_title() -> None:
    titles = Counter((attack.harness, attack.title, attack.clause) for attack in ATTACKS)

    assert [title for title, times in titles.items() if times > 1] == []
