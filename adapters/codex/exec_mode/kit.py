"""What the conformance kit must know of `codex exec`: what it knows of the live harness, which is the same program."""

from __future__ import annotations

from dataclasses import replace

from checkrein.adapters.codex.exec_mode import ADAPTER
from checkrein.adapters.codex.kit import KIT as LIVE

#: What the live adapter sees to is not seen to here.
KIT = replace(
    LIVE,
    bare_run=ADAPTER.bare_run,
    shows_text=False,
    tells_call_ids=False,
    tells_retries=False,
    adapter_enforces=frozenset[str](),
)
