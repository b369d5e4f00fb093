"""Hostile workspaces: what a checked-out tree may hold against the person who starts an agent there.

The attacks are data, one folder each: `fixtures/hostile/<harness>/<attack>/attack.yaml`.
"""

from __future__ import annotations

from checkrein.conformance.hostile.attacks import Answer, Attack, LaidFile, Threat, attacks_on

__all__ = ["Answer", "Attack", "LaidFile", "Threat", "attacks_on"]
