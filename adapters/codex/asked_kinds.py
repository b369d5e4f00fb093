"""Every question that an app-server can ask its client, made from the schema that its own executable writes.

For each request in `ServerRequest.json` one instance with what is required, one with all it may have, and one per
variant of its parameters; beside them the same method with parameters of no shape, and a method that does not exist.
The answers are held to the schemas of the same executable (`<Name>Params` is answered by `<Name>Response`), an error
to `JSONRPCError`. Seen on 0.171.0 and 0.162.1.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import jsonschema
import msgspec

from checkrein.adapters.codex.questions import Kind
from checkrein.adapters.kit_facts import AskedKind, WireMessage

#: How long the executable may take to write its schema, in seconds; 0.171.0 took 0.4.
SCHEMA_SECONDS = 60.0

#: A method that no app-server knows.
INVENTED = "item/hologram/requestApproval"

#: Deeper than this an instance holds what is required only: the schema of elicited forms refers to itself.
FULL_DEPTH = 6

Schema = Mapping[str, Any]


def asked_kinds(executable: Path) -> tuple[AskedKind, ...]:
    """Every kind of question, each in all its forms. Runs the executable, which writes its schema.

    Raises:
        CalledProcessError: it does not write it.
    """
    with tempfile.TemporaryDirectory(prefix="checkrein-schema-") as folder:
        command = [executable, "app-server", "generate-json-schema", "--experimental", "--out", folder]
        subprocess.run(
            command, check=True, capture_output=True, timeout=SCHEMA_SECONDS, env={"CODEX_HOME": folder}
        )
        return tuple(_kinds(Path(folder)))


def _kinds(folder: Path) -> Iterator[AskedKind]:
    union = _read(folder / "ServerRequest.json")
    refusal = _validator(_read(folder / "JSONRPCError.json"))
    for variant in union["oneOf"]:
        method = variant["properties"]["method"]["enum"][0]
        reference = variant["properties"]["params"]["$ref"]
        name = reference.rpartition("/")[2].removesuffix("Params")
        answer = _validator(_read(folder / f"{name}Response.json"))
        whole = _validator({**variant, "definitions": union["definitions"]})
        decidable = None if method == Kind.ELICITATION else method in set(Kind)
        for form, params in _forms({"$ref": reference}, union["definitions"]):
            whole.validate({"id": "x", "method": method, "params": params})
            yield AskedKind(
                name=f"{method} ({form})",
                line=partial(_line, method, params),
                fault=partial(_fault, answer, refusal),
                decidable=decidable,
            )
        yield _unreadable(f"{method} (no shape)", method, partial(_fault, answer, refusal))
    yield _unreadable(f"{INVENTED} (invented)", INVENTED, partial(_fault, None, refusal))


def _unreadable(name: str, method: str, fault: Callable[[WireMessage], str]) -> AskedKind:
    return AskedKind(name=name, line=partial(_line, method, {}), fault=fault, decidable=False)


def _line(method: str, params: object, request_id: str) -> bytes:
    return msgspec.json.encode({"id": request_id, "method": method, "params": params})


def _fault(answer: Any, refusal: Any, message: WireMessage) -> str:
    if "error" in message:
        return _first_error(refusal, dict(message))
    if answer is None:
        return "answered, though nobody can know what was asked"
    return _first_error(answer, message.get("result"))


def _first_error(validator: Any, value: object) -> str:
    return next((error.message[:300] for error in validator.iter_errors(value)), "")


def _forms(schema: Schema, definitions: Schema) -> Iterator[tuple[str, object]]:
    """Instances of a schema: of each variant, with what is required and with all it may have."""
    for number, variant in enumerate(_variants(schema, definitions)):
        for word, full in (("least", False), ("most", True)):
            yield f"{word}, variant {number}", _instance(variant, definitions, full=full, depth=0)


def _variants(schema: Schema, definitions: Schema) -> list[Schema]:
    schema = _resolved(schema, definitions)
    common = {key: value for key, value in schema.items() if key not in ("oneOf", "anyOf")}
    variants = schema.get("oneOf") or schema.get("anyOf")
    if not variants:
        return [schema]
    return [_merged(common, inner) for one in variants for inner in _variants(one, definitions)]


def _merged(common: Schema, variant: Schema) -> Schema:
    return {
        **common,
        **variant,
        "properties": {**common.get("properties", {}), **variant.get("properties", {})},
        "required": [*common.get("required", []), *variant.get("required", [])],
    }


def _resolved(schema: Schema, definitions: Schema) -> Schema:
    while True:
        if "$ref" in schema:
            schema = definitions[schema["$ref"].rpartition("/")[2]]
        elif "allOf" in schema and len(schema["allOf"]) == 1:
            schema = schema["allOf"][0]
        else:
            return schema


def _instance(schema: Schema | bool, definitions: Schema, *, full: bool, depth: int) -> object:
    if isinstance(schema, bool):
        return {}
    schema = _resolved(schema, definitions)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    inner: Callable[[Schema], object] = partial(
        _instance, definitions=definitions, full=full and depth < FULL_DEPTH, depth=depth + 1
    )
    if variants := schema.get("oneOf") or schema.get("anyOf"):
        told = [one for one in variants if one.get("type") != "null"]
        common = {key: value for key, value in schema.items() if key not in ("oneOf", "anyOf")}
        return inner(_merged(common, told[0]) if "properties" in common else told[0])
    match _type(schema, full=full):
        case "object":
            properties, required = schema.get("properties", {}), schema.get("required", [])
            return {key: inner(value) for key, value in properties.items() if full or key in required}
        case "array":
            items = schema.get("items", {})
            return [inner(items)] if full or schema.get("minItems") else []
        case "string":
            return "/a/sample"
        case "integer" | "number":
            return max(schema.get("minimum", 1), 1)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return {}


def _type(schema: Schema, *, full: bool) -> str:
    word = schema.get("type", "object" if "properties" in schema else "")
    if isinstance(word, str):
        return word
    words = cast("list[str]", word)
    return next(one for one in words if one != "null") if full else ("null" if "null" in words else words[0])


def _read(path: Path) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(path.read_text()))


def _validator(schema: Schema) -> Any:
    # Any, because the stubs leave parameters of its methods without a type.
    return jsonschema.Draft7Validator(schema)
