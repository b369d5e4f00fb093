"""Writes so many bytes on its standard error as the argument says, then a line on its standard output."""

import sys

left = int(sys.argv[1])
while left:
    count = min(left, 1 << 16)
    sys.stderr.buffer.write(b"x" * (count - 1) + b"\n")
    left -= count
sys.stderr.buffer.write(b"the end")
sys.stderr.buffer.flush()
print("flooded", flush=True)
sys.stdin.readline()
