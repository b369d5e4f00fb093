"""The contract's data files: what they hold, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
import yaml

from checkrein.adapters.claude_code import kit as claude_code
from checkrein.adapters.codex import kit as codex
from checkrein.adapters.kit_facts import KitFacts
from checkrein.adapters.pi import kit as pi
from checkrein.conformance.clauses import Contract
from checkrein.conformance.contract_document import contract_document
from checkrein.conformance.contract_loading import load_contract_from
from checkrein.conformance.known_failures import load_baseline, load_baseline_from
from checkrein.conformance.published_schemas import published_schemas
from checkrein.conformance.yaml_reading import BadDataFile

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = Path(str(files("checkrein.conformance.contract")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the contract that a test can spoil."""
    copy = tmp_path / "contract"
    shutil.copytree(DATA, copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return copy


def spoil(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_every_area_of_the_edition_has_clauses(contract: Contract) -> None:
    assert contract.edition == "2026.11"
    assert all(area.clauses for area in contract.areas)
    assert len(contract.ids) == len(set(contract.ids))


def test_every_file_fits_the_published_schema() -> None:
    schema = json.loads((REPOSITORY / "fixtures/schemas/contract.schema.json").read_text())
    for path in DATA.glob("*.yaml"):
        jsonschema.validate(yaml.safe_load(path.read_text()), schema)


def test_the_published_schemas_are_those_of_the_types() -> None:
    for name, text in published_schemas().items():
        stored = (REPOSITORY / "fixtures/schemas" / name).read_text()
        assert stored == text, (
            "write them anew: python -m checkrein.conformance.published_schemas fixtures/schemas"
        )


def test_the_page_of_the_contract_is_up_to_date(contract: Contract) -> None:
    stored = (REPOSITORY / "docs/contract.md").read_text()
    assert stored == contract_document(contract), (
        "write it anew: python -m checkrein.conformance.contract_document docs/contract.md"
    )


def test_the_digest_changes_with_any_word_and_with_nothing_else(folder: Path, contract: Contract) -> None:
    assert load_contract_from(folder).digest == contract.digest
    (folder / "steer.yaml").write_text("# a comment\n" + (folder / "steer.yaml").read_text())
    assert load_contract_from(folder).digest == contract.digest
    spoil(folder / "steer.yaml", "none merged away", "none is merged away")
    assert load_contract_from(folder).digest != contract.digest


@pytest.mark.parametrize(
    ("old", "new", "what", "where"),
    [
        ("    since:", "    colour: red\n    since:", "unknown field `colour`", "steer.mid-tool.delivered"),
        ("level: MUST", "level: OUGHT", "Invalid enum value 'OUGHT'", "$.clauses[0].level"),
        ("capability: steer", "capability: fly", "Invalid enum value 'fly'", "$.clauses[0].capability"),
        ("id: steer.mid-stream.delivered", "id: steer.mid-tool.delivered", "two clauses", "steer.yaml"),
        ("id: steer.mid-tool.delivered", "id: interrupt.odd", "does not belong to the area", "interrupt.odd"),
        ("id: steer.mid-tool.delivered", "id: Steer.Odd", "lower-case words", "Steer.Odd"),
        ('since: "2026.11"', 'since: "2027.01"', "no edition up to 2026.11", "steer.mid-tool.delivered"),
        ("area: steer", "area: steering", "the area is called 'steering'", "steer.yaml"),
        ("    level: MUST", "    level: MUST\n    level: INFO", "given twice", "steer.yaml, line"),
        ("clauses:", "clauses: [", "no YAML", "steer.yaml, line"),
        ("    capability: steer", "    harnesses: [codex]", "clauses of the area native", "mid-tool"),
    ],
)
def test_what_is_not_understood_is_refused_with_file_and_place(
    folder: Path, old: str, new: str, what: str, where: str
) -> None:
    spoil(folder / "steer.yaml", old, new)
    with pytest.raises(BadDataFile) as refusal:
        load_contract_from(folder)
    assert re.search(re.escape(what), refusal.value.what)
    assert "steer.yaml" in refusal.value.where
    assert where in refusal.value.where


@pytest.mark.parametrize(
    ("reserved", "used"),
    [
        ("id: policy.governed", "id: steer.mid-tool.delivered"),
        ("id: policy.taint.<rule>", "id: steer.mid-tool.<rule>"),
        (
            "retired: []",
            "retired: [{id: steer.mid-tool.delivered, until: '2026.10', why: it said two things}]",
        ),
    ],
)
def test_no_clause_takes_an_id_that_is_reserved(folder: Path, reserved: str, used: str) -> None:
    spoil(folder / "reserved.yaml", reserved, used)
    with pytest.raises(BadDataFile, match=r"'steer\.mid-tool\.delivered' is reserved"):
        load_contract_from(folder)


def test_a_file_that_the_edition_does_not_name_is_refused(folder: Path) -> None:
    shutil.copy(folder / "steer.yaml", folder / "steering.yaml")
    with pytest.raises(BadDataFile, match="steering"):
        load_contract_from(folder)


def test_an_area_without_a_file_is_refused(folder: Path) -> None:
    (folder / "drive.yaml").unlink()
    with pytest.raises(BadDataFile, match=r"drive\.yaml"):
        load_contract_from(folder)


@pytest.mark.parametrize("kit", [claude_code.KIT, codex.KIT, pi.KIT], ids=["claude-code", "codex", "pi"])
def test_the_clauses_that_an_adapter_enforces_are_clauses(contract: Contract, kit: KitFacts) -> None:
    assert kit.adapter_enforces <= set(contract.ids)


def test_the_baseline_of_the_kit_can_be_used() -> None:
    assert load_baseline().find("codex", "0.171.0", "steer.idle.rejected") is None


@pytest.mark.parametrize(
    ("clause", "what"),
    [("steer.sideways", "no clause 'steer.sideways'"), ("native.claude-code.usage-split", "is about codex")],
)
def test_a_baseline_that_names_an_unknown_clause_is_refused(
    tmp_path: Path, contract: Contract, clause: str, what: str
) -> None:
    path = tmp_path / "codex.yaml"
    path.write_text(
        f"harness: codex\nknown_failures:\n  - clause: {clause}\n    versions: ['1']\n    reason: so\n"
    )
    with pytest.raises(BadDataFile, match=re.escape(what)):
        load_baseline_from([path], contract)
