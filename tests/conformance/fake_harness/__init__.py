"""A harness from outside: a small program with a line protocol of its own, and all that an adapter package brings."""

from tests.conformance.fake_harness.adapter import HARNESS

__all__ = ["HARNESS"]
