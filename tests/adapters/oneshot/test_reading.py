"""Lines of the three shipped harnesses, as seen on the wire, become native events."""

from __future__ import annotations

import pytest

from checkrein.adapters.native import (
    ConversationNamed,
    Notice,
    NoticeKind,
    TextDelta,
    TextDone,
    ToolFinished,
    ToolKind,
    ToolStarted,
    ToolStatus,
)
from checkrein.adapters.oneshot.description import UsageCount, load_description
from checkrein.adapters.oneshot.reading import OutputReader

CLAUDE = "checkrein.adapters.claude_code.print_mode"
CODEX = "checkrein.adapters.codex.exec_mode"
PI = "checkrein.adapters.pi.print_mode"


def reader_of(package: str) -> OutputReader:
    """A reader by the description of that package."""
    return OutputReader(load_description(package).output)


def test_codex_names_its_conversation_and_its_commands() -> None:
    reader = reader_of(CODEX)
    command = '"item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc true"'
    lines = (
        '{"type":"thread.started","thread_id":"01a2"}',
        f'{{"type":"item.started",{command},"aggregated_output":"","exit_code":null,"status":"in_progress"}}}}',
        f'{{"type":"item.completed",{command},"aggregated_output":"no","exit_code":1,"status":"failed"}}}}',
        '{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"all done"}}',
    )
    named, started, finished, text = [event for line in lines for event in reader.read(line.encode())]
    assert named == ConversationNamed(session_id="01a2")
    assert isinstance(started, ToolStarted)
    assert (started.call.kind, started.call.command) == (ToolKind.COMMAND, "/bin/bash -lc true")
    assert finished == ToolFinished(call_id="item_1", status=ToolStatus.ERROR, output="no", exit_status=1)
    assert text == TextDone(text="all done")


def test_pi_fails_with_status_0_and_says_so_in_its_output() -> None:
    reader = reader_of(PI)
    failed = (
        '{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"400: no"}}'
    )
    assert list(reader.read(failed.encode())) == []
    assert reader.failure == "400: no"
    content = '[{"type":"text","text":"yes"}]'
    well = (
        f'{{"type":"message_end","message":{{"role":"assistant","stopReason":"stop","content":{content}}}}}'
    )
    assert list(reader.read(well.encode())) == [TextDone(text="yes")]
    assert reader.failure == ""


def test_claude_code_streams_text_and_tells_results_in_two_shapes() -> None:
    reader = reader_of(CLAUDE)
    piece = '{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"lo"}}}'
    assert list(reader.read(piece.encode())) == [TextDelta(text="lo")]
    for content in ('"hi"', '[{"type":"text","text":"hi"}]'):
        block = f'{{"type":"tool_result","tool_use_id":"c","content":{content}}}'
        result = f'{{"type":"user","message":{{"content":[{block}]}}}}'
        assert list(reader.read(result.encode())) == [
            ToolFinished(call_id="c", status=ToolStatus.OK, output="hi")
        ]


def test_a_call_without_a_result_is_aborted_at_the_end() -> None:
    reader = reader_of(PI)
    started = '{"type":"tool_execution_start","toolCallId":"c","toolName":"bash","args":{"command":"make"}}'
    assert len(list(reader.read(started.encode()))) == 1
    assert list(reader.end()) == [ToolFinished(call_id="c", status=ToolStatus.ABORTED)]


def test_usage_of_answers_is_added_up_and_a_cost_of_0_is_unknown() -> None:
    reader = reader_of(PI)
    line = (
        '{"type":"message_end","message":{"role":"assistant","stopReason":"stop","content":[],'
        '"usage":{"input":10,"output":2,"cacheRead":5,"cacheWrite":1,"cost":{"total":0}}}}'
    )
    for _ in range(2):
        assert list(reader.read(line.encode())) == []
    told = reader.told[UsageCount.TURN]
    assert (told.input_tokens, told.cached_tokens, told.output_tokens, told.cost_usd) == (32, 10, 4, None)


@pytest.mark.parametrize("line", [b"Reading additional input", b"[1]", b"\xff\xfe{"])
def test_what_is_no_object_is_shown(line: bytes) -> None:
    (notice,) = reader_of(CODEX).read(line)
    assert isinstance(notice, Notice)
    assert notice.kind is NoticeKind.STRAY_OUTPUT
