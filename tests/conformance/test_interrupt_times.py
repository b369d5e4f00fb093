"""The figures of interrupts in words, and the plain process that they are compared with."""

from __future__ import annotations

import pytest

from checkrein.conformance.scenarios.interrupt_times import InterruptTimes, summary
from checkrein.conformance.scenarios.plain_process import interrupt_a_plain_process


def test_each_figure_has_its_median_its_95th_percentile_and_its_maximum() -> None:
    taken = [
        InterruptTimes(acknowledged=float(ms), hung_up=None, ended=2.0 * ms, quiet=3.0 * ms)
        for ms in range(100, 0, -1)
    ]
    assert summary(taken) == "acknowledged 50/95/100, ended 100/190/200, quiet 150/285/300"


def test_a_figure_that_not_every_interrupt_has_is_of_those_that_have_it() -> None:
    taken = [
        InterruptTimes(acknowledged=1, hung_up=7, ended=8, quiet=9),
        InterruptTimes(acknowledged=1, hung_up=None, ended=None, quiet=9),
    ]
    assert summary(taken) == "acknowledged 1/1/1, hung up 7/7/7, ended 8/8/8, quiet 9/9/9"


@pytest.mark.anyio
async def test_a_plain_process_acknowledges_hangs_up_ends_and_is_gone() -> None:
    times = await interrupt_a_plain_process()
    assert times.acknowledged is not None
    assert times.hung_up is not None
    assert times.ended is not None
    assert 0 < times.acknowledged <= times.ended <= times.quiet
    assert 0 < times.hung_up <= times.quiet
