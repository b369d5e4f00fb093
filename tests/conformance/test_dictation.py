"""The peer that is dictated to: what is dictated comes out, what is not goes to the real program and back."""

from __future__ import annotations

import subprocess
import sys

from checkrein.conformance.peers.dictation import DICTATION
from checkrein.conformance.peers.order import Order, encode_order

#: How long the peer may take, in seconds.
SECONDS = 30.0

#: A program that says what it was told.
ECHO = "import sys\nfor line in sys.stdin: print('real', line, end='', flush=True)"


def said(*lines: bytes) -> list[bytes]:
    order = encode_order(Order(kind="dictation", own_answers=("inserted-",)))
    words = [sys.executable, "-I", "-m", "checkrein.conformance.peers", order, "--"]
    done = subprocess.run(
        [*words, sys.executable, "-c", ECHO],
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    return done.stdout.splitlines()


def test_what_is_dictated_comes_out_and_reaches_the_program_never() -> None:
    assert sorted(said(b"one", DICTATION + b'{"id":"inserted-1"}', b"two")) == [
        b"real one",
        b"real two",
        b'{"id":"inserted-1"}',
    ]


def test_the_answer_to_a_dictated_line_is_kept_from_the_program() -> None:
    assert said(b'{"id":"inserted-1","result":{}}', b'{"id":"other"}') == [b'real {"id":"other"}']
