"""Bytes into lines: only LF ends a line, and a line may have any length."""

from __future__ import annotations


class LineFramer:
    r"""Cuts a byte stream into lines.

    Only `\n` ends a line: U+2028, U+0085 and their like are legal inside one, and since no byte of a multi-byte
    UTF-8 character equals `\n`, characters that are split across reads stay whole. One `\r` before the `\n` is
    dropped. The pieces of an unfinished line are kept as they came and joined once, so that a line of many
    megabytes costs linear time.

    Args:
        max_line_bytes: an unfinished line that reaches this size is delivered as if it had ended; None for no limit.
            For text that nobody parses (standard error); never for a protocol.
    """

    __slots__ = ("_max_line_bytes", "_pending", "_pending_bytes", "_torn")

    def __init__(self, *, max_line_bytes: int | None = None) -> None:
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._max_line_bytes = max_line_bytes
        self._torn = False

    @property
    def torn(self) -> bool:
        """Whether the stream ended inside a line."""
        return self._torn

    @property
    def pending_bytes(self) -> int:
        """How much of an unfinished line is held."""
        return self._pending_bytes

    def feed(self, data: bytes) -> list[bytes]:
        """Take what was read and return the lines that are complete now, without their ends."""
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines:
            if self._pending:
                self._pending.append(lines[0])
                lines[0] = b"".join(self._pending)
                self._pending.clear()
                self._pending_bytes = 0
            if b"\r" in data or lines[0].endswith(b"\r"):
                lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
        if rest:
            self._pending.append(rest)
            self._pending_bytes += len(rest)
            if self._max_line_bytes is not None and self._pending_bytes >= self._max_line_bytes:
                lines.append(self._take_pending())
        return lines

    def finish(self) -> bytes | None:
        """End the stream: return the unterminated last line, or None when there is none; `torn` tells too."""
        if not self._pending:
            return None
        self._torn = True
        return self._take_pending()

    def _take_pending(self) -> bytes:
        line = b"".join(self._pending)
        self._pending.clear()
        self._pending_bytes = 0
        return line
