"""What the conformance kit must know of `claude -p`: what it knows of the live harness, which is the same program."""

from __future__ import annotations

from dataclasses import replace

from checkrein.adapters.claude_code.kit import KIT as LIVE
from checkrein.adapters.claude_code.print_mode import ADAPTER

#: What the live adapter sees to is not seen to here.
KIT = replace(LIVE, bare_run=ADAPTER.bare_run, adapter_enforces=frozenset[str]())
