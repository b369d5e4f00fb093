"""How a turn ended, and what it used: from `result` to status, reason and usage."""

from __future__ import annotations

from collections.abc import Iterator

from checkrein.adapters.claude_code import wire_texts
from checkrein.adapters.claude_code.messages import ModelUsage, Result
from checkrein.adapters.native import TurnStatus, Usage, UsageReported, UsageScope


def outcome_of(result: Result) -> tuple[TurnStatus, str, str]:
    """Status, reason for people, and the harness's own word of a turn's end.

    `terminal_reason` decides. Answers of the CLI's own commands lack it (2.1.332): then `subtype` and `is_error` do.
    """
    word = result.terminal_reason or result.subtype
    if result.terminal_reason in wire_texts.INTERRUPTED_REASONS:
        return TurnStatus.INTERRUPTED, f"interrupted ({word})", word
    finished = word == wire_texts.COMPLETED_REASON or (result.terminal_reason is None and word == "success")
    if finished and not result.is_error:
        return TurnStatus.COMPLETED, "completed", word
    said = result.result or "; ".join(result.errors) or "without a message"
    status = f", status {result.api_error_status}" if result.api_error_status is not None else ""
    return TurnStatus.FAILED, f"{word}{status}: {said}", word


def totals(models: dict[str, ModelUsage] | None, cost_usd: float | None) -> Usage:
    """One usage out of the totals per model. Input counts what was read from and written to the cache, too."""
    if models is None:
        return Usage(cost_usd=cost_usd)
    used = models.values()
    return Usage(
        input_tokens=sum(
            m.input_tokens + m.cache_read_input_tokens + m.cache_creation_input_tokens for m in used
        ),
        cached_tokens=sum(m.cache_read_input_tokens for m in used),
        output_tokens=sum(m.output_tokens for m in used),
        cost_usd=cost_usd,
    )


def usage_of(message: Result) -> Iterator[UsageReported]:
    """Totals of the conversation where the harness tells them, else the turn's own tokens.

    `modelUsage` and `total_cost_usd` count over turns, resume and fork, with side requests and subagents; `usage` is
    of the turn alone, without them (2.1.296 and 2.1.332).
    """
    if message.model_usage is None and message.total_cost_usd is None and message.usage is None:
        return
    yield UsageReported(
        usage=totals(message.model_usage, message.total_cost_usd), scope=UsageScope.CUMULATIVE
    )
    if message.model_usage is None and message.usage is not None:
        turn = message.usage
        yield UsageReported(
            scope=UsageScope.TURN,
            usage=Usage(
                input_tokens=turn.input_tokens
                + turn.cache_read_input_tokens
                + turn.cache_creation_input_tokens,
                cached_tokens=turn.cache_read_input_tokens,
                output_tokens=turn.output_tokens,
            ),
        )
