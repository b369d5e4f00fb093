"""For every line it gets: fills its standard output until that would block, and says on stderr how much it took."""

import os
import sys

LINE = b"y" * 1023 + b"\n"
os.set_blocking(1, False)
for _ in sys.stdin:
    written = 0
    try:
        while True:
            written += os.write(1, LINE)
    except BlockingIOError:
        sys.stderr.write(f"{written}\n")
        sys.stderr.flush()
