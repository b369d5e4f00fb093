"""Only LF ends a line, whatever the reads look like."""

from __future__ import annotations

import pytest

from checkrein.adapters.transport import LineFramer

STREAM = "plain\n\n\u2028 and \u0085 inside\ncrlf\r\nlone \r inside\n\U0001f984 café\r\r\nunfinished \u20ac".encode()
LINES = [
    "plain",
    "",
    "\u2028 and \u0085 inside",
    "crlf",
    "lone \r inside",
    "\U0001f984 café\r",
    "unfinished \u20ac",
]


@pytest.mark.parametrize("size", range(1, len(STREAM) + 1))
def test_the_lines_do_not_depend_on_where_the_reads_cut(size: int) -> None:
    framer = LineFramer()
    lines = [
        line for start in range(0, len(STREAM), size) for line in framer.feed(STREAM[start : start + size])
    ]
    assert not framer.torn
    last = framer.finish()
    assert [line.decode() for line in (*lines, last or b"")] == LINES
    assert framer.torn


def test_a_stream_that_ends_with_a_line_feed_is_not_torn() -> None:
    framer = LineFramer()
    assert framer.feed(b"one\ntwo\n") == [b"one", b"two"]
    assert framer.finish() is None
    assert not framer.torn


def test_an_unfinished_line_is_held_in_its_pieces() -> None:
    framer = LineFramer()
    assert framer.feed(b"abc") == []
    assert framer.feed(b"def") == []
    assert framer.pending_bytes == 6
    assert framer.feed(b"\n") == [b"abcdef"]
    assert framer.pending_bytes == 0


def test_a_limited_framer_delivers_an_unfinished_line_at_its_limit() -> None:
    framer = LineFramer(max_line_bytes=4)
    assert framer.feed(b"ab") == []
    assert framer.feed(b"cdef") == [b"abcdef"]
    assert framer.feed(b"g\n") == [b"g"]
