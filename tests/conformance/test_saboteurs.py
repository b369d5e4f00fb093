"""Every check of the reference agent can fail: each saboteur turns exactly its own rows red."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkrein.conformance.contract_loading import load_contract
from tests.conformance.saboteurs.defects import DEFECTS
from tests.conformance.saboteurs.sabotaged import differences, try_defect


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_of_the_agent_turns_exactly_its_rows_red(name: str, tmp_path: Path) -> None:
    row = try_defect(name, tmp_path / "runs")
    assert differences(row.expected, DEFECTS[name].not_testable, row.red) == []


def test_there_are_saboteurs_of_clauses_that_exist() -> None:
    assert len(DEFECTS) >= 40
    named = {clause for defect in DEFECTS.values() for clause in (*defect.turned, *defect.among)}
    assert named <= set(load_contract().ids)
    assert [name for name, defect in DEFECTS.items() if not defect.turned] == []
