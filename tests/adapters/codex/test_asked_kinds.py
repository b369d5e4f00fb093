"""The questions that the kit asks in Codex's place are those of the executable's own schema, and wrong answers show."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
import pytest

from checkrein.adapters.codex.asked_kinds import INVENTED, asked_kinds
from checkrein.adapters.codex.questions import Kind
from checkrein.adapters.kit_facts import AskedKind
from checkrein.adapters.provision import InstalledHarness


@pytest.fixture(scope="module")
def kinds(real_codex: InstalledHarness) -> Sequence[AskedKind]:
    return asked_kinds(real_codex.binary)


def one(kinds: Sequence[AskedKind], method: str, form: str = "(most, variant 0)") -> AskedKind:
    return next(kind for kind in kinds if kind.name == f"{method} {form}")


def test_every_request_of_the_schema_is_asked_whole_and_without_a_shape_and_so_is_an_invented_one(
    kinds: Sequence[AskedKind],
) -> None:
    forms: dict[str, set[str]] = {}
    for kind in kinds:
        method, _, form = kind.name.partition(" ")
        forms.setdefault(method, set()).add(form)
        assert msgspec.json.decode(kind.line("the-id"))["method"] == method
    assert forms.pop(INVENTED) == {"(invented)"}
    assert {kind.value for kind in Kind} < set(forms)
    assert all({"(no shape)", "(least, variant 0)", "(most, variant 0)"} <= asked for asked in forms.values())


def test_every_mode_of_an_elicitation_is_asked(kinds: Sequence[AskedKind]) -> None:
    modes = {
        json.loads(kind.line("i"))["params"].get("mode")
        for kind in kinds
        if kind.name.startswith(Kind.ELICITATION.value)
    }
    assert {"form", "url", "openai/form"} <= modes


def test_a_question_bears_the_id_given(kinds: Sequence[AskedKind]) -> None:
    assert {json.loads(kind.line("the-id"))["id"] for kind in kinds} == {"the-id"}


@pytest.mark.parametrize(
    ("method", "right", "wrong"),
    [
        (Kind.COMMAND.value, {"decision": "decline"}, {"decision": "approved"}),
        (Kind.PERMISSIONS.value, {"permissions": {}, "scope": "turn"}, {"decision": "accept"}),
        (Kind.USER_INPUT.value, {"answers": {}}, {}),
        (Kind.OLD_COMMAND.value, {"decision": "approved"}, {"decision": "accept"}),
    ],
)
def test_an_answer_is_held_to_the_schema_of_its_kind(
    kinds: Sequence[AskedKind], method: str, right: dict[str, object], wrong: dict[str, object]
) -> None:
    kind = one(kinds, method)
    assert kind.fault({"id": "i", "result": right}) == ""
    assert kind.fault({"id": "i", "result": wrong}) != ""


def test_an_error_must_have_a_code_and_words(kinds: Sequence[AskedKind]) -> None:
    kind = one(kinds, INVENTED, "(invented)")
    assert kind.fault({"id": "i", "error": {"code": -32601, "message": "no such thing"}}) == ""
    assert kind.fault({"id": "i", "error": {"message": "no such thing"}}) != ""
    assert kind.fault({"id": "i", "result": {}}) != ""
