"""A turn's usage is its own, whatever the harness counts from; unknown is None."""

from __future__ import annotations

from checkrein.adapters.native import Usage, UsageReported, UsageScope
from checkrein.adapters.usage import UsageMeter


def total(tokens: int, cost: float | None = None, *, baseline: bool = False) -> UsageReported:
    usage = Usage(input_tokens=tokens, cached_tokens=0, output_tokens=tokens // 10, cost_usd=cost)
    return UsageReported(usage=usage, scope=UsageScope.CUMULATIVE, baseline=baseline)


def of_turn(meter: UsageMeter, *reports: UsageReported) -> Usage:
    meter.turn_started()
    for report in reports:
        meter.report(report)
    return meter.of_turn()


def test_cumulative_totals_become_what_each_turn_added() -> None:
    meter = UsageMeter()
    meter.process_started(continued=False)
    assert of_turn(meter, total(100), total(250, 0.5)) == Usage(
        input_tokens=250, cached_tokens=0, output_tokens=25, cost_usd=0.5
    )
    assert of_turn(meter, total(300, 0.75)) == Usage(
        input_tokens=50, cached_tokens=0, output_tokens=5, cost_usd=0.25
    )


def test_after_a_resume_the_first_turn_needs_a_baseline_to_be_known() -> None:
    meter = UsageMeter()
    meter.process_started(continued=True)
    assert of_turn(meter, total(900)) == Usage()
    meter.process_started(continued=True)
    meter.report(total(900, baseline=True))
    assert of_turn(meter, total(1000)).input_tokens == 100


def test_a_total_that_fell_means_that_the_count_began_anew() -> None:
    meter = UsageMeter()
    meter.process_started(continued=False)
    of_turn(meter, total(500))
    assert of_turn(meter, total(70)).input_tokens == 70


def test_a_turn_of_which_nothing_new_was_told_is_unknown_not_zero() -> None:
    meter = UsageMeter()
    meter.process_started(continued=False)
    of_turn(meter, total(500))
    assert of_turn(meter) == Usage()
    assert of_turn(meter, total(500)) == Usage()


def test_reports_of_the_turn_alone_add_up_and_the_cost_may_still_be_cumulative() -> None:
    meter = UsageMeter()
    meter.process_started(continued=False)
    step = UsageReported(usage=Usage(input_tokens=10, output_tokens=2), scope=UsageScope.TURN)
    cost = UsageReported(usage=Usage(cost_usd=0.5), scope=UsageScope.CUMULATIVE)
    assert of_turn(meter, step, step, cost) == Usage(input_tokens=20, output_tokens=4, cost_usd=0.5)
