"""What an interruption leaves behind: marks and receipts in what the model sees next, and words in the transcripts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from checkrein.conformance.file_tree import files_below
from checkrein.conformance.scenario import Arena
from checkrein.conformance.scenarios.moves import texts_within
from checkrein.scripted_models import ItemKind, ModelRequest

#: A mark is a short text; the instructions of a harness speak of interrupts too.
MARK_CHARACTERS = 1000

_MARK = re.compile(r"interrupt|abort", re.IGNORECASE)
_REFUSAL = re.compile(r"does(n't| not) want|rejected|refused|declined|denied", re.IGNORECASE)
_NO_REFUSAL = re.compile(r"(not|nobody|never) (been )?(rejected|refused|declined|denied)", re.IGNORECASE)
_ABORT = re.compile(r"abort|interrupt|stopped while running|cancel", re.IGNORECASE)


def judge_mark(arena: Arena, request: ModelRequest, before: ModelRequest) -> None:
    """Judge whether a request says that the turn of the one before it was interrupted."""
    marks = _marks(arena, request, before)
    arena.judge(
        "interrupt.mark.visible",
        holds=bool(marks),
        expected="a text in the next request, and not in the one before, that says that the turn was interrupted",
        observed="; ".join(marks) or "no such text",
    )


def _marks(arena: Arena, request: ModelRequest, before: ModelRequest) -> list[str]:
    """New texts that speak of an interruption, of neither the model nor a prompt; paths of this run do not count."""
    sides = (ItemKind.USER, ItemKind.SYSTEM, ItemKind.RESULT)
    old = {item.text for item in before.view.history}
    said = (item.text for item in request.view.history if item.kind in sides and item.text not in old)
    texts = (text.replace(str(arena.folder.root), "") for text in said)
    return [text[:160] for text in texts if len(text) < MARK_CHARACTERS and _MARK.search(text)]


def judge_receipts(arena: Arena, request: ModelRequest) -> None:
    """Judge the results of `call_done`, which had finished, and `call_open`, which was stopped."""
    results = [item for item in request.view.history if item.kind is ItemKind.RESULT]
    done = [item.text for item in results if item.id == "call_done"]
    arena.judge(
        "interrupt.finished-results.kept",
        holds=len(done) == 1 and "the-finished-output" in done[0],
        expected="the finished call has its real output, once",
        observed=f"{len(done)} result(s): {done}",
    )
    receipts = [item.text for item in results if item.id == "call_open"]
    arena.judge(
        "interrupt.open-calls.receipt",
        holds=len(receipts) == 1,
        expected="exactly one receipt for the call that was stopped",
        observed=f"{len(receipts)} receipt(s): {[text[:200] for text in receipts]}",
    )
    text = receipts[0].replace(str(arena.folder.root), "") if receipts else ""
    honest = bool(_ABORT.search(text)) and (not _REFUSAL.search(text) or bool(_NO_REFUSAL.search(text)))
    arena.judge(
        "interrupt.receipt.honest",
        holds=honest,
        expected="the receipt says that the call was stopped, and does not leave it at a person's refusal",
        observed=text[:600] or "no receipt",
    )


class TranscriptAtTheEnd:
    """Reads the harness's transcripts at the moment when the line that ends the turn arrives. Make it before that.

    An interruption is a short text about one, as in the marks: the instructions that are written down speak of some.

    Args:
        arena: with a turn that runs.
    """

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._before = _sizes(arena)
        self._words: list[str] | None = None
        # The run folder is named after the scenario, and a harness may write its path with other separators.
        parts = re.split(r"[\W_]+", str(arena.folder.root))
        self._root = re.compile(r"[\W_]+".join(map(re.escape, parts)))
        arena.wire.when(
            lambda row: arena.target.kit.interrupt_signs.ends_turn(row.message), lambda _: self._read()
        )

    def judge(self) -> None:
        """Judge whether the interruption was there."""
        self._arena.wire.check()
        observed = "no line ended the turn" if self._words is None else "; ".join(self._words[:3])
        self._arena.judge(
            "interrupt.record.on-disk-first",
            holds=bool(self._words),
            expected="when the turn's end is told, a transcript holds a new short text that speaks of an interruption",
            observed=observed or "no transcript spoke of an interruption yet",
        )

    def _read(self) -> None:
        if self._words is None:
            self._words = [
                f"{path.name}: {' '.join(text[:160].split())}"
                for path in _sizes(self._arena)
                for line in _behind(path, self._before.get(path, 0)).split(b"\n")
                for text in texts_within(_decoded(line))
                if len(text) < MARK_CHARACTERS and _MARK.search(self._root.sub("", text))
            ]


def _sizes(arena: Arena) -> Mapping[Path, int]:
    """The transcripts that are there. The harness works meanwhile: what vanishes is left out."""
    found: dict[Path, int] = {}
    for path in files_below(arena.home):
        name = path.relative_to(arena.home).as_posix()
        if any(fnmatchcase(name, pattern) for pattern in arena.target.transcripts):
            with suppress(FileNotFoundError):
                found[path] = path.stat().st_size
    return found


def _behind(path: Path, size: int) -> bytes:
    """What a file holds behind its first so many bytes: transcripts are appended to."""
    with path.open("rb") as stream:
        stream.seek(size)
        return stream.read()


def _decoded(line: bytes) -> object:
    """A line of JSON as plain data; nothing for a line of something else, such as a database."""
    try:
        decoded: object = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return decoded
