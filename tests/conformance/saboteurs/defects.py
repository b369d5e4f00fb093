"""All defects, by name."""

from __future__ import annotations

from tests.conformance.saboteurs import (
    asking,
    calling,
    concluding,
    driving,
    faulting,
    granting,
    lacking,
    leaving,
    reporting,
    steering,
    stopping,
    telling,
)
from tests.conformance.saboteurs.defect import Defect

DEFECTS: dict[str, Defect] = {
    name: defect
    for module in (
        stopping,
        steering,
        asking,
        granting,
        calling,
        telling,
        driving,
        reporting,
        leaving,
        lacking,
        concluding,
        faulting,
    )
    for name, defect in module.DEFECTS.items()
}
