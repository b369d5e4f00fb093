"""A peer passes on what it does not spoil: lines, end of input, signals, exit status; and injects what it is told."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from checkrein.conformance.peers.order import Moment, Order, decode_order, encode_order

#: For a peer and its program to do anything, in seconds.
STEP = 20.0

#: Gives back every line, with a word in front; ends with the status 7 when its input ends.
ECHO = """
import sys
for line in sys.stdin:
    print("got", line, end="", flush=True)
print("end", flush=True)
sys.exit(7)
"""

#: Says that it is there, and ends with the status 9 at SIGTERM.
TERMINABLE = "import signal, sys\nsignal.signal(15, lambda *_: sys.exit(9))\nprint('there', flush=True)\nsignal.pause()"

LINES = "one é\ntwo 🦄\n"
ECHOED = "got one é\ngot two 🦄\nend\n"


def argv(order: Order, program: str) -> list[str]:
    peer = [sys.executable, "-I", "-m", "checkrein.conformance.peers", encode_order(order), "--"]
    return [*peer, sys.executable, "-X", "utf8", "-S", "-c", program]


def run(order: Order, *, lines: str = LINES) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv(order, ECHO), input=lines.encode(), capture_output=True, timeout=STEP, check=False
    )


def test_an_order_reads_as_it_was_written() -> None:
    moment = Moment(way="from_harness", holds=("a", "b"))
    order = Order(
        kind="inject", at=moment, lines=("{}",), own_answers=("7",), record="r", objects=("params",)
    )
    assert decode_order(encode_order(order)) == order


@pytest.mark.parametrize("kind", ["inject", "torn-lines", "multi-byte-split", "unknown-fields", "silence"])
def test_a_peer_without_a_moment_changes_no_byte(kind: str) -> None:
    done = run(Order(kind=kind))
    assert (done.stdout.decode(), done.returncode) == (ECHOED, 7)


def test_lines_are_injected_behind_the_moment_and_their_answers_stay_with_the_peer(tmp_path: Path) -> None:
    order = Order(
        kind="inject",
        at=Moment(way="to_harness", holds=("one",)),
        lines=("INJECTED",),
        own_answers=("two",),
        record=str(tmp_path / "record"),
    )
    done = run(order)
    assert sorted(done.stdout.decode().splitlines()) == ["INJECTED", "end", "got one é"]
    assert (tmp_path / "record").read_text(encoding="utf-8") == "two 🦄\n"


def test_a_peer_that_gives_up_ends_with_its_own_status_and_last_words() -> None:
    order = Order(
        kind="exit-mid-request", at=Moment(way="to_harness", holds=("two",)), last_words="no more of this"
    )
    done = run(order)
    assert done.returncode == 37
    assert b"no more of this" in done.stderr
    assert b"two" not in done.stdout


def test_sigterm_reaches_the_real_program_and_its_status_comes_back() -> None:
    with subprocess.Popen(
        argv(Order(kind="inject"), TERMINABLE), stdout=subprocess.PIPE, stdin=subprocess.PIPE
    ) as peer:
        assert peer.stdout is not None
        assert peer.stdout.readline() == b"there\n"
        peer.send_signal(signal.SIGTERM)
        assert peer.wait(STEP) == 9
