"""The merged timeline: one order for all recorders, from any thread, printed and written."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import anyio
import pytest

from checkrein.scripted_models import DeadlineExceeded, Source, Timeline

pytestmark = pytest.mark.anyio


def test_rows_are_numbered_in_one_order_whatever_thread_records_them() -> None:
    timeline = Timeline()
    threads = [
        threading.Thread(target=lambda: [timeline.record("note", "tick") for _ in range(200)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.n for row in timeline.rows] == list(range(1, 801))
    assert [row.at_ms for row in timeline.rows] == sorted(row.at_ms for row in timeline.rows)


def test_time_is_in_milliseconds_since_the_start() -> None:
    moments = iter([100.0, 100.25])
    timeline = Timeline(clock=lambda: next(moments))
    assert timeline.record(Source.DRIVER, "steer").at_ms == 250


def test_an_unknown_source_is_an_error() -> None:
    with pytest.raises(ValueError, match="cat"):
        Timeline().record("cat", "meow")


def test_the_rows_are_printed_in_lanes_and_long_data_is_cut_with_a_mark() -> None:
    timeline = Timeline(clock=lambda: 0.0)
    timeline.record("person", "types", text="hello")
    timeline.record("model", "request", body="x" * 1000)
    timeline.record("harness", "says", text="a\x1b[31m", kind="data may have this name", source="and this")
    shown = timeline.render()
    assert "    1       0.0 ms  person   types              text=hello" in shown
    assert "characters not shown…]" in shown
    assert "\x1b" not in shown
    assert "[…2 earlier rows not shown…]" in timeline.render(last=1)
    assert "hello" not in timeline.render(last=0)


def test_the_rows_are_written_as_json_lines(tmp_path: Path) -> None:
    timeline = Timeline(clock=lambda: 0.0)
    timeline.record("process", "exit", status=3, tail=b"bye", names=("a", "b"), where=Path("x"))
    timeline.to_jsonl(tmp_path / "timeline.jsonl")
    [line] = (tmp_path / "timeline.jsonl").read_text().splitlines()
    data = {"status": 3, "tail": "bye", "names": ["a", "b"], "where": repr(Path("x"))}
    assert json.loads(line) == {"n": 1, "at_ms": 0.0, "source": "process", "kind": "exit", "data": data}


async def test_a_row_can_be_waited_for() -> None:
    timeline = Timeline()
    first = timeline.record("driver", "steer")
    assert await timeline.wait(lambda row: row.kind == "steer", 1) is first

    async def record() -> None:
        timeline.record("driver", "noise")
        timeline.record("driver", "steer")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(record)
        second = await timeline.wait(lambda row: row.kind == "steer", 5, after=first.n)
        assert second.n == 3


async def test_a_row_that_does_not_come_is_an_error_with_the_timeline() -> None:
    timeline = Timeline()
    timeline.record("driver", "something-else")
    with pytest.raises(DeadlineExceeded, match="something-else"):
        await timeline.wait(lambda row: row.kind == "steer", 0.05)
