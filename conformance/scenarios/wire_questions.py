"""Questions as they stand on the wire."""

from __future__ import annotations

from checkrein.conformance.scenario import Arena
from checkrein.conformance.wire import WireRow


def question_about(arena: Arena, call_id: str) -> WireRow | None:
    """The question about a call: the newest line of the harness that names the call and can be answered."""
    asks = arena.target.kit.asks
    asked = arena.wire.received(
        lambda row: call_id in row.text and (_can_be_answered(row) if asks is None else asks(row.message))
    )
    return asked[-1] if asked else None


def _can_be_answered(row: WireRow) -> bool:
    """Whether a line from the harness has an id of its own, by which it is answered."""
    return row.at("id") is not None or row.at("request_id") is not None
