"""Every check can fail: each saboteur turns exactly its own rows red, on the real CLIs."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkrein.conformance.clauses import Level
from checkrein.conformance.contract_loading import load_contract
from tests.conformance.sabotage.defects import DEFECTS
from tests.conformance.sabotage.sabotaged import red_under
from tests.conformance.saboteurs.sabotaged import differences


@pytest.mark.usefixtures("real_claude_code", "real_codex", "real_pi")
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_turns_exactly_its_rows_red(name: str, tmp_path: Path) -> None:
    defect = DEFECTS[name]
    assert differences(defect.turned, defect.not_testable, red_under(name, tmp_path)) == []


def test_every_clause_is_killed_by_a_saboteur() -> None:
    contract = load_contract()
    killed = {clause for defect in DEFECTS.values() for clause in defect.red}
    demands = {clause.id for clause in contract.by_id.values() if clause.level is not Level.INFO}
    assert killed >= demands, "a check that nothing can turn red proves nothing"
    assert killed <= set(contract.by_id), "a saboteur of a clause that does not exist"
