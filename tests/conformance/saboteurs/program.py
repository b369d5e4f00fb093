"""The reference agent with a defect: `python -I program.py DEFECT [its own words]`."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    from checkrein.conformance.reference.agent import main
    from tests.conformance.saboteurs.defects import DEFECTS

    DEFECTS[sys.argv.pop(1)].install()
    main()
