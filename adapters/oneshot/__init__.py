"""Harnesses without live control: each turn is a run of a program, described by data; docs/harnesses/oneshot.md.

A package that brings one holds `oneshot.toml` and `manifest.toml`, and `ADAPTER = OneShotAdapter(__name__)`.
"""

from checkrein.adapters.oneshot.adapter import OneShotAdapter, Surroundings

__all__ = ["OneShotAdapter", "Surroundings"]
