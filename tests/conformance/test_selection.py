"""`--only`: which clauses a text means."""

from __future__ import annotations

import pytest

from checkrein.adapters.errors import BadRequest
from checkrein.conformance.clauses import Contract
from checkrein.conformance.selection import select_clauses


def test_nothing_means_everything(contract: Contract) -> None:
    assert select_clauses([], contract) == contract.ids


@pytest.mark.parametrize("text", ["steer", "steer.", "steer.*"])
def test_an_area_means_all_of_its_clauses(contract: Contract, text: str) -> None:
    assert select_clauses([text], contract) == tuple(i for i in contract.ids if i.startswith("steer."))


def test_a_beginning_ends_at_a_dot(contract: Contract) -> None:
    with pytest.raises(BadRequest):
        select_clauses(["interrupt.mid-tex"], contract)
    assert len(select_clauses(["interrupt.mid-text"], contract)) == 3


def test_several_are_joined_in_the_order_of_the_contract(contract: Contract) -> None:
    assert select_clauses(["interrupt.mid-text.*", "steer.idle.rejected"], contract) == (
        "steer.idle.rejected",
        "interrupt.mid-text.outcome",
        "interrupt.mid-text.quiet",
        "interrupt.mid-text.hang-up",
    )


def test_a_text_that_means_nothing_names_what_is_near(contract: Contract) -> None:
    with pytest.raises(BadRequest) as refusal:
        select_clauses(["steer.idle.reject"], contract)
    assert refusal.value.exit_status == 2
    assert "steer.idle.rejected" in refusal.value.advice


def test_a_text_that_is_near_nothing_names_the_areas(contract: Contract) -> None:
    with pytest.raises(BadRequest) as refusal:
        select_clauses(["zzz"], contract)
    assert "the areas are session, steer" in refusal.value.advice
