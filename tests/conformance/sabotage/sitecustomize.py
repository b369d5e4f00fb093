"""Loaded by every Python process of a sabotaged run: puts one named defect into the adapters or the kit."""

import os

if name := os.environ.get("CHECKREIN_TEST_DEFECT"):
    from tests.conformance.sabotage.defects import DEFECTS

    DEFECTS[name].install()
