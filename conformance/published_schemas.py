"""The published JSON Schemas, made from the types: `python -m checkrein.conformance.published_schemas FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from checkrein.conformance.certificates.certificate import Certificate
from checkrein.conformance.contract_loading import AreaFile, EditionFile, ReservedFile
from checkrein.conformance.results import Record

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def published_schemas() -> dict[str, str]:
    """The text of each schema file, by name."""
    return {
        "certificate.schema.json": _text(
            (Certificate,), "The certificate of a bundle: what was certified, and the digests of its files"
        ),
        "contract.schema.json": _text(
            (AreaFile, EditionFile, ReservedFile),
            "A file of the contract: one area with its clauses, the edition with its areas, or the reserved ids",
        ),
        "results.schema.json": _text(
            (Record,), "A line of a results file: header, check, scenario or footer"
        ),
    }


def _text(described: tuple[object, ...], title: str) -> str:
    schemas, components = msgspec.json.schema_components(described, ref_template="#/$defs/{name}")
    body = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    schema = {"$schema": _DIALECT, "title": title, **body, "$defs": components}
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"


def main() -> None:
    """Write the schemas into the folder that the command line names."""
    for name, text in published_schemas().items():
        Path(sys.argv[1], name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
