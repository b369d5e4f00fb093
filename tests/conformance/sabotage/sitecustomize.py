"""Loaded by every Python process of a sabotaged run: puts one named defect into the adapters or the kit."""

import os
import sys
import traceback

if name := os.environ.get("CHECKREIN_TEST_DEFECT"):
    try:
        from tests.conformance.sabotage.defects import DEFECTS

        DEFECTS[name].install()
    except Exception:
        # Python goes on after a fault in this module, and the run would be one without the defect.
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(70)
